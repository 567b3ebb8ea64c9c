#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include <doctest/doctest.h>

#include "schedules/document/schedule.hpp"
#include "schedules/document/schedule_io.hpp"
#include "sim/timeline/timeline.hpp"
#include "tests/support/drawn_shapes.hpp"

namespace plumb::testing {

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

}  // namespace plumb::testing
