#include "sim/contention_fit/overlap.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <random>
#include <vector>

#include "sim/rules/load_kinds.hpp"

TEST_SUITE_BEGIN("sim");

namespace plumb::testing {
namespace {

std::int64_t within(std::mt19937& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
}

/// Three devices with work one after another, some of it in pairs, messages between them, and collectives.
Timeline drawn_run(std::mt19937& random) {
  Timeline timeline;
  timeline.base.ticks_per_ns = 2;
  timeline.updates = 2;
  timeline.num_microbatches = 6;
  timeline.devices.resize(3);
  constexpr Op kOps[] = {Op::kF, Op::kB, Op::kI, Op::kW, Op::kR, Op::kU, Op::kX};
  for (std::int32_t device = 0; device < 3; ++device) {
    Ticks at = within(random, 0, 4);
    for (std::int64_t k = within(random, 2, 6); k > 0; --k) {
      Span span;
      span.device = DeviceId{device};
      span.action.stage = StageId{device};
      span.action.op = kOps[static_cast<std::size_t>(within(random, 0, 6))];
      span.action.microbatch =
          MicrobatchId{static_cast<std::int32_t>(within(random, 0, span.action.op == Op::kU ? 1 : 5))};
      span.start = at;
      span.end = at + within(random, 0, 6);
      at = span.end + within(random, 0, 3);
      timeline.spans.push_back(span);
      if (within(random, 0, 3) > 0) continue;
      timeline.spans.back().action.overlaps_next = 1;
      span.action.op = Op::kB;  // the other half, which is none of its own
      timeline.spans.push_back(span);
    }
    for (std::int64_t k = within(random, 0, 3); k > 0; --k) {
      Span span;
      span.device = DeviceId{device};
      span.lane = within(random, 0, 2) == 0 ? Lane::kCollective : Lane::kTransfer;
      span.action.op = span.lane == Lane::kCollective ? Op::kReduceGrad : Op::kSendF;
      span.action.where = static_cast<std::int16_t>(within(random, 0, 3));  // of three, one is elsewhere
      span.start = within(random, 0, 20);
      span.end = span.start + within(random, 0, 8);
      timeline.spans.push_back(span);
    }
  }
  return timeline;
}

/// Whether a span is an action: of the compute lane, with some length, and not the second half of a pair.
bool is_action(const Timeline& timeline, std::size_t s) {
  const Span& span = timeline.spans[s];
  const bool second =
      s > 0 && timeline.spans[s - 1].action.overlaps_next != 0 && timeline.spans[s - 1].device == span.device;
  return span.lane == Lane::kCompute && span.start < span.end && !second;
}

Load load_at(const Timeline& timeline, std::size_t s) {
  const Action& action = timeline.spans[s].action;
  return action.overlaps_next != 0 ? Load::kPair : *load_of(action.op);
}

/// What is under way beside action `s` from `from` on.
OverlapInterval beside(const Timeline& timeline, std::size_t s, Ticks from) {
  OverlapInterval found;
  const DeviceId own = timeline.spans[s].device;
  for (std::size_t o = 0; o < timeline.spans.size(); ++o) {
    const Span& other = timeline.spans[o];
    if (o == s || other.start > from || other.end <= from) continue;
    if (is_action(timeline, o)) ++found.others[static_cast<std::size_t>(load_at(timeline, o))];
    if (other.lane == Lane::kCollective && other.device == own) ++found.collectives;
    const bool to_own = other.action.where == static_cast<std::int32_t>(own);
    if (other.lane == Lane::kTransfer && (other.device == own || to_own)) ++found.messages;
  }
  return found;
}

}  // namespace

TEST_CASE("beside every action stands what is under way, from one begin or end of anything to the next") {
  std::mt19937 random(111);
  std::size_t actions = 0;
  std::size_t alone = 0;
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    const Timeline timeline = drawn_run(random);
    const Overlap overlap = overlap_of(timeline);
    std::vector<Ticks> moments;
    for (std::size_t s = 0; s < timeline.spans.size(); ++s) {
      const Span& span = timeline.spans[s];
      if (span.start == span.end || (span.lane == Lane::kCompute && !is_action(timeline, s))) continue;
      moments.insert(moments.end(), {span.start, span.end});
    }
    moments.push_back(0);
    std::ranges::sort(moments);
    moments.erase(std::unique(moments.begin(), moments.end()), moments.end());
    REQUIRE(overlap.steps.size() + 1 == moments.size());
    std::size_t number = 0;
    for (std::size_t s = 0; s < timeline.spans.size(); ++s) {
      if (!is_action(timeline, s)) continue;
      REQUIRE(number < overlap.actions.size());
      const OverlappedAction& action = overlap.actions[number++];
      const Span& span = timeline.spans[s];
      CHECK(action.device == span.device);
      CHECK(action.stage == span.action.stage);
      CHECK(action.kind == load_at(timeline, s));
      CHECK(action.ns == static_cast<double>(span.end - span.start) / 2);
      const auto microbatch = static_cast<std::int64_t>(span.action.microbatch);
      CHECK(action.update == (action.kind == Load::kU ? microbatch : microbatch / 3));
      std::size_t at = action.first;
      for (std::size_t k = 0; k + 1 < moments.size(); ++k) {
        if (moments[k] < span.start || moments[k] >= span.end) continue;
        REQUIRE(at < action.end);
        const OverlapInterval expected = beside(timeline, s, moments[k]);
        const OverlapInterval& found = overlap.intervals[at++];
        CHECK(found.ns == static_cast<double>(moments[k + 1] - moments[k]) / 2);
        CHECK(found.step == k);
        CHECK(found.others == expected.others);
        CHECK(found.messages == expected.messages);
        CHECK(found.collectives == expected.collectives);
        CHECK(found.alone() == (expected.messages + expected.collectives == 0 &&
                                std::ranges::count(expected.others, 0) == std::ssize(expected.others)));
        alone += found.alone() ? 1 : 0;
      }
      CHECK(at == action.end);
      ++actions;
    }
    CHECK(number == overlap.actions.size());
    for (std::size_t k = 0; k < overlap.steps.size(); ++k) {
      std::int64_t active = 0;
      for (std::size_t s = 0; s < timeline.spans.size(); ++s) {
        const Span& span = timeline.spans[s];
        active += is_action(timeline, s) && span.start <= moments[k] && span.end > moments[k] ? 1 : 0;
      }
      CHECK(overlap.steps[k].active == active);
      CHECK(overlap.steps[k].ns == static_cast<double>(moments[k + 1] - moments[k]) / 2);
    }
  }
  CHECK(actions > 300);
  CHECK(alone > 10);
}

}  // namespace plumb::testing

TEST_SUITE_END();
