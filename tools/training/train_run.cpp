#include "tools/training/train_run.hpp"
#include "tools/command_line/parse_command_line.hpp"

#include <optional>

#include "models/ground/error.hpp"
#include "tools/options/option_table.hpp"
#include "tools/options/schedule_arguments.hpp"
#include "tools/terminal/words.hpp"
#include "tools/training/train_arguments.hpp"

namespace plumb {

TrainRun parse_train_run(const std::string& command) {
  std::string name;
  std::optional<std::int64_t> steps;
  ScheduleArguments size;
  TrainArguments training;
  OptionTable parser("train NAME [options]", "");
  parser.positional(name, "NAME").whole("steps", steps, {}, "");
  size.add_to(parser);
  training.add_to(parser);
  if (!parse_command_line(parser, words_after("train", command))) throw Error("'" + command + "': expected no --help");
  if (!size.updates) size.updates = steps;
  const Schedule schedule = load_schedule(name, size);
  TrainRun run;
  run.options = training.options(schedule.num_stages, steps.value_or(0));
  run.data = training.model.load_data(run.options.model.network);
  run.options.schedule = schedule;
  run.options.data = run.data.get();
  run.trial = training.final_trial();
  return run;
}

TrainResult train_as(const std::string& command) {
  const TrainRun run = parse_train_run(command);
  return train_and_try(run.options, run.trial).result;
}

}  // namespace plumb
