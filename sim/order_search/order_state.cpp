#include "sim/order_search/order_state.hpp"

#include <algorithm>

namespace plumb {

OrderState::OrderState(const BlockProblem& problem, std::int64_t num_microbatches)
    : problem_(problem),
      num_microbatches_(num_microbatches),
      counts_(problem.blocks.size(), 0),
      clocks_(static_cast<std::size_t>(problem.num_devices), 0),
      stashes_(static_cast<std::size_t>(problem.num_devices), 0),
      ends_(problem.blocks.size() * static_cast<std::size_t>(num_microbatches), 0) {}

bool OrderState::has_inputs(std::int32_t block) const {
  const auto placed = [&](const WorkBlock::Input& input) { return count(input.block) > count(block); };
  if (!problem_.after.empty() && left(block) > 0) {
    const std::vector<BlockRun>& given = problem_.after[place(block, count(block))];
    const auto is_open = [&](const BlockRun& before) { return count(before.block) <= before.microbatch; };
    if (std::ranges::any_of(given, is_open)) return false;
  }
  return std::ranges::all_of(problem_.block(block).inputs, placed);
}

bool OrderState::has_memory(std::int32_t block) const {
  const WorkBlock& one = problem_.block(block);
  return one.stash <= 0 || std::ranges::all_of(one.devices, [&](std::int32_t device) {
           const auto d = static_cast<std::size_t>(device);
           return stashes_[d] + one.stash <= problem_.limits[d];
         });
}

Ticks OrderState::earliest(std::int32_t block) const {
  const WorkBlock& one = problem_.block(block);
  Ticks at = 0;
  for (const std::int32_t device : one.devices) at = std::max(at, clock(device));
  for (const WorkBlock::Input& input : one.inputs) {
    at = std::max(at, end(input.block, count(block)) + input.delay);
  }
  return at;
}

OrderState::Undo OrderState::put(std::int32_t block) {
  const WorkBlock& one = problem_.block(block);
  Undo undo{.block = block, .clocks = {}};
  const Ticks end = earliest(block) + one.time;
  for (const std::int32_t device : one.devices) {
    undo.clocks.push_back(clock(device));
    clocks_[static_cast<std::size_t>(device)] = end;
    stashes_[static_cast<std::size_t>(device)] += one.stash;
  }
  ends_[place(block, count(block))] = end;
  ++counts_[static_cast<std::size_t>(block)];
  return undo;
}

void OrderState::take_back(const Undo& undo) {
  const WorkBlock& one = problem_.block(undo.block);
  --counts_[static_cast<std::size_t>(undo.block)];
  for (std::size_t i = 0; i < one.devices.size(); ++i) {
    clocks_[static_cast<std::size_t>(one.devices[i])] = undo.clocks[i];
    stashes_[static_cast<std::size_t>(one.devices[i])] -= one.stash;
  }
}

}  // namespace plumb
