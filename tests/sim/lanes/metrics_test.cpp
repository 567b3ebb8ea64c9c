#include "sim/lanes/metrics.hpp"

#include <doctest/doctest.h>

#include "tests/support/simulated.hpp"

TEST_SUITE_BEGIN("sim");

namespace plumb {
namespace {

/// Two devices of 10 ticks; device 0 works [0, 6), one of them recompute, device 1 [2, 10) with a gap of 4.
Timeline two_device_timeline() {
  Timeline timeline;
  timeline.makespan = 10;
  timeline.num_microbatches = 4;
  timeline.devices.resize(2);
  const auto set = [](DeviceSummary& device, Ticks busy, Ticks useful, Ticks first_start, Ticks last_end) {
    device.busy = busy;
    device.useful = useful;
    device.first_start = first_start;
    device.last_end = last_end;
  };
  set(timeline.devices[0], 6, 5, 0, 6);
  set(timeline.devices[1], 4, 4, 2, 10);
  return timeline;
}

/// Marks of one device, 5 ticks useful in each interval.
void add_marks(std::vector<UpdateMark>& marks, std::int32_t device, const std::vector<Ticks>& ends,
               std::size_t steady) {
  for (std::size_t u = 0; u < ends.size(); ++u) {
    marks.push_back({.device = DeviceId{device},
                     .update = static_cast<std::int64_t>(u),
                     .end = ends[u],
                     .useful = static_cast<Ticks>(5 * u),
                     .made = static_cast<std::int64_t>(u) + 1,
                     .forward_ahead = u < steady});
  }
}

}  // namespace

TEST_CASE("§9.1: figures of two hand-made devices follow their definitions") {
  Timeline timeline = two_device_timeline();
  fill_metrics(timeline, {}, false, {});
  CHECK(timeline.devices[0].idle == 4);
  CHECK(timeline.devices[1].idle == 6);
  CHECK(timeline.bubble_fraction == 0.5);
  CHECK(timeline.utilization == 0.45);
  CHECK(timeline.longest_device_span == 8);
  CHECK(timeline.bubble_rate == 0.25);  // 1 - 6 / 8
  CHECK(timeline.step_time == 10);
  CHECK_FALSE(timeline.samples_per_s.has_value());
  CHECK_FALSE(timeline.tokens_per_s.has_value());
  CHECK_FALSE(timeline.model_flops_utilization.has_value());
}

TEST_CASE(
    "§9.2: the step time is the mean time between the first and the last update, each done when its last stage is") {
  Timeline timeline = two_device_timeline();
  timeline.updates = 3;
  std::vector<UpdateMark> marks;
  add_marks(marks, 0, {2, 4, 6}, 0);
  add_marks(marks, 1, {5, 8, 10}, 0);
  fill_metrics(timeline, {}, false, marks);
  CHECK(timeline.step_time == 3);  // (10 - 5) / 2, halves up
}

TEST_CASE("throughput is that of one update per step time") {
  Timeline timeline = two_device_timeline();  // 4 microbatches in 10 ns
  const WorkUnits work{.samples_per_microbatch = 2,
                       .tokens_per_microbatch = 16,
                       .model_flops_per_microbatch = 30,
                       .peak_flops_per_s = 10e9};
  fill_metrics(timeline, work, false, {});
  CHECK(timeline.samples_per_s == doctest::Approx(0.8e9));
  CHECK(timeline.tokens_per_s == doctest::Approx(6.4e9));
  CHECK(timeline.model_flops_utilization == doctest::Approx(4 * 30 / (10e-9 * 2 * 10e9)));

  timeline.base.ticks_per_ns = 10;
  fill_metrics(timeline, work, false, {});
  CHECK(timeline.samples_per_s == doctest::Approx(8e9));
}

TEST_CASE("§9.2: utilization and step time without flushes count whole steady periods, neither fill nor drain") {
  Timeline timeline = two_device_timeline();
  timeline.updates = 7;
  std::vector<UpdateMark> marks;
  // Intervals 9, then 6 8 6 8 (a period of two updates), then the drain.
  add_marks(marks, 0, {10, 19, 25, 33, 39, 47, 90}, 6);
  add_marks(marks, 1, {12, 21, 27, 35, 41, 49, 99}, 6);
  fill_metrics(timeline, {}, true, marks);
  CHECK(timeline.utilization == doctest::Approx(4.0 * 5 / (6 + 8 + 6 + 8)));
  CHECK(timeline.step_time == 7);
  CHECK(timeline.steady);
  CHECK_FALSE(timeline.steady_updates.has_value());
  timeline.spans.resize(1);
  fill_metrics(timeline, {}, true, marks);
  CHECK(timeline.steady_updates == SteadyUpdates{DeviceId{0}, 1, 5});
}

TEST_CASE(
    "utilization and step time without flushes take all updates before the drain when nothing repeats, the whole run "
    "without two") {
  Timeline timeline = two_device_timeline();
  timeline.updates = 4;
  std::vector<UpdateMark> marks;
  add_marks(marks, 0, {10, 19, 25, 40}, 3);
  add_marks(marks, 1, {10, 17, 27, 44}, 3);
  fill_metrics(timeline, {}, true, marks);
  CHECK(timeline.utilization == doctest::Approx(20.0 / (15 + 17)));
  CHECK(timeline.step_time == 9);  // 17 / 2 of device 1, which takes longest

  marks.clear();
  add_marks(marks, 0, {10, 19}, 1);
  add_marks(marks, 1, {10, 17}, 1);
  timeline.steady = false;
  fill_metrics(timeline, {}, true, marks);
  CHECK(timeline.utilization == 0.45);
  CHECK(timeline.step_time == 3);  // 10 / 4
  CHECK_FALSE(timeline.steady);
}

TEST_CASE(
    "an asynchronous pipeline of equal stages is fully used between its updates, though fill and drain are bubbles") {
  const Timeline timeline = testing::simulated({.name = "pipedream", .p = 4, .m = 1});
  CHECK(timeline.utilization == 1.0);
  CHECK(timeline.bubble_fraction > 0);
  CHECK(testing::in_units(timeline.step_time, timeline.base) == 3);
}

TEST_CASE("the step time of a synchronous schedule over several updates is the time between their ends") {
  const Timeline one = testing::simulated({.name = "gpipe", .p = 4, .m = 8, .updates = 1});
  const Timeline many = testing::simulated({.name = "gpipe", .p = 4, .m = 8, .updates = 5});
  CHECK(one.step_time == one.makespan);
  CHECK(many.updates == 5);
  CHECK(many.step_time == (many.makespan - one.makespan) / 4);
}

TEST_CASE("§9.1: recompute is busy but not useful, folded into the backward or on its own") {
  Schedule schedule = testing::schedule_of({.name = "1f1b", .p = 2, .m = 4});
  schedule.recompute.emplace_back();  // stage 0
  const StageCosts costs = abstract_costs("F=1,B=2", "", {.num_stages = 2, .recompute = true});
  const Timeline timeline = simulate(lower(schedule, costs), {.spans = false});
  CHECK(testing::in_units(timeline.devices[0].busy, timeline.base) == 16);
  CHECK(testing::in_units(timeline.devices[0].useful, timeline.base) == 12);
  CHECK(timeline.devices[1].busy == timeline.devices[1].useful);
  CHECK(simulate(lower(schedule, costs), {}).devices == timeline.devices);
}

}  // namespace plumb

TEST_SUITE_END();
