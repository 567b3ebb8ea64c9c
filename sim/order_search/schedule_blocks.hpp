#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/cluster/cluster.hpp"
#include "models/costs/stage_costs.hpp"
#include "schedules/document/schedule.hpp"
#include "sim/order_search/block_problem.hpp"

namespace plumb {

/// What the blocks of a schedule cost.
struct BlockCosts {
  StageCosts stages{};
  const Cluster* cluster = nullptr;  ///< null: edges between devices are latencies
  double memory_limit = 0;           ///< stashes of a stage, abstract units or bytes; 0: none
  bool split = false;                ///< I and W are blocks of their own, otherwise B
};

/// Why `schedule` has no blocks that are the same for every microbatch, or for every so many where
/// several devices hold a stage in turn; empty where it has.
std::string why_no_blocks(const Schedule& schedule);

/// The work of `schedule` for one microbatch, without its order: F of every stage, then B, or I and W. Stages that
/// start together are one block of several devices, but for their W. An edge between devices takes as long as its
/// message alone on its route, so no run of the schedule is faster. The limit of a device in bytes is what is left
/// beside weights, gradients, optimizer state, the largest workspace and messages (two on their way out and one that
/// has arrived, in each direction). Requires `why_no_blocks(schedule).empty()`. Throws `Error` where stages that start
/// together take unlike times or memory.
BlockProblem schedule_blocks(const Schedule& schedule, const BlockCosts& costs);

using BlockOrders = std::vector<std::vector<BlockRun>>;  ///< by device

/// What a block of the problem does for one of its microbatches on one of its devices.
Action action_of(const BlockProblem& problem, const BlockRun& run, std::int32_t device);

/// `frame` with these orders for its lists, and an update of every stage at the end of its devices', behind a sum of
/// gradients where there are several.
Schedule with_orders(Schedule frame, const BlockProblem& problem, const BlockOrders& orders);

/// Appends the updates of the stages of every device.
void add_updates(Schedule& schedule);

}  // namespace plumb
