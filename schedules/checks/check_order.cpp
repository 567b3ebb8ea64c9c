#include "schedules/checks/check_order.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "schedules/checks/findings.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/document/walk.hpp"
#include "schedules/program/lane_run.hpp"
#include "schedules/rules/dependency_rules.hpp"

namespace plumb {
namespace {

/// Where an action stands.
struct Stand {
  std::size_t device = 0;
  std::size_t position = 0;

  friend auto operator<=>(const Stand&, const Stand&) = default;
};

/// The passes of lists that may have holes. An action that is not there is waited for by nobody.
class PassOrder {
 public:
  explicit PassOrder(const Schedule& part) : rules_(part), next_(part.devices.size(), 0) {
    for (const DeviceList& list : part.devices) {
      auto& actions = lists_.emplace_back();
      walk(list, [&](const Action& action) { actions.push_back(action); });
    }
  }

  std::vector<Violation> wrong() {
    note_stands();
    note_own_lists();
    if (findings_.empty()) note_cycle();
    return findings_.take();
  }

 private:
  /// B and I are one: a rule that needs a backward needs either. Names one microbatch.
  using Pass = std::tuple<ReplicaId, StageId, Op, MicrobatchId, std::int16_t>;

  static Pass pass_of(const Action& one, std::int32_t behind = 0) {
    const Op op = one.op == Op::kI ? Op::kB : one.op;
    return {one.replica, one.stage, op, MicrobatchId{static_cast<std::int32_t>(one.microbatch) + behind}, one.slice};
  }

  const Action& at(const Stand& stand) const { return lists_[stand.device][stand.position]; }

  template <class Visit>
  void for_each_stand(Visit visit) const {
    for (std::size_t device = 0; device < lists_.size(); ++device) {
      for (std::size_t position = 0; position < lists_[device].size(); ++position) visit(Stand{device, position});
    }
  }

  void fail(const Stand& stand, std::string reason) {
    findings_.add(stand.device, static_cast<std::int64_t>(stand.position), to_string(at(stand)), std::move(reason));
  }

  void note_stands() {
    for_each_stand([&](const Stand& stand) {
      const Action& action = at(stand);
      if (action.op > Op::kR || static_cast<std::int32_t>(action.microbatch) < 0) return;
      bool is_first = true;
      for (std::int32_t i = 0; i <= action.merged; ++i)
        is_first &= stands_.try_emplace(pass_of(action, i), stand).second;
      if (!is_first) fail(stand, "runs a second time; expected once");
    });
  }

  /// Calls `visit` with every stand that the action waits for.
  template <class Visit>
  void needs(const Stand& stand, Visit visit) const {
    if (at(stand).op > Op::kR || static_cast<std::int32_t>(at(stand).microbatch) < 0) return;
    rules_.for_each(at(stand), [&](const Action& needed, DependencyKind) {
      const auto found = stands_.find(pass_of(needed));
      if (found != stands_.end()) visit(found->second);
    });
  }

  void note_own_lists() {
    for_each_stand([&](const Stand& stand) {
      needs(stand, [&](const Stand& needed) {
        if (needed.device == stand.device && needed > stand) fail(stand, "runs before " + to_string(at(needed)));
      });
    });
  }

  bool at_end(std::size_t device) const { return next_[device] == lists_[device].size(); }
  Stand head(std::size_t device) const { return {device, next_[device]}; }

  /// What the head of the device's list waits for and has not run, or its own stand.
  Stand open(std::size_t device) const {
    Stand waited_for = head(device);
    needs(head(device), [&](const Stand& needed) {
      if (needed.position >= next_[needed.device]) waited_for = needed;
    });
    return waited_for;
  }

  /// Lets all lists go as far as they get; where they stand, a cycle of waits.
  void note_cycle() {
    run_in_turns(lists_.size(), [&](std::size_t lane) {
      const bool moves = !at_end(lane) && open(lane) == head(lane);
      if (moves) ++next_[lane];
      return moves;
    });
    std::size_t device = 0;
    while (device < lists_.size() && at_end(device)) ++device;
    if (device == lists_.size()) return;
    std::vector<std::size_t> cycle;
    for (; std::ranges::find(cycle, device) == cycle.end(); device = open(device).device) cycle.push_back(device);
    cycle.erase(cycle.begin(), std::ranges::find(cycle, device));
    std::rotate(cycle.begin(), std::ranges::min_element(cycle), cycle.end());
    std::string text;
    for (const std::size_t one : cycle) text += (text.empty() ? "deadlock: " : "; ") + wait_of(one);
    fail(head(cycle.front()), text);
  }

  /// "0B0 on device 0 waits for 1B0 on device 1, which comes after 1F1".
  std::string wait_of(std::size_t device) const {
    const Stand needed = open(device);
    std::string text = to_string(at(head(device))) + " on device " + std::to_string(device) + " waits for " +
                       to_string(at(needed)) + " on device " + std::to_string(needed.device);
    if (needed != head(needed.device)) text += ", which comes after " + to_string(at(head(needed.device)));
    return text;
  }

  DependencyRules rules_;
  std::vector<std::vector<Action>> lists_;  ///< by device
  std::map<Pass, Stand> stands_;
  std::vector<std::size_t> next_;  ///< by device: how far its list has run
  Findings findings_;
};

}  // namespace

std::vector<Violation> check_order(const Schedule& part) { return PassOrder(part).wrong(); }

}  // namespace plumb
