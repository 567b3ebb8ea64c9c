#include "trainer/streams/stream_order.hpp"

#include <algorithm>
#include <utility>

namespace plumb {

StreamOrder::Clock& StreamOrder::clock_of(std::size_t stream) {
  if (clocks_.size() <= stream) clocks_.resize(stream + 1, host_);
  if (clocks_[stream].size() <= stream) clocks_[stream].resize(stream + 1);
  return clocks_[stream];
}

void StreamOrder::join(Clock& clock, const Clock& other) {
  clock.resize(std::max(clock.size(), other.size()));
  for (std::size_t i = 0; i < other.size(); ++i) clock[i] = std::max(clock[i], other[i]);
}

bool StreamOrder::knows(const Clock& clock, const Record& record) {
  return record.stream < clock.size() && clock[record.stream] >= record.clock[record.stream];
}

EventId StreamOrder::record(StreamId stream) {
  if (records_.size() == events_.size()) events_.push_back(machine_.make_event(EventUse::kOrder));
  const EventId event = events_[records_.size()];
  places_.resize(std::max(places_.size(), static_cast<std::size_t>(event) + 1));
  places_[static_cast<std::size_t>(event)] = records_.size();
  const auto number = static_cast<std::size_t>(stream);
  Clock& clock = clock_of(number);
  ++clock[number];
  records_.push_back({number, clock});
  machine_.record(event, stream);
  return event;
}

void StreamOrder::wait(StreamId stream, std::span<const EventId> events) {
  const auto number = static_cast<std::size_t>(stream);
  const Clock& known = clock_of(number);
  std::vector<EventId> needed;
  for (const EventId event : events) {
    if (event == kAlways || knows(known, record_of(event))) continue;
    if (std::ranges::find(needed, event) == needed.end()) needed.push_back(event);
  }
  const std::vector<EventId> all = needed;
  std::erase_if(needed, [&](EventId event) {
    return std::ranges::any_of(
        all, [&](EventId other) { return other != event && knows(record_of(other).clock, record_of(event)); });
  });
  for (const EventId event : needed) {
    join(clock_of(number), record_of(event).clock);
    machine_.wait(stream, event);
  }
}

void StreamOrder::synchronize() {
  machine_.synchronize();
  host_.resize(clocks_.size());
  for (std::size_t stream = 0; stream < clocks_.size(); ++stream) host_[stream] = clock_of(stream)[stream];
  for (Clock& clock : clocks_) clock = host_;
}

void StreamOrder::see(EventId event) {
  if (event == kAlways) return;
  join(host_, record_of(event).clock);
  for (Clock& clock : clocks_) join(clock, host_);
  machine_.note_seen(event);
}

void StreamOrder::restart() {
  records_.clear();
  clocks_.clear();
  host_.clear();
}

}  // namespace plumb
