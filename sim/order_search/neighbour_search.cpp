#include "sim/order_search/neighbour_search.hpp"

#include <algorithm>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "models/ground/error.hpp"
#include "schedules/document/action_units.hpp"
#include "schedules/lowering/lower.hpp"
#include "schedules/program/program_index.hpp"
#include "sim/critical_path.hpp"
#include "sim/order_search/pair_savings.hpp"
#include "sim/run_program.hpp"

namespace plumb {
namespace {

constexpr std::size_t kRemembered = 40;    ///< steps that late acceptance looks back
constexpr std::size_t kFarthest = 6;       ///< neighbours that an action moves over
constexpr std::size_t kCriticalOf16 = 13;  ///< of 16 moved actions so many are on the critical path

bool can_move(Op op) { return op <= Op::kR; }

/// Whether `later` may not come before `earlier` on one device, whatever the others do.
bool must_follow(const Action& earlier, const Action& later) {
  if (earlier.microbatch != later.microbatch || earlier.stage != later.stage || earlier.replica != later.replica) {
    return false;
  }
  return static_cast<int>(later.op) > static_cast<int>(earlier.op) || earlier.op == Op::kR;
}

/// Actions [begin, end) that start together: one, or the two of a pair.
struct Unit {
  std::size_t begin = 0;
  std::size_t end = 0;

  std::size_t size() const { return end - begin; }
};

Unit unit_at(const std::vector<Action>& actions, std::size_t at) {
  const std::size_t begin = unit_begin(actions, at);
  return {begin, unit_end(actions, begin)};
}

struct Position {
  std::size_t device = 0;
  std::size_t at = 0;
};

class NeighbourSearch {
 public:
  NeighbourSearch(const Schedule& schedule, const OrderRun& run, std::uint64_t seed)
      : run_(without_details(run)),
        now_(schedule),
        pairs_(has_overlapped_pairs(schedule) || pairs_may_save(run.costs)),
        random_(seed) {
    for (DeviceList& list : now_.devices) list = {.actions = expand(list), .repeats = {}};
  }

  ImprovedOrder improve(std::int64_t simulations) {
    const std::optional<OrderScore> first = score_order(now_, run_);
    if (!first) throw Error("order search: the schedule that is to be improved does not fit");
    best_ = *first;
    ImprovedOrder answer{.schedule = now_, .makespan = first->makespan, .simulations = 1};
    OrderScore here = *first;
    std::vector<OrderScore> remembered(kRemembered, here);
    find_critical();
    for (std::size_t step = 0; answer.simulations < simulations; ++step) {
      const std::optional<std::size_t> changed = change();
      if (!changed) continue_or_stop(answer, simulations);
      if (!changed) continue;
      const std::optional<OrderScore> next = score_order(now_, run_);
      ++answer.simulations;
      OrderScore& old = remembered[step % kRemembered];
      if (!next || (*next > here && *next > old)) {
        now_.devices[*changed].actions.swap(before_);
        continue;
      }
      here = *next;
      old = std::max(here, std::min(old, here));
      find_critical();
      if (here >= best_) continue;
      best_ = here;
      answer.schedule = now_;
      answer.makespan = here.makespan;
    }
    return answer;
  }

 private:
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(random_() % count); }

  static void continue_or_stop(ImprovedOrder& answer, std::int64_t simulations) {
    answer.simulations = std::min(simulations, answer.simulations + 1);
  }

  /// The positions of the critical path.
  void find_critical() {
    critical_.clear();
    const Program program = lower(now_, run_.costs, run_.cluster, run_.lowering);
    const ProgramIndex indexed(program);
    const RunTimes times = run_program(indexed, run_.options);
    for (const CriticalPiece& piece : critical_path(indexed, times, run_.options)) {
      if (piece.kind != CriticalKind::kCompute) continue;
      const auto lane = std::ranges::upper_bound(program.lane_begin, piece.what) - program.lane_begin.begin() - 1;
      const auto device = static_cast<std::size_t>(lane);
      const std::size_t at = piece.what - program.lane_begin[device];
      if (at < now_.devices[device].actions.size()) critical_.push_back({device, at});
    }
  }

  /// Changes the list of one device, which is returned; `before_` then holds the list as it was.
  std::optional<std::size_t> change() {
    Position from;
    if (!critical_.empty() && below(16) < kCriticalOf16) {
      from = critical_[below(critical_.size())];
    } else {
      from.device = below(now_.devices.size());
      if (now_.devices[from.device].actions.empty()) return std::nullopt;
      from.at = below(now_.devices[from.device].actions.size());
    }
    const bool pairs = pairs_ && below(4) == 0;
    const bool changed = pairs ? join_or_part(from) : move(from);
    return changed ? std::optional(from.device) : std::nullopt;
  }

  /// Keeps the list of `device` as it is now, and returns it.
  std::vector<Action>& to_change(std::size_t device) {
    before_ = now_.devices[device].actions;
    return now_.devices[device].actions;
  }

  /// Whether the order of two units on one device is not free.
  bool is_bound(const std::vector<Action>& actions, Unit earlier, Unit later) const {
    for (std::size_t i = earlier.begin; i < earlier.end; ++i) {
      for (std::size_t j = later.begin; j < later.end; ++j) {
        if (!can_move(actions[i].op) || !can_move(actions[j].op) || must_follow(actions[i], actions[j])) return true;
        if (run_.is_given && run_.is_given(actions[i]) && run_.is_given(actions[j])) return true;
      }
    }
    return false;
  }

  bool move(Position from) {
    const std::vector<Action>& actions = now_.devices[from.device].actions;
    if (!can_move(actions[from.at].op)) return false;
    const bool back = below(2) == 0;
    const auto far = static_cast<std::int64_t>(1 + below(below(3) == 0 ? kFarthest : 1));
    const Unit moved = unit_at(actions, from.at);
    Unit reached = moved;  // the last that it moves over
    for (std::int64_t step = 0; step < far; ++step) {
      if (back ? reached.begin == 0 : reached.end == actions.size()) break;
      const Unit next = unit_at(actions, back ? reached.begin - 1 : reached.end);
      if (back ? is_bound(actions, next, moved) : is_bound(actions, moved, next)) break;
      reached = next;
    }
    if (reached.begin == moved.begin) return false;
    std::vector<Action>& list = to_change(from.device);
    const auto at = [&](std::size_t place) { return list.begin() + static_cast<std::ptrdiff_t>(place); };
    if (back) {
      std::rotate(at(reached.begin), at(moved.begin), at(moved.end));
    } else {
      std::rotate(at(moved.begin), at(moved.end), at(reached.end));
    }
    return true;
  }

  /// A pass and one beside it become a pair, or a pair two passes.
  bool join_or_part(Position from) {
    const std::vector<Action>& actions = now_.devices[from.device].actions;
    const Unit one = unit_at(actions, from.at);
    if (one.size() == 2) {
      to_change(from.device)[one.begin].overlaps_next = 0;
      return true;
    }
    const bool back = below(2) == 0;
    if (back ? one.begin == 0 : one.end == actions.size()) return false;
    const Unit other = unit_at(actions, back ? one.begin - 1 : one.end);
    if (other.size() != 1 || !may_join(actions[one.begin], actions[other.begin])) return false;
    to_change(from.device)[std::min(one.begin, other.begin)].overlaps_next = 1;
    return true;
  }

  /// Whether a pair of two neighbours saves time, and their order is free.
  bool may_join(const Action& one, const Action& other) const {
    if (!can_move(one.op) || !can_move(other.op) || must_follow(one, other) || must_follow(other, one)) return false;
    if (run_.is_given && run_.is_given(one) && run_.is_given(other)) return false;
    return saved_by_pair(run_.costs, one, other) > 0;
  }

  OrderRun run_;
  Schedule now_;
  std::vector<Action> before_;
  bool pairs_;
  std::mt19937_64 random_;
  std::vector<Position> critical_;
  OrderScore best_;
};

}  // namespace

std::string why_no_steps(const Schedule& schedule) {
  if (schedule.policy) return "its devices decide while they run";
  for (const DeviceList& list : schedule.devices) {
    for (const Action& action : list.actions) {
      if (action.merged != 0) return "it has actions on several microbatches";
      const bool stays = action.op == Op::kU || action.op == Op::kReduceGrad;
      if (!can_move(action.op) && !stays) return "its lists hold more than passes and updates";
    }
  }
  return "";
}

ImprovedOrder improve_order(const Schedule& schedule, const OrderRun& run, std::int64_t simulations,
                            std::uint64_t seed) {
  return NeighbourSearch(schedule, run, seed).improve(simulations);
}

}  // namespace plumb
