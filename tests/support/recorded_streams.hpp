#pragma once

#include <memory>

#include "tests/support/stream_log.hpp"

namespace plumb {

/// Another machine, every call to which is noted. The log says nothing about time: only in what order the issuing
/// thread has asked for what.
class RecordedStreams : public StreamMachine {
 public:
  explicit RecordedStreams(std::unique_ptr<StreamMachine> machine) : machine_(std::move(machine)) {}

  const StreamLog& log() const { return log_; }

  StreamId make_stream(DeviceId device, StreamKind kind) override;
  EventId make_event(EventUse use) override { return machine_->make_event(use); }
  void record(EventId event, StreamId stream) override;
  void wait(StreamId stream, EventId event) override;
  void launch(StreamId stream, Work work) override;
  void fill(StreamId stream, std::span<std::byte> bytes, std::byte value) override;
  void copy(StreamId stream, std::byte* to, std::span<const std::byte> from) override;
  void send(StreamId stream, DeviceId peer, std::byte* to, std::span<const std::byte> from) override;
  std::int64_t latency_ns(DeviceId from, DeviceId to) const override { return machine_->latency_ns(from, to); }
  void add(StreamId stream, NumberType type, std::span<std::byte> sum, std::span<const std::byte> term) override;
  std::byte* allocate(DeviceId device, std::int64_t bytes) override;
  void free(DeviceId device, std::byte* storage) override;
  std::byte* allocate_shared(std::int64_t bytes) override { return machine_->allocate_shared(bytes); }
  void free_shared(std::byte* storage) override { machine_->free_shared(storage); }
  bool host_reads_devices() const override { return machine_->host_reads_devices(); }
  void begin_block(StreamId stream, std::span<const std::byte> block) override;
  void end_block(StreamId stream, std::span<const std::byte> block) override;
  void begin_instr(StreamId stream, std::uint32_t instr, const std::string& name) override;
  void begin_part() override { machine_->begin_part(); }
  void abandon() override { machine_->abandon(); }
  bool is_done(EventId event) override { return machine_->is_done(event); }
  void synchronize() override;
  void note_seen(EventId event) override;
  std::int64_t time_ns(EventId event) override { return machine_->time_ns(event); }
  StreamPlace place(StreamId stream) const override { return machine_->place(stream); }
  std::string description() const override { return machine_->description(); }

 private:
  std::unique_ptr<StreamMachine> machine_;
  StreamLog log_;
};

}  // namespace plumb
