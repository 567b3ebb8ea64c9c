#include "sim/order_search/exact_order.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_map>

#include "schedules/program/lane_run.hpp"
#include "sim/order_search/makespan_bound.hpp"
#include "sim/order_search/order_state.hpp"

namespace plumb {
namespace {

constexpr Ticks kNoStart = std::numeric_limits<Ticks>::max() / 4;
/// States that are kept per combination of counts, and in all.
constexpr std::size_t kMostAlike = 12;
constexpr std::size_t kMostVainStates = 2'000'000;
/// Above as many steps of the grid, the middle is tried in place of the bound.
constexpr Ticks kManySteps = 6;

bool share_device(const WorkBlock& one, const WorkBlock& other) {
  return std::ranges::any_of(one.devices, [&](std::int32_t device) {
    return std::ranges::find(other.devices, device) != other.devices.end();
  });
}

/// States that were searched in vain, by counts: the times of each.
class VainStates {
 public:
  bool covers(const std::vector<std::int64_t>& counts, const std::vector<Ticks>& times) const {
    const auto found = states_.find(hash(counts));
    if (found == states_.end()) return false;
    return std::ranges::any_of(
        found->second, [&](const State& state) { return state.counts == counts && no_later(state.times, times); });
  }

  void add(const std::vector<std::int64_t>& counts, const std::vector<Ticks>& times) {
    if (size_ >= kMostVainStates) return;
    std::vector<State>& alike = states_[hash(counts)];
    const std::size_t before = alike.size();
    std::erase_if(alike, [&](const State& s) { return s.counts == counts && no_later(times, s.times); });
    size_ -= before - alike.size();
    if (alike.size() >= kMostAlike) return;
    alike.push_back({counts, times});
    ++size_;
  }

 private:
  struct State {
    std::vector<std::int64_t> counts;
    std::vector<Ticks> times;
  };

  static bool no_later(const std::vector<Ticks>& one, const std::vector<Ticks>& other) {
    for (std::size_t i = 0; i < one.size(); ++i) {
      if (one[i] > other[i]) return false;
    }
    return one.size() == other.size();
  }

  static std::uint64_t hash(const std::vector<std::int64_t>& counts) {
    std::uint64_t mixed = 0x9e3779b97f4a7c15U;
    for (const std::int64_t count : counts) {
      mixed = (mixed ^ static_cast<std::uint64_t>(count)) * 0xbf58476d1ce4e5b9U;
      mixed ^= mixed >> 29U;
    }
    return mixed;
  }

  std::unordered_map<std::uint64_t, std::vector<State>> states_;
  std::size_t size_ = 0;
};

/// The tree for one makespan C.
class MakespanTree {
 public:
  MakespanTree(const BlockProblem& problem, std::int64_t num_microbatches, Ticks longest, std::int64_t& nodes)
      : problem_(problem),
        all_(num_microbatches),
        longest_(longest),
        nodes_(nodes),
        state_(problem, num_microbatches),
        tails_(tails_of(problem)),
        rounds_(memory_rounds(problem)),
        on_(blocks_by_device(problem)),
        waits_(problem.blocks.size(), 0),
        likely_(problem.blocks.size(), 0) {
    const std::size_t passes = problem.blocks.size() * static_cast<std::size_t>(num_microbatches);
    order_.reserve(passes);
  }

  /// Whether an order was found; unless `nodes` ran out, otherwise there is none.
  bool search() { return visit(); }

  BlockOrders orders() const {
    BlockOrders orders(on_.size());
    std::vector<std::int64_t> counts(problem_.blocks.size(), 0);
    for (const std::int32_t b : order_) {
      const std::int64_t microbatch = counts[static_cast<std::size_t>(b)]++;
      for (const std::int32_t device : problem_.block(b).devices) {
        orders[static_cast<std::size_t>(device)].push_back({b, microbatch});
      }
    }
    return orders;
  }

 private:
  /// Lower bounds on the next start of every block; false when what is left does not fit before C.
  bool fits() {
    for (std::int32_t b = 0; b < problem_.size(); ++b) {
      Ticks& likely = likely_[static_cast<std::size_t>(b)];
      const WorkBlock& block = problem_.block(b);
      const std::int64_t left = state_.left(b);
      if (left == 0) continue;
      likely = 0;
      for (const std::int32_t device : block.devices) likely = std::max(likely, state_.clock(device));
      for (const WorkBlock::Input& input : block.inputs) {
        const std::int64_t ahead = state_.count(input.block) - state_.count(b);
        const Ticks end =
            ahead > 0 ? state_.end(input.block, state_.count(b))
                      : likely_[static_cast<std::size_t>(input.block)] + (1 - ahead) * problem_.block(input.block).time;
        likely = std::max(likely, end + input.delay);
      }
      if (likely + left * block.time + tails_[static_cast<std::size_t>(b)] > longest_) return false;
    }
    return work_fits() && memory_fits();
  }

  bool work_fits() const {
    for (std::size_t d = 0; d < on_.size(); ++d) {
      Ticks work = 0;
      Ticks begin = kNoStart;
      Ticks tail = kNoStart;
      for (const std::int32_t b : on_[d]) {
        if (state_.left(b) == 0) continue;
        work += state_.left(b) * problem_.block(b).time;
        begin = std::min(begin, likely_[static_cast<std::size_t>(b)]);
        tail = std::min(tail, tails_[static_cast<std::size_t>(b)]);
      }
      if (work > 0 && begin + work + tail > longest_) return false;
    }
    return true;
  }

  bool memory_fits() const {
    for (const MemoryRound& round : rounds_) {
      const WorkBlock& takes = problem_.block(round.takes);
      // The next to be freed lets `takes` of the microbatch `apart` later start.
      const std::int64_t next = state_.count(round.frees) + round.apart;
      if (next >= all_ || next < state_.count(round.takes)) continue;
      const Ticks freed = likely_[static_cast<std::size_t>(round.frees)] + problem_.block(round.frees).time;
      const std::int64_t behind = all_ - 1 - next;
      const Ticks last = freed + behind / round.apart * round.round + behind % round.apart * takes.time;
      if (last + takes.time + tails_[static_cast<std::size_t>(round.takes)] > longest_) return false;
    }
    return true;
  }

  void write_state(std::vector<std::int64_t>& counts, std::vector<Ticks>& times) const {
    for (std::int32_t b = 0; b < problem_.size(); ++b) {
      counts.push_back(state_.count(b) * 2 + waits_[static_cast<std::size_t>(b)]);
    }
    for (std::size_t d = 0; d < on_.size(); ++d) times.push_back(state_.clock(static_cast<std::int32_t>(d)));
    for (std::int32_t b = 0; b < problem_.size(); ++b) {
      for (const WorkBlock::Input& input : problem_.block(b).inputs) {
        for (std::int64_t n = state_.count(b); n < state_.count(input.block); ++n) {
          const Ticks clock = state_.clock(problem_.block(b).devices.front());
          times.push_back(std::max(clock, state_.end(input.block, n) + input.delay));
        }
      }
    }
  }

  /// What could be done next by some device: the block that ends first.
  std::int32_t first_to_end() const {
    std::int32_t first = -1;
    Ticks ends = kNoStart;
    for (std::int32_t b = 0; b < problem_.size(); ++b) {
      if (!can_start(b)) continue;
      const Ticks end = state_.earliest(b) + problem_.block(b).time;
      const bool later_kind = end == ends && problem_.block(b).stash < problem_.block(first).stash;
      if (end < ends || later_kind) {
        first = b;
        ends = end;
      }
    }
    return first;
  }

  bool can_start(std::int32_t b) const {
    return state_.left(b) > 0 && waits_[static_cast<std::size_t>(b)] == 0 && state_.has_inputs(b) &&
           state_.has_memory(b);
  }

  /// Blocks that may be next on the devices of `first`, that which is furthest along its chain first.
  std::vector<std::int32_t> next_ones(std::int32_t first) const {
    const Ticks ends = state_.earliest(first) + problem_.block(first).time;
    std::vector<std::int32_t> next;
    for (std::int32_t b = problem_.size() - 1; b >= 0; --b) {
      if (b == first || !can_start(b) || !share_device(problem_.block(b), problem_.block(first))) continue;
      if (state_.earliest(b) < ends) next.push_back(b);
    }
    next.push_back(first);
    std::ranges::stable_sort(next, {}, [&](std::int32_t b) { return state_.earliest(b); });
    return next;
  }

  /// Places `b` and goes on; blocks that waited for something else to happen on its devices wait no longer.
  bool place(std::int32_t b) {
    const std::vector<std::uint8_t> waits = waits_;
    for (std::int32_t other = 0; other < problem_.size(); ++other) {
      if (share_device(problem_.block(other), problem_.block(b))) waits_[static_cast<std::size_t>(other)] = 0;
    }
    const OrderState::Undo undo = state_.put(b);
    order_.push_back(b);
    if (visit()) return true;
    order_.pop_back();
    state_.take_back(undo);
    waits_ = waits;
    return false;
  }

  bool may_be_short_of_memory(std::int32_t b) const {
    const WorkBlock& block = problem_.block(b);
    return block.stash > 0 && std::ranges::any_of(block.devices, [&](std::int32_t device) {
             std::int64_t most = 0;
             for (const std::int32_t other : on_[static_cast<std::size_t>(device)]) {
               most += std::max<std::int64_t>(0, problem_.block(other).stash) * all_;
             }
             return most > problem_.limits[static_cast<std::size_t>(device)];
           });
  }

  bool visit() {
    if (--nodes_ < 0) return false;
    const std::size_t passes = problem_.blocks.size() * static_cast<std::size_t>(all_);
    if (order_.size() == passes) return true;
    if (!fits()) return false;
    std::vector<std::int64_t> counts;
    std::vector<Ticks> times;
    write_state(counts, times);
    if (vain_.covers(counts, times)) return false;
    const std::int32_t first = first_to_end();
    if (first >= 0 && branch(first)) return true;
    if (nodes_ > 0) vain_.add(counts, times);
    return false;
  }

  bool branch(std::int32_t first) {
    for (const std::int32_t b : next_ones(first)) {
      if (place(b)) return true;
      if (nodes_ <= 0) return false;
    }
    if (!may_be_short_of_memory(first)) return false;
    waits_[static_cast<std::size_t>(first)] = 1;
    if (visit()) return true;
    waits_[static_cast<std::size_t>(first)] = 0;
    return false;
  }

  const BlockProblem& problem_;
  std::int64_t all_;
  Ticks longest_;
  std::int64_t& nodes_;
  OrderState state_;
  std::vector<Ticks> tails_;
  std::vector<MemoryRound> rounds_;
  std::vector<std::vector<std::int32_t>> on_;
  std::vector<std::uint8_t> waits_;  ///< by block: something else must come first on its devices
  std::vector<Ticks> likely_;
  std::vector<std::int32_t> order_;
  VainStates vain_;
};

}  // namespace

Ticks makespan_of(const BlockProblem& problem, const BlockOrders& orders, std::int64_t num_microbatches) {
  OrderState state(problem, num_microbatches);
  std::vector<std::size_t> next(orders.size(), 0);
  Ticks makespan = 0;
  const auto is_next = [&](std::int32_t device, std::int32_t block) {
    const auto d = static_cast<std::size_t>(device);
    return next[d] < orders[d].size() && orders[d][next[d]].block == block &&
           orders[d][next[d]].microbatch == state.count(block);
  };
  run_in_turns(orders.size(), [&](std::size_t d) {
    if (next[d] == orders[d].size()) return false;
    const std::int32_t b = orders[d][next[d]].block;
    const auto& devices = problem.block(b).devices;
    const bool together = std::ranges::all_of(devices, [&](std::int32_t device) { return is_next(device, b); });
    if (!together || !state.has_inputs(b) || !state.has_memory(b)) return false;
    state.put(b);
    makespan = std::max(makespan, state.clock(devices.front()));
    for (const std::int32_t device : devices) ++next[static_cast<std::size_t>(device)];
    return true;
  });
  for (std::size_t d = 0; d < orders.size(); ++d) {
    if (next[d] < orders[d].size()) return -1;
  }
  return makespan;
}

ProvedMakespan prove_makespan(const BlockProblem& problem, std::int64_t num_microbatches, ProvedMakespan known,
                              std::int64_t nodes) {
  const Ticks grid = time_grid(problem);
  known.bound = (known.bound + grid - 1) / grid * grid;
  std::int64_t left = nodes;
  while (known.bound < known.found && left > 0) {
    const Ticks steps = std::min(known.found, 4 * known.bound) / grid - known.bound / grid;
    const Ticks longest = known.bound + (steps > kManySteps ? steps / 2 * grid : 0);
    MakespanTree tree(problem, num_microbatches, longest, left);
    if (tree.search()) {
      known.orders = tree.orders();
      known.found = makespan_of(problem, known.orders, num_microbatches);
    } else if (left > 0) {
      known.bound = longest + grid;
    }
  }
  known.nodes = nodes - std::max<std::int64_t>(0, left);
  return known;
}

}  // namespace plumb
