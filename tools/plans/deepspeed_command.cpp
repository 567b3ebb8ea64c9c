#include <nlohmann/json.hpp>

#include "models/ground/error.hpp"
#include "models/launches/read_launch.hpp"
#include "tools/plans/launch_check.hpp"
#include "tools/plans/plan_commands.hpp"

namespace plumb {

PlanCommand deepspeed_command(const PlanQuestion& question, const SimulatedPlan& plan) {
  const PipelinePlan& choice = plan.score.plan;
  const Parallelism& job = choice.parallelism;
  const bool recomputes = job.recompute == ActivationRecompute::kFull;
  nlohmann::ordered_json json{{"train_batch_size", question.job.batch},
                              {"train_micro_batch_size_per_gpu", job.microbatch_size},
                              {"gradient_accumulation_steps", choice.microbatches}};
  if (job.precision.activation_bytes == kMixedPrecision.activation_bytes) json["bf16"] = {{"enabled", true}};
  json["zero_optimization"] = {{"stage", static_cast<int>(job.zero)}};
  if (job.overlap_gradients) json["zero_optimization"]["overlap_comm"] = true;
  if (job.tensor > 1) json["tensor_parallel"] = {{"autotp_size", job.tensor}};
  json["pipeline"] = {{"stages", choice.places},
                      {"partition", "type:transformer"},
                      {"activation_checkpoint_interval", recomputes ? 1 : 0}};
  try {
    PlanCommand command{.text = json.dump(2) + "\n"};
    LaunchJob launch = read_launch(command.text, "deepspeed.json");
    place_launch(launch, choice.num_devices());
    check_launch(launch, question, plan);
    return command;
  } catch (const Error& error) {
    return {.refused = error.what()};
  }
}

}  // namespace plumb
