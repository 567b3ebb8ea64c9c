#include "trainer/streams/time_marks.hpp"

namespace plumb {

MarkId TimeMarks::mark(StreamId stream) {
  if (under_way_.size() >= kMany && under_way_.size() % kEvery == 0) note_done();
  if (unused_.empty()) unused_.push_back(machine_.make_event(EventUse::kTime));
  const EventId event = unused_.back();
  unused_.pop_back();
  machine_.record(event, stream);
  under_way_.push_back(event);
  return MarkId{static_cast<std::uint32_t>(times_.size() + under_way_.size() - 1)};
}

bool TimeMarks::is_done(MarkId mark) { return is_known(mark) || machine_.is_done(event(mark)); }

std::int64_t TimeMarks::time_ns(MarkId mark) {
  while (!is_known(mark)) note_first();
  return times_[static_cast<std::size_t>(mark)];
}

void TimeMarks::restart() {
  unused_.insert(unused_.end(), under_way_.begin(), under_way_.end());
  under_way_.clear();
  times_.clear();
}

void TimeMarks::note_first() {
  times_.push_back(machine_.time_ns(under_way_.front()));
  unused_.push_back(under_way_.front());
  under_way_.pop_front();
}

void TimeMarks::note_done() {
  while (!under_way_.empty() && machine_.is_done(under_way_.front())) note_first();
}

}  // namespace plumb
