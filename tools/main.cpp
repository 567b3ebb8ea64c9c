/// The whole program: every command, those of the trainer among them.
#include <functional>

#include "tools/claims/cmd_reproduce.hpp"
#include "tools/commands/command.hpp"
#include "tools/terminal/run_main.hpp"
#include "tools/training/training.hpp"

int main(int argc, char** argv) {
  const plumb::TrainerCommands trainer{.profile = plumb::run_profile,
                                       .train = plumb::run_train,
                                       .weights = plumb::run_weights,
                                       .reproduce = plumb::run_reproduce,
                                       .demo = plumb::run_demo,
                                       .shared = plumb::run_shared,
                                       .abilities = plumb::trainer_abilities};
  const auto program = [&] { return run_command(command_table(trainer), {argv + 1, argv + argc}); };
  return plumb::run_main(std::ref(program));  // by reference: nothing is allocated where a failure could not be told
}
