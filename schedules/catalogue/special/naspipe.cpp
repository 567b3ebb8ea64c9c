#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "schedules/catalogue/generator.hpp"
#include "schedules/catalogue/run_time_rule.hpp"

namespace plumb {
namespace {

constexpr std::string_view kNaspipe = "naspipe";
constexpr std::int64_t kMostBlocks = 64;
constexpr std::int64_t kMostLooks = std::int64_t{1} << 24;

/// The candidates that subnets take, drawn from a seed: in every choice block of a stage one of so many.
class Subnets {
 public:
  Subnets(std::int64_t stages, std::int64_t blocks, std::int64_t candidates, std::int64_t seed)
      : stages_(stages), blocks_(blocks), candidates_(candidates), seed_(static_cast<std::uint64_t>(seed)) {}

  /// Whether both take the same candidate of some block of the stage.
  bool share(std::int64_t one, std::int64_t other, std::int64_t stage) const {
    for (std::int64_t block = stage * blocks_; block < (stage + 1) * blocks_; ++block) {
      if (choice_of(one, block) == choice_of(other, block)) return true;
    }
    return false;
  }

 private:
  /// The finishing function of splitmix64 over a number for each subnet and block.
  std::uint64_t choice_of(std::int64_t subnet, std::int64_t block) const {
    const auto number = static_cast<std::uint64_t>(subnet * stages_ * blocks_ + block + 1);
    std::uint64_t mixed = seed_ + 0x9E3779B97F4A7C15ULL * number;
    mixed = (mixed ^ (mixed >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94D049BB133111EBULL;
    return (mixed ^ (mixed >> 31U)) % static_cast<std::uint64_t>(candidates_);
  }

  std::int64_t stages_;
  std::int64_t blocks_;
  std::int64_t candidates_;
  std::uint64_t seed_;
};

/// A device looks at the first `window` subnets that it has not finished, in their order, and takes the first one that
/// has work there and shares no candidate of the stage with an earlier one among them.
class CausalOrder final : public RunTimeRule {
 public:
  CausalOrder(const Subnets& subnets, ChainTimes times, std::int64_t count, std::int64_t window)
      : subnets_(subnets), times_(std::move(times)), window_(static_cast<std::size_t>(window)) {
    std::vector<Task> all;
    for (std::int64_t subnet = 0; subnet < count; ++subnet) all.push_back({.subnet = subnet});
    open_.assign(times_.forward.size(), all);
    for (std::int64_t subnet = 0; subnet < count; ++subnet) post(0, 0, action_of(0, Op::kF, subnet));
  }

  void arrive(std::int32_t device, const Action& work, Ticks) override {
    const auto subnet = static_cast<std::int64_t>(work.microbatch);
    std::vector<Task>& open = open_[static_cast<std::size_t>(device)];
    const auto task = std::ranges::lower_bound(open, subnet, {}, &Task::subnet);
    (work.op == Op::kB ? task->backward : task->forward) = true;
  }

  std::pair<Action, Ticks> choose(std::int32_t device, Ticks now) override {
    std::vector<Task>& open = open_[static_cast<std::size_t>(device)];
    for (std::size_t at = 0; at < std::min(window_, open.size()); ++at) {
      Task& task = open[at];
      if (!task.forward && !task.backward) continue;
      // What has run forward was free then, and stays so.
      if (task.forward && is_blocked(open, at, device)) continue;
      return run(device, now, at);
    }
    return kStayIdle;
  }

 private:
  struct Task {
    std::int64_t subnet = 0;
    bool forward = false;   ///< may run
    bool backward = false;  ///< may run
  };

  bool is_blocked(const std::vector<Task>& open, std::size_t at, std::int32_t device) const {
    return std::any_of(open.begin(), open.begin() + static_cast<std::ptrdiff_t>(at),
                       [&](const Task& earlier) { return subnets_.share(earlier.subnet, open[at].subnet, device); });
  }

  std::pair<Action, Ticks> run(std::int32_t device, Ticks now, std::size_t at) {
    const auto d = static_cast<std::size_t>(device);
    const auto last = static_cast<std::int32_t>(open_.size()) - 1;
    Task& task = open_[d][at];
    const std::int64_t subnet = task.subnet;
    if (task.forward) {
      task.forward = false;
      const Ticks end = now + times_.forward[d];
      const bool turns = device == last;
      const std::int32_t to = turns ? device : device + 1;
      post(turns ? end : end + times_.transfer, to, action_of(to, turns ? Op::kB : Op::kF, subnet));
      return {action_of(device, Op::kF, subnet), times_.forward[d]};
    }
    const Ticks end = now + times_.backward[d];
    if (device > 0) post(end + times_.transfer, device - 1, action_of(device - 1, Op::kB, subnet));
    open_[d].erase(open_[d].begin() + static_cast<std::ptrdiff_t>(at));
    return {action_of(device, Op::kB, subnet), times_.backward[d]};
  }

  const Subnets& subnets_;
  ChainTimes times_;
  std::size_t window_;
  std::vector<std::vector<Task>> open_;  ///< by device: subnets that it has not finished, in their order
};

}  // namespace

/// Subnets of a supernet, one of them a microbatch: each takes one of `candidates=C` layers in every one of the
/// `blocks=K` choice blocks of a stage (drawn from `seed`), and no device begins a subnet while it has not finished an
/// earlier one that shares a layer there, so that every layer sees its subnets in their order. A device takes the first
/// of its next `window=W` subnets that has work and is free. There is no limit on what is under way. The lists are the
/// rule played through with the given costs; the m subnets are repeated for every update. A subnet updates its layers
/// with its backward; the document has the weights of one copy of every stage, whose update comes at the end. (Zhao et
/// al., NASPipe, ASPLOS 2022; released code, throughput/translation/bubble.py, where all passes take the same time)
///
///   p = 2, m = 3, one candidate everywhere: one subnet after another
///   d0: 0F0 0B0 0F1 0B1 0F2 0B2 0U0
///   d1: 1F0 1B0 1F1 1B1 1F2 1B2 1U0
Schedule naspipe(const ScheduleParams& params) {
  require_one_chunk(kNaspipe, params);
  const std::int64_t m = params.num_microbatches;
  const std::int64_t blocks = whole_number(kNaspipe, params, "blocks", 8);
  const std::int64_t candidates = whole_number(kNaspipe, params, "candidates", 48);
  const std::int64_t seed = whole_number(kNaspipe, params, "seed", 1);
  const std::int64_t window = whole_number(kNaspipe, params, "window", 200);
  require(blocks <= kMostBlocks, kNaspipe, "blocks must be at most " + std::to_string(kMostBlocks));
  const std::int64_t updates = updates_or(params, 1);
  Schedule schedule = looped_schedule(kNaspipe, params, 1, updates);
  require(m * params.num_devices <= kMostLooks / (std::min(m, window) * blocks), kNaspipe,
          "m x p x window x blocks must be at most 2^24, because the rule is played through");
  schedule.parameters["blocks"] = blocks;
  schedule.parameters["candidates"] = candidates;
  schedule.parameters["seed"] = seed;
  schedule.parameters["window"] = window;
  const Subnets subnets(params.num_devices, blocks, candidates, seed);
  CausalOrder rule(subnets, chain_times(params, params.num_devices), m, window);
  for (const std::vector<Action>& order : play(rule, params.num_devices)) {
    schedule.devices.push_back(repeat_steps(params, updates, [&](ListBuilder& list) {
      list.add_all(order);
      list.add(order.front().stage, Op::kU, 0);
    }));
  }
  return schedule;
}

}  // namespace plumb
