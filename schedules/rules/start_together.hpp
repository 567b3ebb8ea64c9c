#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

#include "schedules/document/schedule.hpp"

namespace plumb {

/// A start that several devices have in common: that of the forwards, or of the backwards (B or I), of one list of
/// `Schedule::start_together`, of one replica, microbatch and slice.
struct CommonStart {
  std::int32_t group = 0;  ///< number of the list
  ReplicaId replica{};
  bool backward = false;
  MicrobatchId microbatch{};
  std::int16_t slice = Action::kAllSlices;

  friend auto operator<=>(const CommonStart&, const CommonStart&) = default;
};

/// Which passes start together with others, prepared once per schedule.
class CommonStarts {
 public:
  explicit CommonStarts(const Schedule& schedule);

  bool any() const { return !group_of_.empty(); }

  /// The number of the list that names the stage; -1: none does.
  std::int32_t group_of(StageId stage) const { return any() ? group_of_[index(stage)] : -1; }

  /// Of an action on one microbatch; nothing for what starts alone: other stages, and W, R and updates, which hand on
  /// nothing.
  std::optional<CommonStart> of(const Action& action) const;

 private:
  std::vector<std::int32_t> group_of_;  ///< by stage; empty: nothing starts together
};

}  // namespace plumb
