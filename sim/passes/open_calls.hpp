#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "models/ground/units.hpp"

namespace plumb {

/// Calls that send, of which one pass cannot say yet how long they take: `send_posted` where the receive was posted
/// before the call begins, otherwise `send` (sim/SPECIFICATION.md, §5.7), and the receiver's lane has not come so far.
/// The sender's lane hangs on the post of the receive; a lane has one open call at most.
///
/// ### The answer when no lane can go on
/// Let T be the earliest begin of an open call. Then nothing that is still to come happens before T, so its receive is
/// not posted before T, and the call takes `send`. For every lane has ended, or has an open call and a clock that
/// shows T or more, or hangs on some other moment that is not known. Such a moment becomes known by what a lane does
/// (it ends a unit, offers a message, posts a receive), and by the rules of §5 and §6 is a latest of moments plus
/// times of at least 0, what the lane does then being one of these: it is not before the lane's clock. The first lane
/// that goes on is one with an open call, at T or later; so what it makes known is at T or later, the lanes that hang
/// on this go on at T or later, and so forth. A receive that is posted at T itself counts as not posted before T, so
/// times of 0 do no harm.
///
/// This needs lanes that go as far as they can: one that was stopped on its way could still post earlier than T.
class OpenCalls {
 public:
  explicit OpenCalls(std::size_t lanes) : begin_(lanes, kNone), listed_(lanes, false) {}

  /// The lane's call begins at `begin`, which is not before that of its last open call.
  void open(std::uint32_t lane, Ticks begin) {
    begin_[lane] = begin;
    if (!listed_[lane]) list(lane);
  }

  /// The receive of the lane's call was posted; nothing where the lane has no open call.
  void close(std::uint32_t lane) { begin_[lane] = kNone; }

  /// Closes the open call that begins first, and returns its lane; nothing where no call is open.
  std::optional<std::uint32_t> take_earliest() {
    while (!heap_.empty()) {
      std::ranges::pop_heap(heap_, std::greater());
      const auto [begin, lane] = heap_.back();
      heap_.pop_back();
      listed_[lane] = false;
      if (begin_[lane] == begin) {
        begin_[lane] = kNone;
        return lane;
      }
      if (begin_[lane] != kNone) list(lane);
    }
    return std::nullopt;
  }

 private:
  static constexpr Ticks kNone = -1;

  void list(std::uint32_t lane) {
    heap_.emplace_back(begin_[lane], lane);
    std::ranges::push_heap(heap_, std::greater());
    listed_[lane] = true;
  }

  std::vector<Ticks> begin_;  ///< by lane: of its open call
  std::vector<bool> listed_;  ///< by lane: it stands in the heap, with the begin of this open call or of an earlier one
  std::vector<std::pair<Ticks, std::uint32_t>> heap_;
};

}  // namespace plumb
