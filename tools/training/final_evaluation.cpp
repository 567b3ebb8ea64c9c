#include "tools/training/final_evaluation.hpp"

#include <string>
#include <utility>

#include "models/ground/error.hpp"
#include "trainer/run/evaluate.hpp"

namespace plumb {

TriedRun train_and_try(TrainOptions options, const FinalTrial& trial) {
  const bool tries = trial.held_out > 0 || trial.translated > 0;
  const std::int64_t there = tries ? options.data->held_out_samples(options.model.shape.sequence) : 0;
  if (trial.held_out > there) {
    throw Error("evaluation at the end: " + std::to_string(there) + " samples are held out, fewer than the " +
                std::to_string(trial.held_out) + " asked for");
  }
  if (trial.translated > 0) check_pairs(*options.data);
  const bool wanted = options.observation.keep_parameters;
  options.observation.keep_parameters = wanted || tries;
  TriedRun run{.result = train(options), .translation = {}};
  if (run.result.parameters.empty()) return run;  // another process has them
  if (trial.held_out > 0) {
    options.observation.evaluation.samples = trial.held_out;
    Evaluation last = evaluate(options, run.result.parameters);
    last.update = static_cast<std::int64_t>(run.result.losses.size());
    if (!run.result.evaluations.empty()) run.result.evaluations.pop_back();
    run.result.evaluations.push_back(last);
  }
  if (trial.translated > 0) run.translation = translate(options, run.result.parameters, trial.translated);
  if (!wanted) run.result.parameters.clear();
  return run;
}

}  // namespace plumb
