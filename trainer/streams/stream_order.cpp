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
  if (records_.size() >= kMany && records_.size() % kEvery == 0) forget_done();
  if (unused_.empty()) unused_.push_back(machine_.make_event(EventUse::kOrder));
  const EventId event = unused_.back();
  unused_.pop_back();
  const auto number = static_cast<std::size_t>(stream);
  Clock& clock = clock_of(number);
  ++clock[number];
  records_.push_back({event, number, clock});
  machine_.record(event, stream);
  return EventId{static_cast<std::uint32_t>(seen_ + records_.size() - 1)};
}

void StreamOrder::wait(StreamId stream, std::span<const EventId> events) {
  const auto number = static_cast<std::size_t>(stream);
  const Clock& known = clock_of(number);
  std::vector<EventId> needed;
  for (const EventId event : events) {
    if (is_old(event) || knows(known, record_of(event))) continue;
    if (std::ranges::find(needed, event) == needed.end()) needed.push_back(event);
  }
  const std::vector<EventId> all = needed;
  std::erase_if(needed, [&](EventId event) {
    return std::ranges::any_of(
        all, [&](EventId other) { return other != event && knows(record_of(other).clock, record_of(event)); });
  });
  for (const EventId event : needed) {
    join(clock_of(number), record_of(event).clock);
    machine_.wait(stream, record_of(event).event);
  }
}

bool StreamOrder::is_done(EventId event) { return is_old(event) || machine_.is_done(record_of(event).event); }

void StreamOrder::synchronize() {
  machine_.synchronize();
  host_.resize(clocks_.size());
  for (std::size_t stream = 0; stream < clocks_.size(); ++stream) host_[stream] = clock_of(stream)[stream];
  for (Clock& clock : clocks_) clock = host_;
}

void StreamOrder::see(EventId event) {
  if (!is_old(event)) see(record_of(event));
}

void StreamOrder::see(const Record& record) {
  join(host_, record.clock);
  for (Clock& clock : clocks_) join(clock, host_);
  machine_.note_seen(record.event);
}

void StreamOrder::forget_done() {
  while (!records_.empty() && machine_.is_done(records_.front().event)) {
    see(records_.front());
    unused_.push_back(records_.front().event);
    records_.pop_front();
    ++seen_;
  }
}

void StreamOrder::restart() {
  for (const Record& record : records_) unused_.push_back(record.event);
  seen_ += records_.size();
  records_.clear();
  clocks_.clear();
  host_.clear();
}

}  // namespace plumb
