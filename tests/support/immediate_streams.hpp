#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "trainer/ground/run_clock.hpp"
#include "trainer/streams/host_streams.hpp"

namespace plumb {

/// Streams that do all work at once, on the thread that issues it.
class ImmediateStreams : public HostStreams {
 public:
  using HostStreams::HostStreams;

  StreamId make_stream(DeviceId, StreamKind) override { return StreamId{streams_++}; }
  EventId make_event(EventUse) override {
    times_.push_back(0);
    return EventId{static_cast<std::uint32_t>(times_.size() - 1)};
  }
  void record(EventId event, StreamId) override { times_[static_cast<std::size_t>(event)] = RunClock::steady_ns(); }
  void wait(StreamId, EventId) override {}
  bool is_done(EventId) override { return true; }
  void synchronize() override {}
  std::int64_t time_ns(EventId event) override { return times_[static_cast<std::size_t>(event)]; }

 private:
  void enqueue(StreamId, std::function<void()> task) override {
    if (task) task();
  }

  std::uint32_t streams_ = 0;
  std::vector<std::int64_t> times_;
};

inline std::unique_ptr<StreamMachine> immediate_streams(HostStreams::Add by) {
  return std::make_unique<ImmediateStreams>(by);
}

}  // namespace plumb
