#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "schedules/document/schedule.hpp"
#include "schedules/document/schedule_io.hpp"
#include "sim/timeline/timeline.hpp"

// Tessel's shapes once more, as they are drawn and not as documents: what tests hold orders and documents against.

namespace plumb::testing {

/// A forward of a shape, and which it follows.
struct ShapeWork {
  std::vector<std::int32_t> devices;
  std::vector<std::size_t> after;

  bool shared() const { return devices.size() > 1; }
};

/// The forwards of one microbatch; backwards are their mirror image.
inline std::vector<ShapeWork> drawn_shape(const std::string& shape, std::int32_t p) {
  std::vector<std::int32_t> all;
  for (std::int32_t d = 0; d < p; ++d) all.push_back(d);
  std::vector<ShapeWork> works;
  const auto down = [&](std::int32_t from, std::int32_t to, std::vector<std::size_t> after) {
    for (std::int32_t d = from; d != to; d += from < to ? 1 : -1) {
      works.push_back({{d}, after});
      after = {works.size() - 1};
    }
  };
  if (shape == "m" || shape == "nn" || shape == "interlaced") works.push_back({all, {}});
  const bool begins = !works.empty();
  if (shape == "nn") {
    down(0, p / 2, {0});
    works.push_back({all, {works.size() - 1}});
    down(p / 2, p, {works.size() - 1});
  } else if (shape == "k") {
    down(0, p / 2, {});
    const std::size_t one = works.size() - 1;
    down(p / 2, p, {});
    works.push_back({all, {one, works.size() - 1}});
  } else {
    down(0, p, begins ? std::vector<std::size_t>{0} : std::vector<std::size_t>{});
    if (shape == "x") down(p - 1, -1, {});
    if (shape == "interlaced") works.push_back({all, {works.size() - 1}});
  }
  return works;
}

/// Times of passes, in the units of a timeline.
struct ShapePasses {
  Ticks forward = 0;
  Ticks backward = 0;
  Ticks shared_forward = 0;
  Ticks shared_backward = 0;
};

/// Checks the spans of a run against the drawing, pass by pass.
class ShapeRules {
 public:
  ShapeRules(const std::vector<ShapeWork>& works, const ShapePasses& passes, std::int64_t microbatches)
      : works_(works), passes_(passes), microbatches_(microbatches) {}

  /// Every pass once and as long as it should be, inputs before it, shares of a block together, nothing at once on a
  /// device, and at most `limit` passes of stages of one device between the start of F and the end of B.
  void check(const Schedule& schedule, const Timeline& timeline, std::int64_t limit) {
    read(schedule, timeline);
    for (std::size_t w = 0; w < works_.size(); ++w) {
      for (std::int64_t k = 0; k < microbatches_; ++k) check_work(w, k);
    }
    check_devices(timeline, limit);
  }

 private:
  struct Run {
    Ticks start = 0;
    Ticks end = 0;
    std::set<std::int32_t> devices;
  };
  struct Name {
    std::size_t work = 0;
    bool backward = false;
    std::int64_t microbatch = 0;

    friend auto operator<=>(const Name&, const Name&) = default;
  };

  void read(const Schedule& schedule, const Timeline& timeline) {
    std::vector<std::size_t> work_of;
    for (std::size_t w = 0; w < works_.size(); ++w) work_of.insert(work_of.end(), works_[w].devices.size(), w);
    REQUIRE(work_of.size() == static_cast<std::size_t>(schedule.num_stages));
    for (const Span& span : timeline.spans) {
      if (span.lane != Lane::kCompute || span.action.op > Op::kB) continue;
      const Name name{work_of[index(span.action.stage)], span.action.op == Op::kB,
                      static_cast<std::int64_t>(span.action.microbatch)};
      const auto [at, is_new] = runs_.emplace(name, Run{span.start, span.end, {}});
      CAPTURE(to_string(span.action));
      CHECK(at->second.start == span.start);
      CHECK(at->second.end == span.end);
      CHECK(at->second.devices.insert(static_cast<std::int32_t>(span.device)).second);
    }
    CHECK(runs_.size() == works_.size() * 2 * static_cast<std::size_t>(microbatches_));
  }

  void check_work(std::size_t w, std::int64_t k) {
    const ShapeWork& work = works_[w];
    const Run& forward = runs_[{w, false, k}];
    const Run& backward = runs_[{w, true, k}];
    const std::set<std::int32_t> devices(work.devices.begin(), work.devices.end());
    CHECK(forward.devices == devices);
    CHECK(backward.devices == devices);
    CHECK(forward.end - forward.start == (work.shared() ? passes_.shared_forward : passes_.forward));
    CHECK(backward.end - backward.start == (work.shared() ? passes_.shared_backward : passes_.backward));
    CHECK(backward.start >= forward.end);
    for (const std::size_t before : work.after) {
      CHECK(forward.start >= runs_[{before, false, k}].end);
      CHECK(runs_[{before, true, k}].start >= backward.end);
    }
  }

  void check_devices(const Timeline& timeline, std::int64_t limit) {
    for (std::size_t d = 0; d < timeline.devices.size(); ++d) {
      std::map<Ticks, std::int64_t> busy;
      std::map<Ticks, std::int64_t> kept;  // what begins at a moment counts behind what ends there
      for (const auto& [name, run] : runs_) {
        if (!run.devices.contains(static_cast<std::int32_t>(d))) continue;
        ++busy[run.start];
        --busy[run.end];
        if (works_[name.work].shared()) continue;
        ++kept[name.backward ? run.end : run.start];
        if (name.backward) kept[run.end] -= 2;
      }
      CHECK(most_of(busy) == 1);
      CHECK(most_of(kept) <= limit);
    }
  }

  static std::int64_t most_of(const std::map<Ticks, std::int64_t>& changes) {
    std::int64_t now = 0;
    std::int64_t most = 0;
    for (const auto& [at, change] : changes) most = std::max(most, now += change);
    return most;
  }

  const std::vector<ShapeWork>& works_;
  ShapePasses passes_;
  std::int64_t microbatches_;
  std::map<Name, Run> runs_;
};

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
