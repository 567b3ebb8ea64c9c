#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "trainer/streams/stream_machine.hpp"

namespace plumb {

/// Streams of the host's own arithmetic and memory. A derived class decides in `enqueue` when and where work is done.
class HostStreams : public StreamMachine {
 public:
  using Add = void (*)(NumberType type, std::span<std::byte> sum, std::span<const std::byte> term);
  explicit HostStreams(Add by) : add_(by) {}

  void launch(StreamId stream, Work work) override { enqueue(stream, std::move(work.run)); }
  void fill(StreamId stream, std::span<std::byte> bytes, std::byte value) override;
  void copy(StreamId stream, std::byte* to, std::span<const std::byte> from) override;
  void send(StreamId stream, DeviceId, std::byte* to, std::span<const std::byte> from) override {
    copy(stream, to, from);
  }
  void add(StreamId stream, NumberType type, std::span<std::byte> sum, std::span<const std::byte> term) override;
  std::byte* allocate(DeviceId, std::int64_t bytes) override { return host_memory().reserve(bytes); }
  void free(DeviceId, std::byte* storage) override { host_memory().give_back(storage); }
  std::byte* allocate_shared(std::int64_t bytes) override { return host_memory().reserve(bytes); }
  void free_shared(std::byte* storage) override { host_memory().give_back(storage); }
  bool host_reads_devices() const override { return true; }
  std::string description() const override;

 protected:
  virtual void enqueue(StreamId stream, std::function<void()> task) = 0;

 private:
  Add add_;
};

/// Streams with one thread each, so that work which no event orders is really done in any order.
std::unique_ptr<StreamMachine> thread_streams(HostStreams::Add by);

}  // namespace plumb
