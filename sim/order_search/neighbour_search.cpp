#include "sim/order_search/neighbour_search.hpp"

#include <algorithm>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "models/ground/error.hpp"
#include "schedules/lowering/lower.hpp"
#include "schedules/program/program_index.hpp"
#include "sim/critical_path.hpp"
#include "sim/run_program.hpp"
#include "sim/simulate.hpp"

namespace plumb {
namespace {

constexpr std::size_t kRemembered = 40;      ///< steps that late acceptance looks back
constexpr std::int64_t kFarthest = 6;        ///< neighbours that an action moves over
constexpr std::uint64_t kCriticalOf16 = 13;  ///< of 16 moved actions so many are on the critical path

bool can_move(Op op) { return op <= Op::kR; }

/// Whether `later` may not come before `earlier` on one device, whatever the others do.
bool must_follow(const Action& earlier, const Action& later) {
  if (earlier.microbatch != later.microbatch || earlier.stage != later.stage || earlier.replica != later.replica) {
    return false;
  }
  return static_cast<int>(later.op) > static_cast<int>(earlier.op) || earlier.op == Op::kR;
}

struct OrderScore {
  Ticks makespan = 0;
  Ticks ends = 0;

  friend auto operator<=>(const OrderScore&, const OrderScore&) = default;
};

struct Position {
  std::size_t device = 0;
  std::size_t at = 0;
};

class NeighbourSearch {
 public:
  NeighbourSearch(const Schedule& schedule, const OrderRun& run, std::uint64_t seed)
      : run_(run), now_(schedule), random_(seed) {
    for (DeviceList& list : now_.devices) list = {.actions = expand(list), .repeats = {}};
    run_.options.spans = run_.options.memory_curve = run_.options.idle_causes = false;
    run_.options.critical_path = false;
  }

  ImprovedOrder improve(std::int64_t simulations) {
    const std::optional<OrderScore> first = score(now_);
    if (!first) throw Error("order search: the schedule that is to be improved does not fit");
    best_ = *first;
    ImprovedOrder answer{.schedule = now_, .makespan = first->makespan, .simulations = 1};
    OrderScore here = *first;
    std::vector<OrderScore> remembered(kRemembered, here);
    find_critical();
    for (std::size_t step = 0; answer.simulations < simulations; ++step) {
      const auto move = next_move();
      if (!move) continue_or_stop(answer, simulations);
      if (!move) continue;
      apply(move->first, move->second);
      const std::optional<OrderScore> next = score(now_);
      ++answer.simulations;
      OrderScore& old = remembered[step % kRemembered];
      if (!next || (*next > here && *next > old)) {
        apply(Position{move->first.device, move->second}, move->first.at);
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
  std::uint64_t below(std::uint64_t count) { return random_() % count; }

  static void continue_or_stop(ImprovedOrder& answer, std::int64_t simulations) {
    answer.simulations = std::min(simulations, answer.simulations + 1);
  }

  std::optional<OrderScore> score(const Schedule& schedule) const {
    try {
      const Timeline timeline = simulate_summary(schedule, run_.costs, run_.cluster, run_.lowering, run_.options);
      if (run_.fits && !run_.fits(timeline)) return std::nullopt;
      OrderScore score{.makespan = timeline.makespan, .ends = 0};
      for (const DeviceSummary& device : timeline.devices) score.ends += device.last_end;
      return score;
    } catch (const Error&) {  // a deadlock, or a list that no runtime accepts
      return std::nullopt;
    }
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

  /// An action and the place that it moves to.
  std::optional<std::pair<Position, std::size_t>> next_move() {
    Position from;
    if (!critical_.empty() && below(16) < kCriticalOf16) {
      from = critical_[below(critical_.size())];
    } else {
      from.device = below(now_.devices.size());
      if (now_.devices[from.device].actions.empty()) return std::nullopt;
      from.at = below(now_.devices[from.device].actions.size());
    }
    const std::vector<Action>& actions = now_.devices[from.device].actions;
    if (!can_move(actions[from.at].op)) return std::nullopt;
    const bool back = below(2) == 0;
    const auto far = static_cast<std::int64_t>(1 + below(below(3) == 0 ? kFarthest : 1));
    auto to = static_cast<std::int64_t>(from.at);
    for (std::int64_t step = 0; step < far; ++step) {
      const std::int64_t next = back ? to - 1 : to + 1;
      if (next < 0 || next >= static_cast<std::int64_t>(actions.size())) break;
      const Action& other = actions[static_cast<std::size_t>(next)];
      const Action& moved = actions[from.at];
      if (!can_move(other.op) || (back ? must_follow(other, moved) : must_follow(moved, other))) break;
      to = next;
    }
    if (to == static_cast<std::int64_t>(from.at)) return std::nullopt;
    return std::pair(from, static_cast<std::size_t>(to));
  }

  void apply(Position from, std::size_t to) {
    std::vector<Action>& actions = now_.devices[from.device].actions;
    const auto at = [&](std::size_t place) { return actions.begin() + static_cast<std::ptrdiff_t>(place); };
    if (to < from.at) {
      std::rotate(at(to), at(from.at), at(from.at) + 1);
    } else {
      std::rotate(at(from.at), at(from.at) + 1, at(to) + 1);
    }
  }

  OrderRun run_;
  Schedule now_;
  std::mt19937_64 random_;
  std::vector<Position> critical_;
  OrderScore best_;
};

}  // namespace

std::string why_no_steps(const Schedule& schedule) {
  if (schedule.policy) return "its devices decide while they run";
  for (const DeviceList& list : schedule.devices) {
    for (const Action& action : list.actions) {
      if (action.overlaps_next != 0) return "it has overlapped pairs";
      if (action.merged != 0) return "it has actions on several microbatches";
      if (!can_move(action.op) && action.op != Op::kU) return "its lists hold more than passes and updates";
    }
  }
  return "";
}

ImprovedOrder improve_order(const Schedule& schedule, const OrderRun& run, std::int64_t simulations,
                            std::uint64_t seed) {
  return NeighbourSearch(schedule, run, seed).improve(simulations);
}

}  // namespace plumb
