#include "schedules/program/topological_order.hpp"

#include <cstddef>
#include <queue>
#include <vector>

namespace plumb {
namespace {

/// Runs devices in turn, each as far as it gets; a device that is stuck is woken by the one it waits for.
class Order {
 public:
  explicit Order(const Program& program)
      : program_(program), at_(program.lane_begin.begin(), program.lane_begin.end() - 1), stuck_on_(at_.size()) {
    order_.reserve(program.size());
  }

  std::vector<InstrIndex> run() {
    std::queue<std::size_t> ready;
    for (std::size_t device = 0; device < at_.size(); ++device) ready.push(device);
    for (; !ready.empty(); ready.pop()) {
      const std::size_t device = ready.front();
      const InstrIndex before = at_[device];
      run_lane(device);
      if (at_[device] == before) continue;
      for (const std::size_t waiter : stuck_on_[device]) ready.push(waiter);
      stuck_on_[device].clear();
    }
    return std::move(order_);
  }

 private:
  void run_lane(std::size_t device) {
    const InstrIndex end = program_.lane_begin[device + 1];
    for (InstrIndex& at = at_[device]; at < end;) {
      const InstrIndex after = at + (program_.instrs[at].action.overlaps_next ? 2 : 1);
      const InstrIndex blocker = first_not_done(at, after);
      if (blocker != kNone) {
        stuck_on_[device_of(blocker)].push_back(device);
        return;
      }
      for (; at < after; ++at) order_.push_back(at);
    }
  }

  /// Something that [at, after) waits for and that has not run; kNone when all has.
  InstrIndex first_not_done(InstrIndex at, InstrIndex after) const {
    for (std::uint32_t i = program_.instrs[at].first_wait; i < program_.instrs[after].first_wait; ++i) {
      const Wait& wait = program_.waits[i];
      if (wait.via < program_.transfers.size()) {
        const InstrIndex issue = program_.transfers[wait.via].issue;
        if (!done(issue)) return issue;
      } else if (wait.via < Wait::kLatency && (wait.via & Wait::kCollectiveBit) != 0) {
        for (const InstrIndex member : program_.collectives[wait.via & ~Wait::kCollectiveBit].members) {
          if (!done(member)) return member;
        }
      } else if (!done(wait.source)) {
        return wait.source;
      }
    }
    return kNone;
  }

  bool done(InstrIndex at) const { return at < at_[device_of(at)]; }

  std::size_t device_of(InstrIndex at) const {
    return index(program_.holders[program_.rows[program_.instrs[at].row].holder].device);
  }

  static constexpr InstrIndex kNone = 0xFFFFFFFFU;

  const Program& program_;
  std::vector<InstrIndex> at_;                      ///< by device: its next step
  std::vector<std::vector<std::size_t>> stuck_on_;  ///< by device: those that wait for one of its steps
  std::vector<InstrIndex> order_;
};

}  // namespace

std::vector<InstrIndex> topological_order(const Program& program) { return Order(program).run(); }

}  // namespace plumb
