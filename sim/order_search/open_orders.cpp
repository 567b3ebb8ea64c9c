#include "sim/order_search/open_orders.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "models/ground/error.hpp"
#include "schedules/document/schedule_io.hpp"
#include "sim/order_search/exact_order.hpp"
#include "sim/order_search/order_state.hpp"

namespace plumb {
namespace {

using StageOp = std::tuple<std::int32_t, Op, std::int64_t>;  ///< and the first microbatch

/// The numbers of the blocks of every device, by what they are.
std::map<StageOp, std::int32_t> blocks_on(const BlockProblem& problem, std::int32_t device) {
  std::map<StageOp, std::int32_t> blocks;
  for (std::int32_t b = 0; b < problem.size(); ++b) {
    const WorkBlock& block = problem.block(b);
    if (std::ranges::find(block.devices, device) == block.devices.end()) continue;
    const auto microbatch = static_cast<std::int64_t>(index(block.action.microbatch));
    blocks[{static_cast<std::int32_t>(block.stage_on(device)), block.action.op, microbatch}] = b;
  }
  return blocks;
}

/// One way to choose what is next.
enum class NextRule : std::uint8_t { kFirstToEnd, kBackwardFirst, kFirstToStart };

/// Smaller is better.
std::tuple<Ticks, Ticks, std::int32_t> rank_of(const BlockProblem& problem, const OrderState& state, std::int32_t b,
                                               NextRule rule) {
  const Ticks start = state.earliest(b);
  const Ticks end = start + problem.block(b).time;
  const Ticks forward = problem.block(b).stash > 0 ? 1 : 0;
  if (rule == NextRule::kBackwardFirst) return {forward, end, -b};
  if (rule == NextRule::kFirstToStart) return {start, forward, -b};
  return {end, forward, -b};
}

BlockOrders orders_by(const BlockProblem& problem, std::int64_t m, NextRule rule) {
  OrderState state(problem, m);
  BlockOrders orders(static_cast<std::size_t>(problem.num_devices));
  for (std::int64_t left = m * problem.size(); left > 0; --left) {
    std::int32_t best = -1;
    for (std::int32_t b = 0; b < problem.size(); ++b) {
      if (state.left(b) == 0 || !state.has_inputs(b) || !state.has_memory(b)) continue;
      if (best < 0 || rank_of(problem, state, b, rule) < rank_of(problem, state, best, rule)) best = b;
    }
    if (best < 0) return {};
    const std::int64_t microbatch = state.count(best);
    for (const std::int32_t device : problem.block(best).devices) {
      orders[static_cast<std::size_t>(device)].push_back({best, microbatch});
    }
    state.put(best);
  }
  return orders;
}

/// Of a forward, and of a backward in one piece or in two.
std::int64_t halves_of(Op op) { return op == Op::kF || op == Op::kB ? 2 : 1; }

}  // namespace

bool has_open_orders(const Schedule& schedule) {
  const auto is_repeated = [](const DeviceList& list) { return !list.repeats.empty(); };
  if (std::ranges::any_of(schedule.devices, is_repeated)) return false;
  const std::int64_t passes = schedule.num_stages * schedule.num_microbatches;
  std::int64_t halves =
      0;  // of passes, where one names several microbatches of each; slices are counted more than once
  for (const DeviceList& list : schedule.devices) {
    for (const Action& action : list.actions) {
      if (action.op <= Op::kW) halves += (1 + action.merged) * halves_of(action.op);
    }
  }
  return halves < passes * (schedule.forward_only ? 2 : 4);
}

BlockProblem with_given_orders(BlockProblem problem, const Schedule& schedule) {
  const std::int64_t m = schedule.num_microbatches / problem.together;
  problem.after.assign(static_cast<std::size_t>(problem.size() * m), {});
  problem.microbatches = m;
  for (std::size_t d = 0; d < schedule.devices.size(); ++d) {
    const auto blocks = blocks_on(problem, static_cast<std::int32_t>(d));
    const std::string where = schedule.name + ": device " + std::to_string(d) + ": ";
    std::map<std::int32_t, std::int64_t> last;
    BlockRun before{.block = -1, .microbatch = 0};
    for (const Action& action : schedule.devices[d].actions) {
      if (action.op == Op::kU || action.op == Op::kReduceGrad) continue;
      const auto microbatch = static_cast<std::int64_t>(action.microbatch);
      const auto found =
          blocks.find({static_cast<std::int32_t>(action.stage), action.op, microbatch % problem.together});
      if (found == blocks.end()) throw Error(where + to_string(action) + " is no pass of this device here");
      const BlockRun run{.block = found->second, .microbatch = microbatch / problem.together};
      const auto [known, is_new] = last.emplace(run.block, run.microbatch);
      if (!is_new && run.microbatch <= known->second) {
        throw Error(where + to_string(action) + " comes behind microbatch " + std::to_string(known->second) +
                    ", expected the microbatches of each pass in turn where orders are open");
      }
      known->second = run.microbatch;
      if (before.block >= 0) problem.after[static_cast<std::size_t>(run.block * m + run.microbatch)].push_back(before);
      before = run;
    }
  }
  return problem;
}

BlockOrders completed_orders(const BlockProblem& problem, std::int64_t num_microbatches) {
  BlockOrders best;
  Ticks shortest = 0;
  for (const NextRule rule : {NextRule::kFirstToEnd, NextRule::kBackwardFirst, NextRule::kFirstToStart}) {
    BlockOrders orders = orders_by(problem, num_microbatches, rule);
    if (orders.empty()) continue;
    const Ticks length = makespan_of(problem, orders, num_microbatches);
    if (!best.empty() && length >= shortest) continue;
    best = std::move(orders);
    shortest = length;
  }
  return best;
}

}  // namespace plumb
