#include "tools/plans/plan_commands.hpp"

#include <algorithm>

#include "models/ground/error.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/document/walk.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

/// Whether the name alone makes the lists of `plan`, as `simulate` asks for them.
bool is_made_by_name(const SimulatedPlan& plan) {
  const PipelinePlan& choice = plan.score.plan;
  if (!choice.replicas.empty()) return false;
  try {
    return generate(choice.schedule,
                    {.num_devices = choice.places, .num_microbatches = choice.microbatches, .chunks = choice.chunks}) ==
           plan.schedule;
  } catch (const Error&) {  // it wants costs
    return false;
  }
}

bool moves_to_host(const Schedule& schedule) {
  bool moves = false;
  for (const DeviceList& list : schedule.devices) {
    for (const Action& action : list.actions) moves = moves || (is_move(action.op) && action.where == Action::kHost);
  }
  return moves;
}

std::string_view recompute_word(ActivationRecompute recompute) {
  if (recompute == ActivationRecompute::kSelective) return "selective";
  return recompute == ActivationRecompute::kFull ? "full" : "none";
}

std::string degree_options(const Parallelism& job) {
  const auto number = [](const char* option, std::int64_t value) {
    return std::string(" ") + option + " " + std::to_string(value);
  };
  std::string text = number("--tp", job.tensor) + (job.sequence_parallel ? " --sequence-parallel" : "");
  text += number("--dp", job.data) + number("--microbatch-size", job.microbatch_size);
  if (job.context > 1) text += number("--cp", job.context);
  if (job.expert > 1) text += number("--ep", job.expert);
  if (job.expert_parts() != job.tensor) text += number("--etp", job.expert_parts());
  if (job.zero != ZeroStage::kNone) text += number("--zero", static_cast<int>(job.zero));
  if (job.recompute != ActivationRecompute::kNone) text += " --recompute " + std::string(recompute_word(job.recompute));
  return text;
}

}  // namespace

PlanCommand simulate_command(const PlanQuestion& question, const SimulatedPlan& plan, const PlanShown& shown) {
  const PipelinePlan& choice = plan.score.plan;
  if (question.limits.host_bytes_per_s > 0 && moves_to_host(plan.schedule)) {
    return {.refused = "its copies to the host are timed by --host-bandwidth, which simulate does not have"};
  }
  std::string text = "plumbline simulate ";
  if (is_made_by_name(plan)) {
    text += choice.schedule + " -p " + std::to_string(choice.places) + " -m " + std::to_string(choice.microbatches);
    if (choice.chunks > 0) text += " -v " + std::to_string(choice.chunks);
  } else if (shown.document.empty()) {
    return {.refused = "its order is not made by the name of the schedule alone; -o writes that of the best plan"};
  } else {
    text += shell_word(shown.document);
  }
  text += " --network " + shell_word(shown.network) + " --cluster " + shell_word(shown.cluster);
  for (const auto& [option, value] : shown.repeated) text += " " + option + " " + shell_word(value);
  text += " --partition " + to_string(choice.partition);
  if (!is_profiled(question.network)) text += degree_options(choice.parallelism);
  if (question.runtime != nullptr) text += " --runtime " + std::string(question.runtime->name);
  return {.text = text};
}

}  // namespace plumb
