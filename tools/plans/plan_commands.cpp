#include "tools/plans/plan_commands.hpp"

#include <algorithm>

#include "models/ground/error.hpp"
#include "models/pricing/profiled_network.hpp"
#include "schedules/catalogue/pipeline_copies.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/document/walk.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

/// Whether the name alone makes the lists of `plan`, as `simulate` asks for them.
bool is_made_by_name(const SimulatedPlan& plan) {
  const PipelinePlan& choice = plan.score.plan;
  if (!choice.replicas.empty()) return false;
  ScheduleParams params{.num_devices = choice.places, .num_microbatches = choice.microbatches, .chunks = choice.chunks};
  if (!choice.shares.empty()) params.options[std::string(kCopyShares)] = shares_text(choice);
  try {
    return generate(choice.schedule, params) == plan.schedule;
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

/// What `job` is spread over. With `all` also what is the default, so that nothing is left to a launch file.
/// `devices`: of the schedule.
std::string degree_options(const PipelinePlan& plan, std::int32_t devices, bool all) {
  const Parallelism& job = plan.parallelism;
  const auto number = [](const char* option, std::int64_t value) {
    return std::string(" ") + option + " " + std::to_string(value);
  };
  std::string text = number("--tp", job.tensor);
  if (job.has_unlike_tensor()) {
    const auto first = job.tensor_by_place.begin();
    text = " --tp-by-rank " + counts_text({first, first + devices});
  }
  if (job.sequence_parallel) text += " --sequence-parallel";
  text += number("--dp", job.data) + number("--microbatch-size", job.microbatch_size);
  if (all || job.context > 1) text += number("--cp", job.context);
  if (all || job.expert > 1) text += number("--ep", job.expert);
  if (all || job.expert_parts() != job.tensor) text += number("--etp", job.expert_parts());
  if (all || job.zero != ZeroStage::kNone) text += number("--zero", static_cast<int>(job.zero));
  if (all || job.recompute != ActivationRecompute::kNone)
    text += " --recompute " + layer_recompute_text({.all = job.recompute, .by_stage = plan.choices.recomputed});
  if (!plan.choices.sharded.empty()) text += " --shard-layers " + counts_text(plan.choices.sharded);
  return text;
}

/// "weights=8,gradients=8,optimizer=64": those that are over groups.
std::string shard_group_text(const ShardGroups& groups) {
  std::string text;
  const auto add = [&text](const char* part, std::int64_t ranks) {
    if (ranks > 0) text += (text.empty() ? "" : ",") + std::string(part) + "=" + std::to_string(ranks);
  };
  add("weights", groups.weights);
  add("gradients", groups.gradients);
  add("optimizer", groups.optimizer);
  return text;
}

/// How `job` computes, where it is not as jobs do without options. Its precision is that of the launch file, or asked
/// for.
std::string kernel_options(const Parallelism& job) {
  std::string text;
  const auto flag = [&](bool set, const char* option) { text += set ? std::string(" ") + option : ""; };
  const auto value = [&](bool set, const char* option, const std::string& word) {
    text += set ? std::string(" ") + option + " " + word : "";
  };
  value(job.dispatcher != Dispatcher::kAllToAll, "--dispatcher",
        std::string(kDispatcherNames[static_cast<std::size_t>(job.dispatcher)]));
  value(job.expert_capacity > 0, "--capacity", digits_of(job.expert_capacity));
  value(job.expert_imbalance != 1, "--imbalance", digits_of(job.expert_imbalance));
  value(job.adapter_rank > 0, "--lora-rank", std::to_string(job.adapter_rank));
  value(job.adapter_rank > 0 && job.adapter_targets == LoraTargets::kAll, "--lora-targets", "all");
  flag(job.low_precision_dispatch, "--low-precision-dispatch");
  flag(!job.flash_attention, "--no-flash-attention");
  flag(job.dropout.value_or(false), "--dropout");
  flag(job.fused_loss, "--fused-loss");
  value(job.captured != CapturedGraphs::kNone, "--captured",
        std::string(kCapturedGraphNames[static_cast<std::size_t>(job.captured)]));
  flag(!job.overlap_weights, "--no-prefetch");
  flag(job.overlap_gradients, "--overlap-gradients");
  flag(job.overlap_parameters, "--overlap-parameters");
  flag(job.overlap_tensor, "--overlap-tensor");
  flag(job.overlap_products, "--overlap-products");
  flag(job.overlap_experts, "--overlap-experts");
  flag(job.context_by_heads, "--cp-by-heads");
  value(job.shard_groups.any(), "--shard-group", shard_group_text(job.shard_groups));
  value(job.gradient_share < 1, "--compress-gradients", digits_of(job.gradient_share));
  value(job.activation_bits > 0, "--compress-messages",
        std::to_string(job.activation_bits) + "," + std::to_string(job.activation_grad_bits));
  value(job.storage_bytes_per_s > 0, "--storage-update", digits_of(job.storage_bytes_per_s / 1e9));
  return text;
}

std::string words_of(const std::vector<std::pair<std::string, std::string>>& options) {
  std::string text;
  for (const auto& [option, value] : options) text += " " + option + " " + shell_word(value);
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
    if (!choice.shares.empty()) text += " --opt " + std::string(kCopyShares) + "=" + shares_text(choice);
  } else if (shown.document.empty()) {
    return {.refused = "its order is not made by the name of the schedule alone; -o writes that of the best plan"};
  } else {
    text += shell_word(shown.document);
  }
  const bool launched = !shown.launched.empty();
  text += words_of(shown.launched);
  if (!shown.network.empty()) text += " --network " + shell_word(shown.network);
  text += " --cluster " + shell_word(shown.cluster) + words_of(shown.repeated);
  if (question.vocabulary > 0) text += " --vocabulary " + std::to_string(question.vocabulary);
  text += " --partition " + to_string(choice.partition);
  if (!is_profiled(question.network))
    text += degree_options(choice, plan.schedule.num_devices, launched) + kernel_options(choice.parallelism);
  if (question.runtime != nullptr || launched)
    text += " --runtime " + std::string(question.runtime == nullptr ? "plumbline" : question.runtime->name);
  return {.text = text};
}

std::optional<PlanCommand> launch_command(const PlanQuestion& question, const SimulatedPlan& plan) {
  const std::string_view name = question.runtime == nullptr ? "" : question.runtime->name;
  if (name == "megatron") return megatron_command(question, plan);
  if (name == "torchtitan") return torchtitan_command(question, plan);
  if (name == "deepspeed") return deepspeed_command(question, plan);
  return std::nullopt;
}

}  // namespace plumb
