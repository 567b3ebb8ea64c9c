#pragma once

#include <cstdint>
#include <functional>

#include "trainer/backends/cpu_backend.hpp"
#include "trainer/streams/host_streams.hpp"

namespace plumb {

/// A machine that does its work and never says so.
class SilentStreams : public HostStreams {
 public:
  SilentStreams() : HostStreams(add_on_cpu) {}

  StreamId make_stream(DeviceId, StreamKind) override { return StreamId{streams_++}; }
  EventId make_event(EventUse) override { return EventId{events_++}; }
  void record(EventId, StreamId) override {}
  void wait(StreamId, EventId) override {}
  bool is_done(EventId) override { return false; }
  void synchronize() override {}
  std::int64_t time_ns(EventId) override { return 0; }
  void abandon() override { abandoned = true; }

  bool abandoned = false;

 private:
  void enqueue(StreamId, std::function<void()> task) override { task(); }

  std::uint32_t streams_ = 0;
  std::uint32_t events_ = 0;
};

}  // namespace plumb
