#include "sim/order_search/schedule_blocks.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "models/costs/longest_edge.hpp"
#include "models/ground/error.hpp"
#include "schedules/catalogue/pass_costs.hpp"
#include "schedules/rules/dependency_rules.hpp"

namespace plumb {
namespace {

constexpr double kLimitRounding = 1e-6;  // limits such as 0.1 units have no exact double

constexpr std::int64_t kMostBlocks = 1'000;

std::int32_t device_of_stage(const Schedule& schedule, std::int32_t stage, std::int64_t microbatch) {
  return static_cast<std::int32_t>(device_of(schedule, {}, StageId{stage}, microbatch));
}

bool holds_stage(const Schedule& schedule, std::int32_t device, std::int32_t stage) {
  return std::ranges::count(schedule.placement[0][static_cast<std::size_t>(stage)], DeviceId{device}) > 0;
}

/// After so many microbatches the turns of all stages come again; more than `kMostBlocks`: too many.
std::int64_t turns_together(const Schedule& schedule) {
  std::int64_t together = 1;
  for (const auto& holders : schedule.placement[0]) {
    if (together <= kMostBlocks) together = std::lcm(together, std::ssize(holders));
  }
  return together;
}

/// A stage, or those that start together.
using StageGroup = std::vector<StageId>;

/// Each after those that feed it; not all of them where some that start together feed each other.
std::vector<StageGroup> groups_in_order(const Schedule& schedule, const DependencyRules& rules) {
  std::vector<StageGroup> open = schedule.start_together;
  const std::vector<StageId> shares = shares_of_blocks(schedule);
  for (std::int32_t stage = 0; stage < schedule.num_stages; ++stage) {
    if (std::ranges::find(shares, StageId{stage}) == shares.end()) open.push_back({StageId{stage}});
  }
  std::ranges::sort(open, {}, [](const StageGroup& group) { return group.front(); });
  std::vector<StageGroup> order;
  std::vector<bool> done(static_cast<std::size_t>(schedule.num_stages), false);
  const auto is_ready = [&](StageId stage) {
    return std::ranges::all_of(rules.sources(Op::kF, stage), [&](StageId source) { return done[index(source)]; });
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (const StageGroup& group : open) {
      if (done[index(group.front())] || !std::ranges::all_of(group, is_ready)) continue;
      for (const StageId stage : group) done[index(stage)] = true;
      moved = true;
      order.push_back(group);
    }
  }
  return order;
}

/// Writes the blocks of all stages.
class BlockWriter {
 public:
  BlockWriter(const Schedule& schedule, const BlockCosts& costs)
      : schedule_(schedule), costs_(costs), rules_(schedule), stashes_(stashes_of(costs, schedule)) {
    problem_.num_devices = schedule.num_devices;
    problem_.together = turns_together(schedule);
    problem_.limits = limits();
  }

  BlockProblem write() {
    for (microbatch_ = 0; microbatch_ < problem_.together; ++microbatch_) add_microbatch();
    return std::move(problem_);
  }

 private:
  void add_microbatch() {
    const std::vector<StageGroup> order = groups_in_order(schedule_, rules_);
    const auto stages = static_cast<std::size_t>(schedule_.num_stages);
    std::vector<std::int32_t> forwards(stages, -1);
    std::vector<std::int32_t> backwards(stages, -1);
    for (const StageGroup& group : order) {
      const std::int32_t forward = add(group, Op::kF, forwards);
      for (const StageId stage : group) forwards[index(stage)] = forward;
    }
    for (auto group = order.rbegin(); group != order.rend(); ++group) {
      const auto takes_nothing = [&](StageId stage) { return rules_.sources(Op::kB, stage).empty(); };
      const std::int32_t backward = add(*group, costs_.split ? Op::kI : Op::kB, backwards);
      if (std::ranges::all_of(*group, takes_nothing)) add_input(forwards[index(group->front())], 0);
      for (const StageId stage : *group) backwards[index(stage)] = backward;
      if (!costs_.split) continue;
      for (const StageId stage : *group) {
        add({stage}, Op::kW, {});
        add_input(backward, 0);
      }
    }
  }

  /// Of the last block; of several from one block the latest counts.
  void add_input(std::int32_t from, Ticks delay) {
    std::vector<WorkBlock::Input>& inputs = problem_.blocks.back().inputs;
    const auto known = std::ranges::find(inputs, from, &WorkBlock::Input::block);
    if (known == inputs.end()) {
      inputs.push_back({.block = from, .delay = delay});
    } else {
      known->delay = std::max(known->delay, delay);
    }
  }

  static std::vector<StagePasses> stashes_of(const BlockCosts& costs, const Schedule& schedule) {
    ScheduleParams params{.num_devices = schedule.num_devices, .num_microbatches = 1};
    params.costs = [&costs](std::int32_t) { return costs.stages; };
    return pass_costs(params, schedule.num_stages).stages;
  }

  /// One pass of a stage, or of all that start together, after the blocks `made` of the stages that it takes a value
  /// from.
  std::int32_t add(const StageGroup& group, Op op, const std::vector<std::int32_t>& made) {
    const StageId first = group.front();
    WorkBlock block;
    block.name = std::to_string(index(first)) + std::string(kOpNames[static_cast<std::size_t>(op)]);
    if (problem_.together > 1) block.name += std::to_string(microbatch_);
    block.action = plumb::action_of(static_cast<std::int32_t>(first), op, microbatch_);
    for (const StageId stage : group) {
      block.devices.push_back(device_of_stage(schedule_, static_cast<std::int32_t>(stage), microbatch_));
      if (group.size() > 1) block.stages.push_back(stage);
      const Ticks time = on_device(time_of(stage, op), block.devices.back());
      const std::int64_t stash = stash_of(stage, op);
      if (stage == first) {
        block.time = time;
        block.stash = stash;
      } else if (block.time != time || block.stash != stash) {
        throw Error(schedule_.name + ": stages " + std::to_string(index(first)) + " and " +
                    std::to_string(index(stage)) +
                    " start together and take unlike times or memory, expected the same of both");
      }
    }
    problem_.blocks.push_back(std::move(block));
    for (const StageId stage : group) {
      if (op == Op::kW) continue;
      for (const StageId source : rules_.sources(op == Op::kF ? Op::kF : Op::kB, stage)) {
        add_input(made[index(source)], delay(op, index(source), static_cast<std::int32_t>(stage)));
      }
    }
    return problem_.size() - 1;
  }

  Ticks time_of(StageId stage, Op op) const {
    const StageTimes& times = costs_.stages.times[index(stage)];
    return op == Op::kF ? times.f : op == Op::kB ? times.b : op == Op::kI ? times.i : times.w;
  }

  std::int64_t stash_of(StageId stage, Op op) const {
    const StagePasses& stash = stashes_[index(stage)];
    return op == Op::kF ? stash.f.stash : op == Op::kB ? -stash.f.stash : op == Op::kI ? stash.i.stash : stash.w.stash;
  }

  Ticks on_device(Ticks at_speed_one, std::int32_t device) const {
    if (costs_.cluster == nullptr) return at_speed_one;
    const double speed = costs_.cluster->devices[static_cast<std::size_t>(device)].speed;
    return speed == 1.0 ? at_speed_one : std::llround(static_cast<double>(at_speed_one) / speed);
  }

  /// Of the value that `source` hands to `stage`.
  Ticks delay(Op op, std::size_t source, std::int32_t stage) const {
    const std::int32_t from = device_of_stage(schedule_, static_cast<std::int32_t>(source), microbatch_);
    const std::int32_t to = device_of_stage(schedule_, stage, microbatch_);
    if (from == to) return 0;
    if (costs_.stages.comm || costs_.cluster == nullptr) return costs_.stages.comm.value_or(0);
    const Route route = costs_.cluster->route(DeviceId{from}, DeviceId{to});
    std::int64_t bytes = costs_.stages.message_bytes;
    if (bytes == 0 && !costs_.stages.memory.empty()) {
      bytes = costs_.stages.memory[source].message_bytes(op != Op::kF);
    }
    const double sending = route.bytes_per_s > 0 ? static_cast<double>(bytes) / route.bytes_per_s * kNsPerSecond : 0;
    const double ns = static_cast<double>(route.latency_ns) + sending;
    return static_cast<Ticks>(std::floor(ns * static_cast<double>(costs_.stages.base.ticks_per_ns)));
  }

  std::vector<std::int64_t> limits() const {
    constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max() / 4;
    const auto devices = static_cast<std::size_t>(schedule_.num_devices);
    if (costs_.memory_limit <= 0) return std::vector<std::int64_t>(devices, kNoLimit);
    const std::int64_t units = std::max<std::int64_t>(1, costs_.stages.memory_units_per_one);
    const double all = std::floor(costs_.memory_limit * static_cast<double>(units) + kLimitRounding);
    std::vector<std::int64_t> limits(devices, static_cast<std::int64_t>(all));
    const bool in_bytes = !costs_.stages.memory.empty() && costs_.stages.memory_units_per_one == 0;
    for (std::size_t d = 0; d < devices && in_bytes; ++d) limits[d] -= other_bytes(static_cast<std::int32_t>(d));
    return limits;
  }

  std::int64_t other_bytes(std::int32_t device) const {
    std::int64_t lasting = 0;
    std::int64_t passing = 0;
    for (std::int32_t stage = 0; stage < schedule_.num_stages; ++stage) {
      if (!holds_stage(schedule_, device, stage)) continue;
      const StageMemory& memory = costs_.stages.memory[static_cast<std::size_t>(stage)];
      lasting += memory.weight_bytes + memory.gradient_bytes + memory.optimizer_bytes;
      const std::int64_t workspace = std::max(
          {memory.workspace_f_bytes, memory.workspace_b_bytes, memory.workspace_i_bytes, memory.workspace_w_bytes});
      const std::int64_t messages =
          2 * (memory.output_bytes + memory.input_grad_bytes) + memory.input_bytes + memory.output_grad_bytes;
      passing = std::max(passing, workspace + messages);
    }
    return lasting + passing;
  }

  const Schedule& schedule_;
  const BlockCosts& costs_;
  DependencyRules rules_;
  std::vector<StagePasses> stashes_;
  BlockProblem problem_;
  std::int64_t microbatch_ = 0;  ///< of those whose blocks the problem has
};

/// F, B, I, W, sums of gradients and updates; an R drops and makes stashes again, moves take them elsewhere.
bool has_only_passes(const Schedule& schedule) {
  return std::ranges::all_of(schedule.devices, [](const DeviceList& list) {
    return std::ranges::all_of(list.actions, [](const Action& action) {
      return action.op <= Op::kW || action.op == Op::kU || action.op == Op::kReduceGrad;
    });
  });
}

}  // namespace

std::string why_no_blocks(const Schedule& schedule) {
  if (schedule.placement.size() != 1) return "it has several copies of the model";
  const std::int64_t together = turns_together(schedule);
  if (together > 1 && together * schedule.num_stages * 3 > kMostBlocks) return "its stages have too many holders";
  if (schedule.num_microbatches % together != 0) {
    return "the turns of its stages come again after " + std::to_string(together) +
           " microbatches, which do not divide its number of them";
  }
  if (schedule.slices || !schedule.microbatch_sizes.empty()) return "its microbatches are not alike";
  if (!schedule.recompute.empty()) return "it recomputes activations";
  if (schedule.vocabulary || !schedule.extras.empty() || !schedule.extra_edges.empty()) return "it has extra work";
  if (!has_only_passes(schedule)) return "its lists hold more than passes and updates";
  if (schedule.forward_only) return "it trains nothing";
  if (schedule.microbatches_per_update.size() != 1 ||
      schedule.microbatches_per_update.front() != schedule.num_microbatches) {
    return "it has several updates";
  }
  std::size_t stages = 0;
  for (const StageGroup& group : groups_in_order(schedule, DependencyRules(schedule))) stages += group.size();
  if (stages < static_cast<std::size_t>(schedule.num_stages)) return "its stages that start together feed each other";
  return schedule.is_synchronous(StageId{0}) ? "" : "it never flushes";
}

BlockProblem schedule_blocks(const Schedule& schedule, const BlockCosts& costs) {
  return BlockWriter(schedule, costs).write();
}

Action action_of(const BlockProblem& problem, const BlockRun& run, std::int32_t device) {
  Action action = problem.block(run.block).action;
  action.stage = problem.block(run.block).stage_on(device);
  const std::int64_t first = run.microbatch * problem.together;
  action.microbatch = MicrobatchId{static_cast<std::int32_t>(first) + static_cast<std::int32_t>(action.microbatch)};
  return action;
}

void add_updates(Schedule& schedule) {
  for (std::int32_t stage = 0; stage < schedule.num_stages; ++stage) {
    const std::vector<DeviceId>& holders = schedule.placement[0][static_cast<std::size_t>(stage)];
    for (const DeviceId holder : holders) {
      std::vector<Action>& list = schedule.devices[index(holder)].actions;
      if (holders.size() > 1) list.push_back(plumb::action_of(stage, Op::kReduceGrad, -1));
      list.push_back(plumb::action_of(stage, Op::kU, 0));
    }
  }
}

Schedule with_orders(Schedule frame, const BlockProblem& problem, const BlockOrders& orders) {
  frame.devices.assign(orders.size(), {});
  for (std::size_t d = 0; d < orders.size(); ++d) {
    for (const BlockRun& run : orders[d]) {
      frame.devices[d].actions.push_back(action_of(problem, run, static_cast<std::int32_t>(d)));
    }
  }
  add_updates(frame);
  return frame;
}

}  // namespace plumb
