#include "tools/reports/picture.hpp"

#include <doctest/doctest.h>

#include "tests/support/synthetic_timeline.hpp"

TEST_SUITE_BEGIN("tools");

namespace plumb {
namespace {

using testing::synthetic_timeline;

Action forward(int stage, int microbatch) {
  return {.stage = StageId(stage), .microbatch = MicrobatchId(microbatch), .op = Op::kF};
}

Span compute(int device, const Action& action, Ticks start, Ticks end, IdleCause cause = IdleCause::kCompute) {
  return {.action = action, .device = DeviceId(device), .waited_for = cause, .start = start, .end = end};
}

Span send(int device, const Action& action, Ticks start, Ticks end) {
  Action sent = action;
  sent.op = Op::kSendF;
  return {.action = sent, .device = DeviceId(device), .lane = Lane::kTransfer, .start = start, .end = end};
}

Timeline with_spans(std::size_t devices, Ticks makespan, std::vector<Span> spans) {
  Timeline timeline;
  timeline.devices.resize(devices);
  timeline.makespan = makespan;
  timeline.spans = std::move(spans);
  return timeline;
}

TEST_CASE("transfers that run at the same time stand on different rows") {
  const Timeline timeline =
      with_spans(1, 10, {send(0, forward(0, 0), 0, 4), send(0, forward(0, 1), 2, 6), send(0, forward(0, 2), 4, 8)});
  const std::vector<PictureRow> rows = picture_rows(timeline);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].overflow == 0);
  CHECK(rows[0].spans ==
        std::vector<PictureSpan>{{.span = 0, .start = 0, .end = 4}, {.span = 2, .start = 4, .end = 8}});
  CHECK(rows[1].overflow == 1);
  CHECK(rows[1].spans == std::vector<PictureSpan>{{.span = 1, .start = 2, .end = 6}});
}

TEST_CASE("a device of which nothing is known is not drawn as idle") {
  Timeline timeline = with_spans(2, 10, {compute(0, forward(0, 0), 0, 10)});
  REQUIRE(idle_gaps(timeline).size() == 1);
  timeline.devices[1].known = false;
  CHECK(idle_gaps(timeline).empty());
}

TEST_CASE("the halves of an overlapped pair share the interval of the pair") {
  Action first = forward(0, 1);
  first.overlaps_next = 1;
  Action second = forward(1, 0);
  second.op = Op::kB;
  const Timeline timeline =
      with_spans(1, 9, {compute(0, first, 2, 8), compute(0, second, 8, 8), compute(0, forward(0, 2), 8, 9)});
  const std::vector<PictureRow> rows = picture_rows(timeline);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].spans.at(0) == PictureSpan{.span = 0, .start = 2, .end = 8, .part = PictureSpan::Part::kUpperHalf});
  CHECK(rows[1].spans.at(0) == PictureSpan{.span = 1, .start = 2, .end = 8, .part = PictureSpan::Part::kLowerHalf});
  CHECK(rows[0].spans.at(1).part == PictureSpan::Part::kWhole);
}

TEST_CASE("gaps are warm-up before the first action, the action's cause between, drain after the last") {
  const Timeline timeline =
      with_spans(2, 20,
                 {compute(0, forward(0, 0), 3, 5, IdleCause::kTransferQueue),
                  compute(0, forward(0, 1), 9, 12, IdleCause::kTransferQueue), compute(1, forward(1, 0), 0, 20)});
  CHECK(idle_gaps(timeline) == std::vector<IdleGap>{{DeviceId(0), 0, 3, IdleCause::kWarmup},
                                                    {DeviceId(0), 5, 9, IdleCause::kTransferQueue},
                                                    {DeviceId(0), 12, 20, IdleCause::kDrain}});
}

TEST_CASE("the gaps of a device add up to its idle time") {
  const Timeline timeline = synthetic_timeline({.devices = 5, .microbatches = 7, .transfer_ns = 300, .noise = 0.3});
  std::vector<Ticks> idle(5, 0);
  for (const IdleGap& gap : idle_gaps(timeline)) idle[index(gap.device)] += gap.end - gap.start;
  for (std::size_t d = 0; d < 5; ++d) {
    CAPTURE(d);
    CHECK(idle[d] == timeline.devices[d].idle);
  }
}

TEST_CASE("a value travels from its maker over its message to its reader") {
  const Timeline timeline = with_spans(
      2, 20, {compute(0, forward(0, 0), 0, 5), send(0, forward(0, 0), 5, 7), compute(1, forward(1, 0), 7, 12)});
  CHECK(picture_arrows(timeline) == std::vector<PictureArrow>{{0, 1}, {1, 2}});
}

TEST_CASE("without messages an arrow joins the two actions, and none joins actions of one device") {
  const Timeline timeline = with_spans(
      2, 20, {compute(0, forward(0, 0), 0, 5), compute(0, forward(1, 0), 5, 6), compute(1, forward(2, 0), 6, 9)});
  CHECK(picture_arrows(timeline) == std::vector<PictureArrow>{{1, 2}});
}

TEST_CASE("gradients travel down the stages: every backward but the last stage's has one arrow") {
  const Timeline timeline = synthetic_timeline({.devices = 3, .microbatches = 2});
  int backward = 0;
  for (const PictureArrow& arrow : picture_arrows(timeline)) {
    const Action& to = timeline.spans[arrow.to].action;
    const Action& from = timeline.spans[arrow.from].action;
    CHECK(to.microbatch == from.microbatch);
    if (to.op != Op::kB) continue;
    ++backward;
    CHECK(index(from.stage) == index(to.stage) + 1);
  }
  CHECK(backward == 4);
}

TEST_CASE("labels name op, stage, microbatches, slice and replica") {
  CHECK(action_label(forward(3, 7)) == "F s3 m7");
  Action action = forward(0, 4);
  action.merged = 1;
  action.slice = 2;
  action.replica = ReplicaId{1};
  CHECK(action_label(action) == "F s0 m4+5.2 r1");
  CHECK(action_label({.stage = StageId{2}, .microbatch = MicrobatchId{1}, .op = Op::kU}) == "U s2 #1");
  CHECK(action_label({.stage = StageId{2}, .microbatch = MicrobatchId{-1}, .op = Op::kReduceGrad}) == "REDUCE_GRAD s2");
}

}  // namespace
}  // namespace plumb

TEST_SUITE_END();
