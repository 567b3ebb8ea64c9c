#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "trainer/streams/stream_machine.hpp"

namespace plumb {

/// Small pieces of memory that the host and a device both access. All are released together by `forget`.
class SharedScratch {
 public:
  explicit SharedScratch(StreamMachine& machine) : machine_(machine) {}
  SharedScratch(const SharedScratch&) = delete;
  SharedScratch& operator=(const SharedScratch&) = delete;
  ~SharedScratch() {
    for (const Chunk& chunk : chunks_) machine_.free_shared(chunk.data);
  }

  /// 64-byte aligned.
  std::byte* take(std::int64_t bytes) {
    const std::int64_t room = (bytes + 63) / 64 * 64;
    while (current_ < chunks_.size() && used_ + room > chunks_[current_].bytes) {
      ++current_;
      used_ = 0;
    }
    if (current_ == chunks_.size()) {
      const std::int64_t size = std::max(kChunkBytes, room);
      chunks_.push_back({machine_.allocate_shared(size), size});
    }
    std::byte* data = chunks_[current_].data + used_;
    used_ += room;
    return data;
  }

  /// Returns a copy of `values`; null when there are none.
  template <class T>
  const T* put(const std::vector<T>& values) {
    if (values.empty()) return nullptr;
    const std::span<const std::byte> bytes = std::as_bytes(std::span(values));
    std::byte* data = take(static_cast<std::int64_t>(bytes.size()));
    std::memcpy(data, bytes.data(), bytes.size());
    return reinterpret_cast<const T*>(data);
  }

  void forget() {
    current_ = 0;
    used_ = 0;
  }

 private:
  static constexpr std::int64_t kChunkBytes = 1 << 20;
  struct Chunk {
    std::byte* data = nullptr;
    std::int64_t bytes = 0;
  };

  StreamMachine& machine_;
  std::vector<Chunk> chunks_;
  std::size_t current_ = 0;
  std::int64_t used_ = 0;
};

}  // namespace plumb
