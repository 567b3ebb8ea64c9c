#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "models/costs/memory_class.hpp"
#include "trainer/memory/device_memory.hpp"

namespace plumb {

class Arena;

/// A piece of a device's memory, returned to its arena when the block is destroyed. An empty block (no bytes) is valid
/// and has no data.
class Block {
 public:
  Block() = default;
  Block(Block&& other) noexcept { swap(other); }
  Block& operator=(Block&& other) noexcept {
    Block(std::move(other)).swap(*this);
    return *this;
  }
  ~Block();

  std::byte* data() const { return data_; }      ///< 64-byte aligned
  std::int64_t bytes() const { return bytes_; }  ///< as counted
  MemoryClass memory_class() const { return class_; }
  std::span<std::byte> span() const { return {data_, static_cast<std::size_t>(bytes_)}; }

  /// Counts the block under another class from now on (a received input becomes a kept one).
  void move_to(MemoryClass cls);
  void swap(Block& other) noexcept;
  /// Exchanges the storage with a block of the same size, perhaps of another arena of the same memory; both stay
  /// counted where they are. Returns false, and does nothing, where that is not possible.
  bool trade_storage(Block& other) noexcept;

 private:
  friend class Arena;
  Arena* arena_ = nullptr;
  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
  std::int64_t storage_ = 0;
  std::int32_t lane_ = -1;
  MemoryClass class_{};
};

/// A change of one class: the bytes alive after it.
struct ArenaEvent {
  MemoryClass cls{};
  std::int64_t live_bytes = 0;

  friend bool operator==(const ArenaEvent&, const ArenaEvent&) = default;
};

/// The memory of one virtual device. It counts every byte by class and keeps the freed storage for the next block of
/// the same size, so that a running pipeline asks nothing from the operating system.
///
/// Counted are the bytes asked for; alignment gaps between the tensors of one block and storage waiting for reuse are
/// not. Not counted either, because they belong to the process and not to the model: the packing buffers inside Eigen's
/// matrix products (a few cache-sized panels per thread). Blocks must not outlive their arena. One thread at a time.
class Arena {
 public:
  struct Options {
    bool log_events = false;
    bool poison = false;             ///< fill new and freed blocks with bytes that are NaN in float and double (tests)
    DeviceMemory* memory = nullptr;  ///< where storage comes from; outlives the arena; null: the host's
  };

  Arena() : Arena(Options{}) {}
  explicit Arena(Options options)
      : options_(options), memory_(options.memory == nullptr ? &host_memory() : options.memory) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  /// `storage` is the room needed with alignment gaps; as large as `bytes` when smaller.
  Block allocate(MemoryClass cls, std::int64_t bytes, std::int64_t storage = 0);

  /// While it lives, the arena's blocks are those of a microbatch; no more than one at a time. They come from a lane of
  /// storage of their own, which is lent again when all of them are back. Where the pipeline never runs empty, stashes
  /// and messages, which live for different times, would otherwise mix and hardly ever meet again; in lanes a
  /// microbatch finds the addresses of the one before it in its lane. Storage in lanes waits where it would have been
  /// shared.
  class Lent {
   public:
    Lent(Arena& arena, std::int32_t microbatch) : arena_(arena) { arena_.lane_ = arena_.lane_of(microbatch); }
    ~Lent() { arena_.lane_ = kNoLane; }
    Lent(const Lent&) = delete;
    Lent& operator=(const Lent&) = delete;

   private:
    Arena& arena_;
  };

  /// Returns what the blocks are pieces of.
  DeviceMemory& memory() const { return *memory_; }

  const MemoryByClass& live() const { return live_; }
  std::int64_t live_bytes() const { return total_; }
  std::int64_t peak_bytes() const { return peak_; }
  /// Returns the bytes by class when the total first reached its peak.
  const MemoryByClass& at_peak() const { return at_peak_; }
  /// Storage held from the memory.
  std::int64_t reserved_bytes() const { return reserved_; }

  /// Returns the changes since the last call, in order; empty unless `log_events`.
  std::vector<ArenaEvent> take_events() { return std::exchange(events_, {}); }

 private:
  friend class Block;
  void change(MemoryClass cls, std::int64_t bytes);
  void release(Block& block);
  std::byte* take_storage(std::int64_t storage);
  std::int32_t lane_of(std::int32_t microbatch);

  static constexpr std::int32_t kNoLane = -1;
  struct Lane {
    std::int32_t microbatch = -1;
    std::int64_t blocks = 0;  ///< number of blocks that are lent
  };

  Options options_;
  DeviceMemory* memory_;
  MemoryByClass live_{};
  MemoryByClass at_peak_{};
  std::int64_t total_ = 0;
  std::int64_t peak_ = 0;
  std::int64_t reserved_ = 0;
  std::vector<Lane> lanes_;
  std::int32_t lane_ = kNoLane;  ///< lane of the blocks that are asked for
  /// By storage size and lane, as heaps: the lowest address is used first, so that equal updates get equal addresses,
  /// which is what lets their passes be replayed.
  std::map<std::pair<std::int64_t, std::int32_t>, std::vector<std::byte*>> free_;
  std::vector<ArenaEvent> events_;
};

}  // namespace plumb
