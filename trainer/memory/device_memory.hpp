#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace plumb {

/// The memory of a device, as the thread that issues its work sees it. Everything happens in the order of the device's
/// work, which may run later than that thread; only `view`, `write` and `wait` wait for it.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;

  /// Storage of `bytes`, at least 64-byte aligned.
  virtual std::byte* reserve(std::int64_t bytes) = 0;
  virtual void give_back(std::byte* storage) = 0;

  virtual void fill(std::span<std::byte> bytes, std::byte value) = 0;
  /// Either side may also be memory of the host, which must stay as it is until the work is done.
  virtual void copy(std::byte* to, std::span<const std::byte> from) = 0;

  /// Returns the host's copy of `from`: `scratch`, or `from` itself where the host can read it.
  virtual std::span<const std::byte> view(std::span<const std::byte> from, std::vector<std::byte>& scratch) = 0;
  virtual void write(std::byte* to, std::span<const std::byte> from) = 0;
  virtual void wait() {}

  /// A block of an arena begins or ends here: it must not be accessed before or after (for checks of the order).
  virtual void begin_block(std::span<const std::byte>) {}
  virtual void end_block(std::span<const std::byte>) {}
};

/// Memory of a device that no arena counts, for the lifetime of this object.
class LentMemory {
 public:
  LentMemory(DeviceMemory& memory, std::int64_t bytes)
      : memory_(memory), storage_(memory.reserve(bytes)), bytes_(static_cast<std::size_t>(bytes)) {}
  LentMemory(const LentMemory&) = delete;
  LentMemory& operator=(const LentMemory&) = delete;
  ~LentMemory() { memory_.give_back(storage_); }

  std::span<std::byte> span() const { return {storage_, bytes_}; }

 private:
  DeviceMemory& memory_;
  std::byte* storage_;
  std::size_t bytes_;
};

/// Returns the memory of the host, where every operation is done when its call returns.
DeviceMemory& host_memory();

}  // namespace plumb
