#include "sim/comparison/error_split.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <numeric>

#include "models/cluster/cluster.hpp"
#include "models/ground/text_file.hpp"
#include "sim/comparison/alignment.hpp"
#include "sim/comparison/compare.hpp"
#include "sim/comparison/run_work.hpp"
#include "sim/traces/traced_run.hpp"
#include "tests/sim/traces/trace_text.hpp"
#include "tests/support/simulated.hpp"
#include "tests/support/source_directory.hpp"

TEST_SUITE_BEGIN("sim");

using namespace plumb;

namespace {

constexpr Ticks kMs = 1'000'000;

ErrorSplit split_of(const Timeline& predicted, const Timeline& measured) {
  auto split = split_error(predicted, std::span(&measured, 1), 0, 3);
  REQUIRE(split.has_value());
  return *split;
}

PartOfError part_of(const ErrorSplit& split, ErrorPart part) {
  const auto found = std::ranges::find(split.parts, part, &PartOfError::part);
  return found == split.parts.end() ? PartOfError{part, 0, 0, {}} : *found;
}

std::int64_t sum_of(const ErrorSplit& split) {
  return std::transform_reduce(split.parts.begin(), split.parts.end(), std::int64_t{0}, std::plus<>{},
                               [](const PartOfError& part) { return part.model_ns + part.noise_ns; });
}

/// Two devices of one stage each: F0 and F1 of 10 ms, then B1 and B0 of 20 ms, messages of `message`, and the host
/// needs `host` before every action but the first of a device.
Timeline two_stages(Ticks message, Ticks host, Ticks longer_f1 = 0) {
  Timeline timeline;
  timeline.devices.resize(2);
  Ticks free[2] = {0, 0};
  Ticks sent[2] = {0, 0};
  const auto add = [&](std::int32_t stage, Op op, std::int32_t microbatch, Ticks from, Ticks takes) {
    Ticks& lane = free[stage];
    const Ticks start = std::max(lane == 0 ? 0 : lane + host, from);
    Span span{
        .action = action_of(stage, op, microbatch), .device = DeviceId{stage}, .start = start, .end = start + takes};
    span.idle_before = start - lane;
    span.waited_for = from < start ? IdleCause::kOverhead : IdleCause::kTransferBandwidth;
    timeline.spans.push_back(span);
    return lane = start + takes;
  };
  for (const std::int32_t microbatch : {0, 1}) {
    sent[microbatch] = message + add(0, Op::kF, microbatch, 0, 10 * kMs + (microbatch == 1 ? longer_f1 : 0));
  }
  for (const std::int32_t microbatch : {0, 1}) add(1, Op::kF, microbatch, sent[microbatch], 10 * kMs);
  for (const std::int32_t microbatch : {0, 1}) sent[microbatch] = message + add(1, Op::kB, microbatch, 0, 20 * kMs);
  for (const std::int32_t microbatch : {0, 1}) add(0, Op::kB, microbatch, sent[microbatch], 20 * kMs);
  std::ranges::stable_sort(timeline.spans, {}, &Span::device);
  timeline.makespan = timeline.step_time = std::max(free[0], free[1]);
  if (host > 0) timeline.devices[1].idle_causes[static_cast<std::size_t>(IdleCause::kOverhead)] = host;
  return timeline;
}

}  // namespace

TEST_CASE("a run as predicted has no parts") { CHECK(split_of(two_stages(kMs, 0), two_stages(kMs, 0)).parts.empty()); }

TEST_CASE("longer messages are a part of their own, as often as one is on the longest path") {
  const ErrorSplit split = split_of(two_stages(kMs, 0), two_stages(3 * kMs, 0));
  REQUIRE(split.parts.size() == 1);
  // F0 -> 1F0 and 1B1 -> 0B1 are on the way from begin to end.
  const PartOfError messages = part_of(split, ErrorPart::kMessages);
  CHECK(messages.model_ns == -4 * kMs);
  REQUIRE(messages.largest.size() == 2);
  for (const ErrorAction& action : messages.largest) {
    CHECK(action.predicted_ns == kMs);
    CHECK(action.measured_ns == 3 * kMs);
    CHECK(action.error_ns == -2 * kMs);
  }
  CHECK(split.noise_ns == 0);
  CHECK(split.model_ns == split.predicted_ns - split.measured_ns);
}

TEST_CASE("host time between actions is told from messages") {
  const ErrorSplit split = split_of(two_stages(kMs, 0), two_stages(kMs, kMs / 2));
  REQUIRE(split.parts.size() == 1);
  // Between the four actions of a device.
  const PartOfError host = part_of(split, ErrorPart::kHost);
  CHECK(host.model_ns == -3 * kMs / 2);
  REQUIRE(host.largest.size() == 3);
  for (const ErrorAction& action : host.largest) {
    CHECK(action.predicted_ns == 0);
    CHECK(action.measured_ns == kMs / 2);
    CHECK(action.error_ns == -kMs / 2);
  }
}

TEST_CASE("an action that took longer than its like is noise, one kind that took longer is the model's error") {
  const ErrorSplit noise = split_of(two_stages(kMs, 0), two_stages(kMs, 0, 15 * kMs));
  REQUIRE(noise.parts.size() == 1);
  CHECK(noise.parts[0] == PartOfError{ErrorPart::kDurations,
                                      0,
                                      -15 * kMs,
                                      {{DeviceId{0}, action_of(0, Op::kF, 1), 10 * kMs, 25 * kMs, -15 * kMs}}});
  const testing::Case predicted{.name = "1f1b", .p = 4, .m = 8, .cost = "F=1,B=2"};
  const testing::Case slower{.name = "1f1b", .p = 4, .m = 8, .cost = "F=1,B=2.5"};
  const ErrorSplit model = split_of(testing::simulated(predicted), testing::simulated(slower));
  REQUIRE(model.parts.size() == 1);
  CHECK(model.parts[0].model_ns == -11 * kMs / 2);  // m + p - 1 = 11 backwards
  CHECK(model.parts[0].noise_ns == 0);
}

TEST_CASE("a prediction of means and one of medians have no error of the model, one beyond both has") {
  const std::vector<Timeline> runs{two_stages(kMs, 0), two_stages(kMs, 0, 15 * kMs), two_stages(kMs, 0)};
  const auto model_of = [&](std::int64_t longer) {
    const Timeline predicted = two_stages(kMs, 0, longer);
    return split_error(predicted, runs, 1, 3)->model_ns;
  };
  CHECK(model_of(0) == 0);
  CHECK(model_of(1) == 0);
  CHECK(model_of(14 * kMs) > 0);
}

TEST_CASE("of several runs, what is usual is of all of them") {
  const std::vector<Timeline> runs{two_stages(kMs, 0), two_stages(kMs, 0, 15 * kMs), two_stages(kMs, 0)};
  const auto split = split_error(two_stages(kMs, 0), runs, 1, 3);
  REQUIRE(split.has_value());
  CHECK(split->model_ns == 0);
  CHECK(split->noise_ns == -15 * kMs);
}

TEST_CASE("a run with other actions is not split, and one without spans neither") {
  Timeline other = two_stages(kMs, 0);
  other.spans.pop_back();
  CHECK_FALSE(split_error(two_stages(kMs, 0), std::span(&other, 1), 0, 3).has_value());
  CHECK_FALSE(split_error(Timeline{}, std::span(&other, 1), 0, 3).has_value());
}

TEST_CASE("a backward that a run cut otherwise is held against all of the same backward: what is left is structure") {
  const testing::Case whole{.name = "1f1b", .p = 4, .m = 8, .cost = "F=1,B=2,comm=0.5"};
  const testing::Case halves{.name = "zb-h1", .p = 4, .m = 8, .cost = "F=1,I=1,W=1,comm=0.5"};
  const auto check = [](const testing::Case& predicted, const testing::Case& measured) {
    const Timeline run = testing::simulated(measured);
    const ErrorSplit split = split_of(testing::simulated(predicted), run);
    CHECK(split.predicted_ns != split.measured_ns);
    REQUIRE(split.parts.size() == 1);
    CHECK(split.parts[0].part == ErrorPart::kOrder);
    CHECK(sum_of(split) == split.predicted_ns - split.measured_ns);
    return split.model_ns;
  };
  CHECK(check(whole, halves) > 0);
  CHECK(check(halves, whole) < 0);
  // The run's W is longer: of each of the m + p - 1 backwards that follow each other.
  const testing::Case slower{.name = "zb-h1", .p = 4, .m = 8, .cost = "F=1,I=1,W=1.5,comm=0.5"};
  const ErrorSplit split = split_of(testing::simulated(whole), testing::simulated(slower));
  CHECK(part_of(split, ErrorPart::kDurations).model_ns == -11 * kMs / 2);
  CHECK(part_of(split, ErrorPart::kMessages).model_ns == 0);
  CHECK(sum_of(split) == split.predicted_ns - split.measured_ns);
}

TEST_CASE("work that was cut otherwise is found by how far it has come") {
  const auto span_of = [](Op op, std::int32_t microbatch, Ticks start, Ticks end) {
    return Span{.action = action_of(0, op, microbatch), .device = DeviceId{0}, .start = start, .end = end};
  };
  const auto timeline_of = [](std::vector<Span> spans) {
    Timeline timeline;
    timeline.devices.resize(1);
    timeline.spans = std::move(spans);
    return timeline;
  };
  const Timeline whole = timeline_of({span_of(Op::kB, 0, 0, 30), span_of(Op::kB, 1, 30, 60)});
  const Timeline cut =
      timeline_of({span_of(Op::kI, 0, 5, 15), span_of(Op::kB, 1, 15, 75), span_of(Op::kW, 0, 80, 110)});
  const auto works_of = [](const Timeline& predicted, const Timeline& measured) {
    std::vector<const Span*> members;
    for (const Span& span : predicted.spans) members.push_back(&span);
    const auto works = run_work(members, align(predicted, measured));
    REQUIRE(works.has_value());
    return *works;
  };
  const std::vector<RunWork> as_whole = works_of(whole, cut);
  CHECK(as_whole[0] == RunWork{&cut.spans[0], 5, 110, 40, &cut.spans[0]});
  CHECK(as_whole[1] == RunWork{&cut.spans[1], 15, 75, 60, &cut.spans[1]});
  const std::vector<RunWork> as_cut = works_of(cut, whole);
  CHECK(as_cut[0] == RunWork{&whole.spans[0], 0, 8, 8, &whole.spans[0]});  // a quarter of 30, to the next tick
  CHECK(as_cut[2] == RunWork{&whole.spans[0], 8, 30, 22, &whole.spans[0]});
  // On the first stage PyTorch calls the whole backward W.
  const Timeline only_w = timeline_of({span_of(Op::kW, 0, 100, 140), span_of(Op::kB, 1, 30, 60)});
  const std::vector<RunWork> as_one = works_of(cut, only_w);
  CHECK(as_one[0] == RunWork{&only_w.spans[0], 100, 110, 10, &only_w.spans[0]});
  CHECK(as_one[2] == RunWork{&only_w.spans[0], 110, 140, 30, &only_w.spans[0]});
}

TEST_CASE("another order on a device is the last part") {
  const testing::Case early{.name = "gpipe", .p = 4, .m = 8, .cost = "F=1,B=2,comm=0.5"};
  const testing::Case late{.name = "1f1b", .p = 4, .m = 8, .cost = "F=1,B=2,comm=0.5"};
  const ErrorSplit split = split_of(testing::simulated(early), testing::simulated(late));
  CHECK(split.predicted_ns != split.measured_ns);
  CHECK(part_of(split, ErrorPart::kOrder).model_ns != 0);
  CHECK(split.parts.size() == 1);
  CHECK(sum_of(split) == split.predicted_ns - split.measured_ns);
}

TEST_CASE("the order's part names the actions that ran at another place, with their begins") {
  struct Work {
    std::int32_t stage, microbatch;
    Ticks start, end;
  };
  const auto run_of = [](std::initializer_list<Work> all) {
    Timeline timeline;
    timeline.devices.resize(2);
    Ticks free[2] = {0, 0};
    for (const Work& work : all) {
      Span span{.action = action_of(work.stage, Op::kF, work.microbatch), .device = DeviceId{work.stage}};
      span.start = work.start * kMs;
      span.end = work.end * kMs;
      span.idle_before = span.start - free[work.stage];
      timeline.spans.push_back(span);
      free[work.stage] = work.end * kMs;
      timeline.makespan = timeline.step_time = std::max(timeline.makespan, work.end * kMs);
    }
    return timeline;
  };
  const Timeline predicted = run_of({{0, 0, 0, 10}, {0, 1, 10, 40}, {1, 0, 10, 50}, {1, 1, 50, 60}});
  const Timeline measured = run_of({{0, 1, 0, 30}, {0, 0, 30, 40}, {1, 1, 30, 40}, {1, 0, 40, 80}});
  const ErrorSplit split = split_of(predicted, measured);
  const PartOfError order = part_of(split, ErrorPart::kOrder);
  CHECK(order.model_ns == -20 * kMs);
  // 0F0 and 1F0 would have to move: without that they begin at 0 and 10.
  REQUIRE(order.largest.size() == 2);
  CHECK(order.largest[0] == ErrorAction{DeviceId{0}, action_of(0, Op::kF, 0), 0, 30 * kMs, -30 * kMs});
  CHECK(order.largest[1] == ErrorAction{DeviceId{1}, action_of(1, Op::kF, 0), 10 * kMs, 40 * kMs, -30 * kMs});
}

TEST_CASE("for every schedule of the catalogue the parts add up, and equal orders leave nothing to the order") {
  Cluster cluster;
  cluster.devices.resize(4);
  cluster.devices_per_node = 2;
  cluster.intra_node = {.latency_ns = 20'000, .bytes_per_s = 2e9};
  cluster.inter_node = {.latency_ns = 50'000, .bytes_per_s = 1e9};
  cluster.finish();
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    CAPTURE(spec.name);
    const Schedule schedule = generate(spec.name, {.num_devices = 4, .num_microbatches = 12});
    const auto run = [&](const char* cost, double jitter) {
      StageCosts costs = abstract_costs(cost, "", {.num_stages = schedule.num_stages});
      costs.comm.reset();
      for (DeviceSpec& device : cluster.devices) device.jitter = jitter;
      return simulate(lower(schedule, costs, &cluster), {.seed = 7});
    };
    const Timeline predicted = run("F=1,I=1,W=1,U=0.2", 0);
    const Timeline measured = run("F=1.1,I=1.2,W=0.9,U=0.3", 0.1);
    const ErrorSplit split = split_of(predicted, measured);
    CHECK(sum_of(split) == split.predicted_ns - split.measured_ns);
    CHECK(std::abs(part_of(split, ErrorPart::kOrder).model_ns) <= 10);  // moments are rounded to nanoseconds
    CHECK(part_of(split, ErrorPart::kDurations).largest.size() == 3);
  }
}

TEST_CASE("the error against a run of PyTorch is split without a rest, and host time is a part of it") {
  std::vector<TraceFile> files;
  for (const char rank : {'0', '1', '2', '3'}) {
    const std::string path = testing::in_source("tests/sim/traces/data/zb-h1/rank" + std::string(1, rank) + ".json.gz");
    files.push_back({path, read_text_file(path)});
  }
  const Timeline measured = read_traced_run(std::move(files)).timeline();
  const Timeline predicted =
      testing::simulated({.name = "zb-h1", .p = 4, .m = 8, .cost = "F=10.3,I=10.3,W=10.3,comm=0.1"});
  const ErrorSplit split = split_of(predicted, measured);
  CHECK(sum_of(split) == split.predicted_ns - split.measured_ns);
  CHECK(part_of(split, ErrorPart::kOrder).model_ns == 0);
  const PartOfError host = part_of(split, ErrorPart::kHost);
  CHECK(host.model_ns + host.noise_ns < -kMs);
}

TEST_CASE("a prediction with whole backwards is split against a real run that cut them, without a rest") {
  const Timeline measured = read_traced_run(testing::real_run("zb-h1"), 0).timeline();
  const Comparison comparison =
      compare(testing::simulated({.name = "1f1b", .p = 4, .m = 8, .cost = "F=10.3,B=20.6,comm=0.1"}), measured);
  CHECK_FALSE(comparison.aligned);
  CHECK(comparison.only_predicted > 0);
  REQUIRE(comparison.split.has_value());
  CHECK(sum_of(*comparison.split) == comparison.split->predicted_ns - comparison.split->measured_ns);
  // Without it W has nowhere to go but before the next backward: that costs whole actions.
  CHECK(part_of(*comparison.split, ErrorPart::kOrder).model_ns > 10 * kMs);
}

TEST_CASE("with the trace of a rank missing what is known is compared and split, without a rest") {
  const Timeline predicted =
      testing::simulated({.name = "zb-h1", .p = 4, .m = 8, .cost = "F=10.3,I=10.3,W=10.3,comm=0.1"});
  const Comparison whole = compare(predicted, read_traced_run(testing::real_run("zb-h1"), 0).timeline());
  const std::int64_t of_a_rank = whole.kinds.front().predicted_count / 4;
  for (const std::size_t missing : {0U, 1U, 3U}) {
    CAPTURE(missing);
    std::vector<TraceFile> files = testing::real_run("zb-h1");
    files.erase(files.begin() + static_cast<std::ptrdiff_t>(missing));
    const Timeline measured = read_traced_run(std::move(files), 0).timeline();
    const Comparison comparison = compare(predicted, measured);
    CHECK(comparison.aligned);
    CHECK(comparison.only_predicted == 0);
    CHECK_FALSE(comparison.offenders.empty());
    CHECK(comparison.kinds.front().predicted_count == 3 * of_a_rank);
    CHECK(comparison.kinds.front().measured_count == 3 * of_a_rank);
    CHECK(comparison.bubble_fraction.predicted != predicted.bubble_fraction);
    REQUIRE(comparison.split.has_value());
    const ErrorSplit& split = *comparison.split;
    CHECK(sum_of(split) == split.predicted_ns - split.measured_ns);
    CHECK(part_of(split, ErrorPart::kOrder).model_ns == 0);  // it has the name of the part with missing ranks
    // The ranks that are known were slower than predicted, by about as much as with the fourth.
    const PartOfError durations = part_of(split, ErrorPart::kDurations);
    CHECK(durations.model_ns + durations.noise_ns < -kMs);
    for (const PartOfError& part : split.parts) {
      for (const ErrorAction& action : part.largest)
        CHECK(action.device != DeviceId{static_cast<std::int32_t>(missing)});
    }
  }
}

TEST_SUITE_END();
