#pragma once

#include <cstddef>
#include <vector>

#include "trainer/streams/stream_machine.hpp"

namespace plumb {

/// Events that are asked for their times, used again from part to part of a run.
class TimeMarks {
 public:
  explicit TimeMarks(StreamMachine& machine) : machine_(machine) {}

  EventId mark(StreamId stream) {
    if (used_ == events_.size()) events_.push_back(machine_.make_event(EventUse::kTime));
    const EventId event = events_[used_++];
    machine_.record(event, stream);
    return event;
  }
  void restart() { used_ = 0; }

 private:
  StreamMachine& machine_;
  std::vector<EventId> events_;
  std::size_t used_ = 0;
};

}  // namespace plumb
