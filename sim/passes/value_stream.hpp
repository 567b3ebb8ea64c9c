#pragma once

#include <cstdint>
#include <memory>

#include "models/ground/units.hpp"

namespace plumb {

/// Moments that one lane gives and another one takes, in order. A few have room in the stream itself, one line of the
/// cache; more get a ring of their own, which goes when it is empty.
class alignas(64) ValueStream {
 public:
  bool empty() const { return head_ == tail_; }

  void push(Ticks moment) {
    if (tail_ - head_ == size_) [[unlikely]]
      grow();
    slots()[tail_++ & (size_ - 1)] = moment;
  }

  /// Requires that there is one.
  Ticks pop() {
    const Ticks moment = slots()[head_++ & (size_ - 1)];
    if (size_ > kLargestKept && empty()) [[unlikely]]
      shrink();
    return moment;
  }

  std::uint32_t taker = 0;  ///< the lane that takes
  bool awaited = false;     ///< it has stopped because the stream is empty
  bool stays = false;       ///< the lane that gives is the same

 private:
  static constexpr std::uint32_t kInside = 4;
  static constexpr std::uint32_t kLargestKept = 64;

  Ticks* slots() { return size_ == kInside ? inside_ : ring_.get(); }

  void grow() {
    auto larger = std::make_unique<Ticks[]>(2 * std::size_t{size_});
    for (std::uint32_t at = head_; at != tail_; ++at) larger[at & (2 * size_ - 1)] = slots()[at & (size_ - 1)];
    ring_ = std::move(larger);
    size_ *= 2;
  }

  void shrink() {
    ring_.reset();
    size_ = kInside;
  }

  std::uint32_t head_ = 0;  ///< counts what was taken; both wrap around
  std::uint32_t tail_ = 0;  ///< counts what was given
  std::uint32_t size_ = kInside;
  std::unique_ptr<Ticks[]> ring_;
  Ticks inside_[kInside]{};
};

static_assert(sizeof(ValueStream) == 64);

}  // namespace plumb
