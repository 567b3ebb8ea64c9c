#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "schedules/document/schedule.hpp"

namespace plumb {

/// Reads a device's actions in order, one at a time, repeats unfolded on the way and never stored. `list` must outlive
/// it.
/// (`walk` does the same in one call; a cursor can stop and continue later.)
class ListCursor {
 public:
  explicit ListCursor(const DeviceList& list) : list_(&list) { settle(); }

  bool at_end() const { return at_ >= list_->actions.size(); }
  /// Position in the expanded list.
  std::int64_t position() const { return position_; }

  Action action() const {
    const Action& folded = list_->actions[at_];
    return open_.empty() ? folded : advanced(folded, open_.back().total);
  }

  void step() {
    ++at_;
    ++position_;
    settle();
  }

 private:
  /// A repeat block around `at_`.
  struct Open {
    std::size_t repeat = 0;
    std::int64_t left = 0;  ///< iterations after this one
    Advance total;          ///< added to the indices inside, by all blocks around
  };

  /// Leaves or restarts the blocks that end here, enters those that begin here.
  void settle() {
    while (!open_.empty() && list_->repeats[open_.back().repeat].end == at_) leave_or_restart();
    while (next_ < list_->repeats.size() && list_->repeats[next_].begin == at_) enter();
  }

  void leave_or_restart();
  void enter();

  const DeviceList* list_;
  std::size_t at_ = 0;
  std::size_t next_ = 0;  ///< first repeat not yet entered in this iteration of the blocks around
  std::int64_t position_ = 0;
  std::vector<Open> open_;
};

}  // namespace plumb
