/// The core program: the commands that most people begin with, built in half the time of the simulator.
#include <cstdlib>
#include <iostream>

#include <unistd.h>

#include "tools/commands/command.hpp"
#include "tools/terminal/notes.hpp"
#include "tools/terminal/run_main.hpp"

namespace {

/// Becomes the launcher, where one started this program, with the same arguments: it builds and runs `program`. Returns
/// where there is none.
void hand_over(const std::string& program, char** argv) {
  const char* launcher = std::getenv("PLUMB_LAUNCHER");
  if (launcher == nullptr || ::setenv("PLUMB_NEEDS", program.c_str(), 1) != 0) return;
  std::cout.flush();
  ::execv(launcher, argv);
}

}  // namespace

int main(int argc, char** argv) {
  return plumb::run_main([&] {
    try {
      return run_command(plumb::command_table({}), {argv + 1, argv + argc});
    } catch (const plumb::NotInProgram& missing) {
      hand_over(missing.program(), argv);
      throw;
    }
  });
}
