#pragma once

#include <cstddef>
#include <vector>

#include "schedules/document/schedule.hpp"

namespace plumb {

/// Which forwards drop their stash, and which backwards make it again.
class RecomputeRules {
 public:
  /// The schedule must outlive this; no R of it is out of range.
  explicit RecomputeRules(const Schedule& schedule);

  bool any() const { return any_explicit_ || !schedule_.recompute.empty(); }

  /// The stash of the first microbatch of `action` is dropped after F; for B and I: and made again by this action. An
  /// EVICT or LOAD moves only what is left of it. Never of other ops.
  bool applies(const Action& action) const;

  /// Whether it applies to all microbatches of a merged action, or to none.
  bool agree(const Action& action) const;

 private:
  std::size_t place(const Action& action) const {
    return index(action.stage) * static_cast<std::size_t>(schedule_.num_microbatches) + index(action.microbatch);
  }
  void note_explicit();
  bool covers(std::size_t number, const Action& action) const;

  const Schedule& schedule_;
  bool any_explicit_ = false;
  std::vector<std::vector<bool>> named_;  ///< by rule and microbatch; empty: all
  std::vector<bool> explicit_;            ///< by stage and microbatch: the document schedules its R
};

}  // namespace plumb
