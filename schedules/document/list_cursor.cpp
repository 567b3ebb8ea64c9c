#include "schedules/document/list_cursor.hpp"

namespace plumb {

void ListCursor::leave_or_restart() {
  Open& block = open_.back();
  const Repeat& repeat = list_->repeats[block.repeat];
  if (block.left == 0) {
    open_.pop_back();
    return;
  }
  --block.left;
  block.total.microbatch += repeat.advance.microbatch;
  block.total.update += repeat.advance.update;
  block.total.slice += repeat.advance.slice;
  at_ = repeat.begin;
  next_ = block.repeat + 1;
}

void ListCursor::enter() {
  const Repeat& repeat = list_->repeats[next_];
  const Advance around = open_.empty() ? Advance{} : open_.back().total;
  open_.push_back({next_, repeat.count - 1, around});
  ++next_;
}

}  // namespace plumb
