/// The program without the trainer: quick to build, for everything that only simulates.
#include "tools/commands/command.hpp"
#include "tools/terminal/run_main.hpp"

int main(int argc, char** argv) {
  return plumb::run_main([&] { return run_command(plumb::command_table({}), {argv + 1, argv + argc}); });
}
