#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "tests/support/drawn_shapes.hpp"

namespace plumb::testing {

/// The shortest makespan in whole units, by trying everything: in every unit of time any blocks that can may begin.
class StepwiseSearch {
 public:
  StepwiseSearch(const std::vector<ShapeWork>& works, const ShapePasses& passes, std::int64_t microbatches,
                 std::int64_t limit)
      : works_(works), microbatches_(microbatches), limit_(limit) {
    for (const ShapeWork& work : works) times_.push_back(work.shared() ? passes.shared_forward : passes.forward);
    for (const ShapeWork& work : works) times_.push_back(work.shared() ? passes.shared_backward : passes.backward);
  }

  Ticks shortest() {
    std::set<State> now{{std::vector<std::int64_t>(times_.size(), 0), std::vector<Ticks>(times_.size(), 0)}};
    for (Ticks time = 0;; ++time) {
      for (const State& state : now) {
        if (is_over(state)) return time;
      }
      next_.clear();
      for (const State& state : now) begin_from(state, 0);
      now = std::move(next_);
    }
  }

 private:
  /// By block (forwards, then backwards): how many have begun, and the time left of the one that runs.
  struct State {
    std::vector<std::int64_t> begun;
    std::vector<Ticks> left;

    friend auto operator<=>(const State&, const State&) = default;
  };

  const ShapeWork& work(std::size_t block) const { return works_[block % works_.size()]; }
  bool is_backward(std::size_t block) const { return block >= works_.size(); }
  static std::int64_t done(const State& state, std::size_t block) {
    return state.begun[block] - (state.left[block] > 0 ? 1 : 0);
  }

  bool is_over(const State& state) const {
    for (std::size_t b = 0; b < times_.size(); ++b) {
      if (done(state, b) < microbatches_) return false;
    }
    return true;
  }

  bool uses(std::size_t block, std::int32_t device) const {
    const std::vector<std::int32_t>& devices = work(block).devices;
    return std::find(devices.begin(), devices.end(), device) != devices.end();
  }

  bool may_begin(const State& state, std::size_t block) const {
    const std::int64_t k = state.begun[block];
    if (k == microbatches_) return false;
    const std::size_t half = works_.size();
    if (!is_backward(block)) {
      for (const std::size_t before : work(block).after) {
        if (done(state, before) <= k) return false;
      }
    } else {
      if (done(state, block - half) <= k) return false;
      for (std::size_t w = 0; w < half; ++w) {
        const auto& after = works_[w].after;
        const bool takes = std::find(after.begin(), after.end(), block - half) != after.end();
        if (takes && done(state, w + half) <= k) return false;
      }
    }
    for (const std::int32_t device : work(block).devices) {
      std::int64_t kept = 0;
      for (std::size_t other = 0; other < times_.size(); ++other) {
        if (!uses(other, device)) continue;
        if (state.left[other] > 0) return false;
        if (!work(other).shared()) kept += is_backward(other) ? -done(state, other) : state.begun[other];
      }
      if (!is_backward(block) && !work(block).shared() && kept >= limit_) return false;
    }
    return true;
  }

  /// With and without each block from `block` on that may begin.
  void begin_from(const State& state, std::size_t block) {
    if (block == times_.size()) {
      State later = state;
      for (Ticks& left : later.left) left = std::max<Ticks>(0, left - 1);
      next_.insert(std::move(later));
      return;
    }
    begin_from(state, block + 1);
    if (!may_begin(state, block)) return;
    State with = state;
    ++with.begun[block];
    with.left[block] = times_[block];
    begin_from(with, block + 1);
  }

  const std::vector<ShapeWork>& works_;
  std::int64_t microbatches_;
  std::int64_t limit_;
  std::vector<Ticks> times_;
  std::set<State> next_;
};

}  // namespace plumb::testing
