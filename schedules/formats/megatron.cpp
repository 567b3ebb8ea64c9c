#include "schedules/formats/megatron.hpp"

#include <algorithm>
#include <vector>

#include "models/ground/error.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/document/walk.hpp"

namespace plumb {
namespace {

[[noreturn]] void refuse_for_megatron(const Schedule& schedule, const std::string& what) {
  throw Error("schedule '" + schedule.name + "' cannot be run by Megatron-LM: " + what);
}

void check_shape(const Schedule& schedule) {
  if (schedule.forward_only) refuse_for_megatron(schedule, "its mode is forward; expected training");
  if (schedule.slices) refuse_for_megatron(schedule, "it has slices; expected whole microbatches");
  if (schedule.placement.size() != 1) refuse_for_megatron(schedule, "it has several replicas; expected one");
  if (schedule.num_stages % schedule.num_devices != 0)
    refuse_for_megatron(schedule, "expected as many stages on every device");
  for (std::int32_t stage = 0; stage < schedule.num_stages; ++stage) {
    const DeviceId expected{stage % schedule.num_devices};
    if (schedule.placement[0][static_cast<std::size_t>(stage)] == std::vector{expected}) continue;
    refuse_for_megatron(schedule, "stage " + std::to_string(stage) + " must be on device " +
                                      std::to_string(index(expected)) + ", since its stages go round the devices");
  }
  if (schedule.per_update(StageId{0}) != schedule.num_microbatches)
    refuse_for_megatron(schedule, "expected one update");
}

std::vector<Action> compute(const DeviceList& list) {
  std::vector<Action> actions;
  walk(list, [&](const Action& action) {
    if (action.op <= Op::kR) actions.push_back(action);
  });
  return actions;
}

/// Microbatches that device 0 takes through its first chunk before another one.
std::int64_t first_group(const Schedule& schedule) {
  const std::vector<Action> actions = compute(schedule.devices[0]);
  const auto other = std::ranges::find_if(actions, [](const Action& one) { return one.stage != StageId{0}; });
  const auto forward = [](const Action& one) { return one.op == Op::kF; };
  return std::count_if(actions.begin(), other, forward);
}

void check_order(const Schedule& schedule, const Schedule& theirs) {
  for (std::size_t device = 0; device < schedule.devices.size(); ++device) {
    const std::vector<Action> ours = compute(schedule.devices[device]);
    const std::vector<Action> expected = compute(theirs.devices[device]);
    const auto [at, there] = std::ranges::mismatch(ours, expected);
    if (at == ours.end() && there == expected.end()) continue;
    const std::string found = at == ours.end() ? "nothing" : to_string(*at);
    const std::string wanted = there == expected.end() ? "nothing" : to_string(*there);
    refuse_for_megatron(
        schedule, "on device " + std::to_string(device) + " its order has " + wanted + " where this one has " + found);
  }
}

}  // namespace

MegatronPlan megatron_plan(const Schedule& schedule) {
  check_shape(schedule);
  MegatronPlan plan{.pipeline_size = schedule.num_devices,
                    .chunks = schedule.num_stages / schedule.num_devices,
                    .group = schedule.num_devices,
                    .microbatches = schedule.num_microbatches};
  ScheduleParams params{.num_devices = schedule.num_devices,
                        .num_microbatches = plan.microbatches,
                        .chunks = static_cast<std::int32_t>(plan.chunks)};
  if (plan.chunks > 1) {
    plan.overlaps_transfers = true;
    plan.group = std::max(first_group(schedule), plan.pipeline_size);
    if (plan.pipeline_size < 2) refuse_for_megatron(schedule, "several chunks need at least two devices");
    if (plan.group > plan.microbatches)
      refuse_for_megatron(schedule, "several chunks need at least as many microbatches as devices");
    params.options = {{"group", std::to_string(plan.group)}};
  }
  try {
    check_order(schedule, generate(plan.chunks > 1 ? "interleaved" : "1f1b", params));
  } catch (const Error& error) {
    if (std::string_view(error.what()).starts_with("schedule '")) throw;
    refuse_for_megatron(schedule, error.what());
  }
  const auto all = [&](const Recompute& part) {
    return part.first_stage == 0 && part.last_stage == schedule.num_stages - 1 && part.microbatches.empty() &&
           !part.except_last_microbatch;
  };
  plan.recompute = std::ranges::any_of(schedule.recompute, all);
  if (!schedule.recompute.empty() && !plan.recompute)
    refuse_for_megatron(schedule, "it recomputes some stages or microbatches only");
  return plan;
}

std::string to_string(const MegatronPlan& plan) {
  const std::string m = std::to_string(plan.microbatches);
  std::string text = "--pipeline-model-parallel-size " + std::to_string(plan.pipeline_size) + "\n";
  if (plan.chunks > 1) {
    text += "--num-virtual-stages-per-pipeline-rank " + std::to_string(plan.chunks) + "\n";
    text += "--microbatch-group-size-per-virtual-pipeline-stage " + std::to_string(plan.group) + "\n";
  }
  if (plan.recompute) text += "--recompute-granularity full\n--recompute-method uniform\n--recompute-num-layers 1\n";
  text += "--micro-batch-size 1\n--global-batch-size " + m + "  # " + m + " x micro-batch-size x data-parallel size\n";
  return text;
}

std::string schedule_to_megatron_options(const Schedule& schedule) { return to_string(megatron_plan(schedule)); }

std::string megatron_layout(std::span<const std::int64_t> layers) {
  const auto decoders = [](std::int64_t count) {
    return count > 4 ? "t*" + std::to_string(count) : std::string(static_cast<std::size_t>(count), 't');
  };
  std::string text;
  for (std::size_t stage = 0; stage < layers.size();) {
    const bool first = stage == 0;
    std::size_t same = stage + 1;
    while (!first && same + 1 < layers.size() && layers[same] == layers[stage]) ++same;
    const bool last = stage + 1 == layers.size();
    if (same - stage > 1 && !last) {
      text += "(" + decoders(layers[stage]) + "|)*" + std::to_string(same - stage);
      text += ",";
      stage = same;
      continue;
    }
    text += (first ? "E" : "") + decoders(layers[stage]) + (last ? "L" : "|");
    ++stage;
  }
  return text;
}

}  // namespace plumb
