#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <string_view>
#include <tuple>
#include <vector>

#include "models/ground/units.hpp"
#include "schedules/catalogue/schedule_params.hpp"
#include "schedules/document/action.hpp"

// Schedules whose order is decided while they run: the rule is simulated once, with known times, and its order kept.

namespace plumb {

/// Times of the stages of a chain, by stage, and of sending a value to another device.
struct ChainTimes {
  std::vector<Ticks> forward;
  std::vector<Ticks> backward;
  std::vector<Ticks> recompute;
  Ticks transfer = 0;
};

/// The times of the costs in `params`; without any, forward = recompute = 1, backward = 2, transfers take none.
/// Costs without a time of recompute take that of the forward; transfers over links (costs without `comm`) take none.
ChainTimes chain_times(const ScheduleParams& params, std::int32_t num_stages);

/// Throws `Error` when playing `actions` actions through would take too long.
void require_playable(std::string_view name, std::int64_t actions);

/// A rule by which devices act. Events happen in order of time; events at the same time happen in the order in which
/// they were posted, and before any device decides.
class RunTimeRule {
 public:
  virtual ~RunTimeRule() = default;

  /// Work that was posted to `device` has arrived.
  virtual void arrive(std::int32_t device, const Action& work, Ticks now) = 0;

  /// What the idle `device` does now, with its time; a negative time means nothing. May post work that arrives when the
  /// action ends, or before.
  virtual std::pair<Action, Ticks> choose(std::int32_t device, Ticks now) = 0;

  /// What waits on the way to a device.
  struct Arrival {
    Ticks at = 0;
    std::int32_t device = 0;
    Action work;
  };

 protected:
  void post(Ticks at, std::int32_t device, const Action& work) { posted_.push_back({at, device, work}); }

 private:
  friend std::vector<std::vector<Action>> play(RunTimeRule& rule, std::int32_t num_devices);
  std::vector<Arrival> posted_;
};

/// Nothing to do at the moment.
inline constexpr std::pair<Action, Ticks> kStayIdle{Action{}, -1};

/// Plays the rule until no work is under way; returns what every device did, in order. Work that the rule posted before
/// (in its constructor) is there from the beginning.
std::vector<std::vector<Action>> play(RunTimeRule& rule, std::int32_t num_devices);

}  // namespace plumb
