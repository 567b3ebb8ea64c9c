#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/ground/units.hpp"

namespace plumb {

/// Pending events in order of time, then of slot. Every slot (a lane, a link) has at most one event, so that an event
/// can be moved, and nothing is allocated once the queue exists.
///
/// A 4-ary heap: taking the first event leaves its place open for the next one that is scheduled, which
/// mostly belongs to the same slot.
class EventQueue {
 public:
  struct Event {
    Ticks time = 0;
    std::uint32_t slot = 0;
  };

  explicit EventQueue(std::size_t slots) : place_(slots, kAbsent) { heap_.reserve(slots + 1); }

  /// Adds the slot's event, or moves the one it has.
  void schedule(std::uint32_t slot, Ticks time) {
    const Event event{time, slot};
    const std::size_t at = place_[slot];
    if (at != kAbsent) {
      const bool later = before(heap_[at], event);
      later ? sift_down(at, event) : sift_up(at, event);
    } else if (hole_) {
      hole_ = false;
      sift_down(0, event);
    } else {
      heap_.emplace_back();
      sift_up(heap_.size() - 1, event);
    }
  }

  bool empty() const { return heap_.size() == (hole_ ? 1U : 0U); }

  /// The first event. Must not be empty.
  const Event& first() {
    close_hole();
    return heap_.front();
  }

  /// Removes and returns the first event. Must not be empty.
  Event take() {
    close_hole();
    const Event event = heap_.front();
    place_[event.slot] = kAbsent;
    hole_ = true;
    return event;
  }

 private:
  static constexpr std::size_t kArity = 4;
  static constexpr std::uint32_t kAbsent = 0xFFFFFFFFU;

  static bool before(const Event& a, const Event& b) { return a.time != b.time ? a.time < b.time : a.slot < b.slot; }

  void put(std::size_t at, const Event& event) {
    heap_[at] = event;
    place_[event.slot] = static_cast<std::uint32_t>(at);
  }

  void close_hole() {
    if (!hole_) return;
    hole_ = false;
    const Event last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sift_down(0, last);
  }

  void sift_up(std::size_t at, const Event& event) {
    while (at > 0) {
      const std::size_t parent = (at - 1) / kArity;
      // While the root is a hole, nothing may be above it: the hole's old event is earlier than all others.
      if (!before(event, heap_[parent]) || (parent == 0 && hole_)) break;
      put(at, heap_[parent]);
      at = parent;
    }
    put(at, event);
  }

  void sift_down(std::size_t at, const Event& event) {
    const std::size_t size = heap_.size();
    for (;;) {
      const std::size_t first = at * kArity + 1;
      if (first >= size) break;
      std::size_t least = first;
      const std::size_t last = first + kArity < size ? first + kArity : size;
      for (std::size_t child = first + 1; child < last; ++child) {
        if (before(heap_[child], heap_[least])) least = child;
      }
      if (!before(heap_[least], event)) break;
      put(at, heap_[least]);
      at = least;
    }
    put(at, event);
  }

  std::vector<Event> heap_;
  std::vector<std::uint32_t> place_;  ///< by slot: where its event stands in the heap
  bool hole_ = false;                 ///< the root has been taken and not been filled
};

}  // namespace plumb
