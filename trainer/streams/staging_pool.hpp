#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "trainer/streams/stream_order.hpp"

namespace plumb {

/// A buffer of a device outside of its arena, like those of a communication library, and the events that must be done
/// before it is written again.
struct Staging {
  DeviceId device{};
  std::int64_t bytes = 0;
  std::byte* data = nullptr;
  std::vector<EventId> free_after;

  std::span<std::byte> span() const { return {data, static_cast<std::size_t>(bytes)}; }
};

/// Keeps buffers for reuse, by device and size.
class StagingPool {
 public:
  explicit StagingPool(StreamMachine& machine) : machine_(machine) {}
  StagingPool(const StagingPool&) = delete;
  StagingPool& operator=(const StagingPool&) = delete;
  ~StagingPool() {
    for (const Staging& buffer : all_) machine_.free(buffer.device, buffer.data);
  }

  Staging take(DeviceId device, std::int64_t bytes) {
    std::vector<Staging>& same = free_[{device, bytes}];
    if (same.empty()) return all_.emplace_back(Staging{device, bytes, machine_.allocate(device, bytes), {}});
    Staging buffer = std::move(same.back());
    same.pop_back();
    return buffer;
  }
  /// The next user of the buffer must wait for the events `uses`.
  void give_back(Staging buffer, std::vector<EventId> uses) {
    buffer.free_after = std::move(uses);
    free_[{buffer.device, buffer.bytes}].push_back(std::move(buffer));
  }
  /// Call after the machine has been synchronized: all uses are done.
  void restart() {
    for (auto& [key, buffers] : free_) {
      for (Staging& buffer : buffers) buffer.free_after.clear();
    }
  }

 private:
  StreamMachine& machine_;
  std::vector<Staging> all_;
  std::map<std::pair<DeviceId, std::int64_t>, std::vector<Staging>> free_;
};

}  // namespace plumb
