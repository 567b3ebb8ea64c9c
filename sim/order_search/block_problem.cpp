#include "sim/order_search/block_problem.hpp"

#include <algorithm>
#include <numeric>

#include "models/ground/error.hpp"

namespace plumb {

StageId WorkBlock::stage_on(std::int32_t device) const {
  if (stages.empty()) return action.stage;
  return stages[static_cast<std::size_t>(std::ranges::find(devices, device) - devices.begin())];
}

std::vector<std::vector<std::int32_t>> blocks_by_device(const BlockProblem& problem) {
  std::vector<std::vector<std::int32_t>> on(static_cast<std::size_t>(problem.num_devices));
  for (std::int32_t b = 0; b < problem.size(); ++b) {
    for (const std::int32_t device : problem.block(b).devices) on[static_cast<std::size_t>(device)].push_back(b);
  }
  return on;
}

std::vector<Ticks> heads_of(const BlockProblem& problem) {
  std::vector<Ticks> heads(problem.blocks.size(), 0);
  for (std::size_t b = 0; b < heads.size(); ++b) {
    for (const WorkBlock::Input& input : problem.blocks[b].inputs) {
      const auto from = static_cast<std::size_t>(input.block);
      heads[b] = std::max(heads[b], heads[from] + problem.blocks[from].time + input.delay);
    }
  }
  return heads;
}

std::vector<Ticks> tails_of(const BlockProblem& problem) {
  std::vector<Ticks> tails(problem.blocks.size(), 0);
  for (std::size_t b = tails.size(); b-- > 0;) {
    for (const WorkBlock::Input& input : problem.blocks[b].inputs) {
      Ticks& tail = tails[static_cast<std::size_t>(input.block)];
      tail = std::max(tail, input.delay + problem.blocks[b].time + tails[b]);
    }
  }
  return tails;
}

std::vector<Ticks> work_of(const BlockProblem& problem) {
  std::vector<Ticks> work(static_cast<std::size_t>(problem.num_devices), 0);
  for (const WorkBlock& block : problem.blocks) {
    for (const std::int32_t device : block.devices) work[static_cast<std::size_t>(device)] += block.time;
  }
  return work;
}

Ticks longest_chain(const BlockProblem& problem) {
  const std::vector<Ticks> heads = heads_of(problem);
  Ticks longest = 0;
  for (std::size_t b = 0; b < heads.size(); ++b) longest = std::max(longest, heads[b] + problem.blocks[b].time);
  return longest;
}

Ticks time_grid(const BlockProblem& problem) {
  Ticks grid = 0;
  for (const WorkBlock& block : problem.blocks) {
    grid = std::gcd(grid, block.time);
    for (const WorkBlock::Input& input : block.inputs) grid = std::gcd(grid, input.delay);
  }
  return std::max<Ticks>(1, grid);
}

void check_blocks(const BlockProblem& problem, const std::string& where) {
  if (problem.blocks.empty()) throw Error(where + ": no blocks, expected at least one");
  for (std::int32_t b = 0; b < problem.size(); ++b) {
    const WorkBlock& block = problem.block(b);
    if (block.devices.empty()) throw Error(where + ": block " + block.name + " is on no device, expected one or more");
    for (const std::int32_t device : block.devices) {
      if (device < 0 || device >= problem.num_devices) {
        throw Error(where + ": block " + block.name + " is on device " + std::to_string(device) + ", expected 0 to " +
                    std::to_string(problem.num_devices - 1));
      }
    }
    for (const WorkBlock::Input& input : block.inputs) {
      if (input.block >= 0 && input.block < b) continue;
      throw Error(where + ": block " + block.name + " waits for one that does not stand before it");
    }
  }
  if (std::ranges::all_of(problem.blocks, [](const WorkBlock& block) { return block.time == 0; }))
    throw Error(where + ": no block takes time, so that no order is better than another; expected times above 0");
  const auto on = blocks_by_device(problem);
  for (std::size_t d = 0; d < on.size(); ++d) {
    std::int64_t stash = 0;
    std::int64_t peak = 0;
    for (const std::int32_t b : on[d]) {
      stash += problem.block(b).stash;
      peak = std::max(peak, stash);
    }
    if (stash != 0) {
      throw Error(where + ": the stashes of device " + std::to_string(d) + " add up to " + std::to_string(stash) +
                  ", expected 0");
    }
    if (problem.limits[d] < 0) {
      throw Error(where + ": device " + std::to_string(d) + " holds " + std::to_string(-problem.limits[d]) +
                  " more than its limit before it keeps any microbatch");
    }
    if (peak > problem.limits[d]) {
      throw Error(where + ": one microbatch keeps " + std::to_string(peak) + " on device " + std::to_string(d) +
                  ", expected at most its limit of " + std::to_string(problem.limits[d]));
    }
  }
}

}  // namespace plumb
