#include "sim/comparison/compare.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/support/simulated.hpp"

TEST_SUITE_BEGIN("sim");

using namespace plumb;

namespace {

Span span(std::int32_t device, Op op, std::int32_t microbatch, Ticks start, Ticks end) {
  Span made;
  made.action.stage = StageId{device};
  made.action.op = op;
  made.action.microbatch = MicrobatchId{microbatch};
  made.device = DeviceId{device};
  made.start = start;
  made.end = end;
  return made;
}

/// One device: F0 of `f`, F1 of 10, B0 of `b`, with an idle wait of 10 before B0.
Timeline run(Ticks f, Ticks b, Timeline::Kind kind = Timeline::Kind::kMeasured) {
  Timeline timeline;
  timeline.kind = kind;
  timeline.schedule = "s";
  timeline.spans = {span(0, Op::kF, 0, 0, f), span(0, Op::kF, 1, f, f + 10), span(0, Op::kB, 0, f + 20, f + 20 + b)};
  timeline.makespan = timeline.step_time = f + 20 + b;
  DeviceSummary device;
  device.busy = f + 10 + b;
  device.idle = 10;
  device.idle_causes[static_cast<std::size_t>(IdleCause::kTransferQueue)] = 10;
  device.peak_memory_bytes = 30;
  device.peak_memory_by_class = {10, 0, 0, 0, 20, 0, 0, 0, 0};
  timeline.devices = {device};
  return timeline;
}

KindError kind_of(const Comparison& comparison, Op op) {
  for (const KindError& kind : comparison.kinds) {
    if (kind.op == op) return kind;
  }
  FAIL("no such kind");
  return {};
}

/// A run of uneven stages, each of whose times is `scale` times as long; of one that was measured every third is
/// longer.
Timeline scaled_run(std::string_view name, Ticks scale, bool measured, Ticks comm) {
  const Schedule schedule = testing::schedule_of({.name = name, .p = 4, .m = 8});
  StageCosts costs = abstract_costs("F=1,B=2", "F=1,B=-1", {.num_stages = schedule.num_stages});
  testing::set_uneven_times(costs);
  for (std::size_t s = 0; s < costs.times.size(); ++s) {
    StageTimes& times = costs.times[s];
    if (measured && s % 3 == 1) times.f += 31, times.b += 40, times.i += 20, times.w += 20;
    for (Ticks* time : {&times.f, &times.b, &times.i, &times.w}) *time *= scale;
  }
  costs.base = {};
  costs.comm = (measured ? 2 : 1) * comm * scale;
  Timeline timeline = simulate(lower(schedule, costs));
  if (measured) timeline.kind = Timeline::Kind::kMeasured;
  return timeline;
}

/// Every number of `one` is that of `other`, or a third of it where its name, or that of what holds it, ends in "_ns".
void check_thirds(const nlohmann::json& one, const nlohmann::json& other, bool is_time) {
  REQUIRE(one.type() == other.type());
  if (one.is_object() || one.is_array()) {
    REQUIRE(one.size() == other.size());
    for (const auto& [key, value] : one.items()) {
      CAPTURE(key);
      const bool is_error = key == "error" || key.ends_with("_error");
      const nlohmann::json& same = one.is_object() ? other.at(key) : other.at(std::stoul(key));
      check_thirds(value, same, !is_error && (is_time || key.ends_with("_ns")));
    }
  } else if (one.is_number()) {
    CHECK(other.get<double>() == doctest::Approx((is_time ? 3 : 1) * one.get<double>()).epsilon(1e-9));
  } else {
    CHECK(one == other);
  }
}

}  // namespace

TEST_CASE("a timeline compared with itself has no error, no offender and passes every bound") {
  const Timeline timeline = run(10, 20);
  const Comparison comparison = compare(timeline, timeline, {.max_error = 0.0, .memory_exact = true});
  CHECK(comparison.step_time_ns.error == 0);
  CHECK(comparison.aligned);
  CHECK(comparison.offenders.empty());
  CHECK(kind_of(comparison, Op::kF) == KindError{Op::kF, std::nullopt, 2, 2, 20, 20, 0, 0});
  CHECK(comparison.verdict == Verdict::kPass);
}

TEST_CASE("an overlapped pair is one action of a kind of its own, not its whole time for each half") {
  Timeline paired = run(10, 20);
  paired.spans.push_back(span(0, Op::kB, 1, 50, 80));
  paired.spans.push_back(span(0, Op::kF, 2, 50, 75));
  paired.spans[3].action.overlaps_next = 1;
  Timeline longer = paired;
  longer.spans[4].end = 90;
  const Comparison comparison = compare(paired, longer);
  CHECK(comparison.aligned);
  REQUIRE(comparison.kinds.size() == 3);
  CHECK(comparison.kinds[0] == KindError{Op::kF, std::nullopt, 2, 2, 20, 20, 0, 0});
  CHECK(comparison.kinds[1] == KindError{Op::kF, Op::kB, 1, 1, 30, 40, -0.25, 0.25});
  CHECK(comparison.kinds[2] == KindError{Op::kB, std::nullopt, 1, 1, 20, 20, 0, 0});
  CHECK(nlohmann::json::parse(comparison_to_json(comparison))["kinds"][1]["op"] == "F+B");
}

TEST_CASE("errors are relative to the measured run, per kind from action to action") {
  const Comparison comparison = compare(run(12, 20), run(10, 40));
  CHECK(comparison.step_time_ns == FigureError{52, 70, (52.0 - 70) / 70});
  const KindError forward = kind_of(comparison, Op::kF);
  CHECK(forward.median_error == doctest::Approx(0.1));  // of +20 % and 0
  CHECK(forward.p90_error == doctest::Approx(0.2));
  CHECK(kind_of(comparison, Op::kB).median_error == doctest::Approx(-0.5));
  CHECK(comparison.verdict == Verdict::kNone);
}

TEST_CASE("the worst offenders are named by action, largest difference first, equal ones left out") {
  const Comparison comparison = compare(run(12, 20), run(10, 40));
  REQUIRE(comparison.offenders.size() == 2);
  CHECK(comparison.offenders[0].action.op == Op::kB);
  CHECK(comparison.offenders[0].predicted_ns == 20);
  CHECK(comparison.offenders[0].measured_ns == 40);
  CHECK(comparison.offenders[0].predicted_start_ns == 32);
  CHECK(comparison.offenders[1].predicted_ns == 12);
}

namespace {

/// One device with so many forwards one after another, of 100 and `more(k)` each.
template <class More>
Timeline forwards(std::int32_t count, More&& more) {
  Timeline timeline;
  timeline.kind = Timeline::Kind::kMeasured;
  Ticks at = 0;
  for (std::int32_t k = 0; k < count; ++k) {
    const Ticks end = at + 100 + more(k);
    timeline.spans.push_back(span(0, Op::kF, k, at, end));
    at = end;
  }
  timeline.makespan = timeline.step_time = at;
  timeline.devices.resize(1);
  timeline.devices[0].busy = at;
  return timeline;
}

}  // namespace

TEST_CASE(
    "of n errors the median is the middle, or the mean of two, and nine tenths are no larger than the 90th "
    "percentile") {
  for (std::int32_t n = 1; n <= 31; ++n) {
    CAPTURE(n);
    const Timeline measured = forwards(n, [](std::int32_t) { return 0; });
    // Errors of 1, -2, 3, -4 .. percent.
    const Timeline predicted = forwards(n, [](std::int32_t k) { return k % 2 == 0 ? k + 1 : -k - 1; });
    const Comparison comparison = compare(predicted, measured);
    std::vector<double> errors;
    for (std::int32_t k = 1; k <= n; ++k) errors.push_back((k % 2 == 1 ? k : -k) / 100.0);
    std::ranges::sort(errors);
    const auto at = [&](std::int32_t k) { return errors[static_cast<std::size_t>(k)]; };
    const double median = n % 2 == 1 ? at(n / 2) : (at(n / 2 - 1) + at(n / 2)) / 2;
    const KindError kind = kind_of(comparison, Op::kF);
    CHECK(kind.median_error == doctest::Approx(median));
    std::int32_t rank = 1;  // the first for which ten times as many are nine times all
    while (10 * rank < 9 * n) ++rank;
    CHECK(kind.p90_error == doctest::Approx(rank / 100.0));
    CHECK(kind.predicted_count == n);
    REQUIRE(comparison.offenders.size() == static_cast<std::size_t>(std::min(n, 10)));
    for (std::size_t k = 0; k < comparison.offenders.size(); ++k) {
      CHECK(index(comparison.offenders[k].action.microbatch) == static_cast<std::size_t>(n) - 1 - k);
    }
    CHECK(compare(predicted, measured, {.most_offenders = 3}).offenders.size() ==
          static_cast<std::size_t>(std::min(n, 3)));
  }
}

TEST_CASE("an action that took no time is predicted rightly by none, and wrongly by all of its time") {
  Timeline nothing = forwards(1, [](std::int32_t) { return -100; });
  CHECK(kind_of(compare(nothing, nothing), Op::kF).median_error == 0);
  CHECK(kind_of(compare(forwards(1, [](std::int32_t) { return 0; }), nothing), Op::kF).median_error == 1);
  CHECK(kind_of(compare(nothing, forwards(1, [](std::int32_t) { return 0; })), Op::kF).median_error == -1);
}

TEST_CASE("of several runs the one of lower median stands for all, and their spread is of the median") {
  const Timeline predicted = forwards(1, [](std::int32_t) { return 0; });
  const auto run_of = [](Ticks more) { return forwards(1, [more](std::int32_t) { return more; }); };
  const std::vector<Timeline> odd{run_of(50), run_of(0), run_of(20)};
  CHECK(middle_run(odd) == 2);
  CHECK(compare(predicted, odd).step_time_ns.measured == 120);
  CHECK(compare(predicted, odd).spread == doctest::Approx(50.0 / 120));
  CHECK(compare(predicted, odd).runs == 3);
  const std::vector<Timeline> even{run_of(50), run_of(0), run_of(30), run_of(20)};
  CHECK(middle_run(even) == 3);
  CHECK(compare(predicted, even).step_time_ns.measured == 125);
  CHECK(compare(predicted, even).makespan_ns.measured == 120);
  CHECK(compare(predicted, even).spread == doctest::Approx(50.0 / 125));
  const Comparison shown = compare(predicted, even, {.shown = 0});
  CHECK(shown.step_time_ns.measured == 150);
  CHECK(shown.spread == doctest::Approx(50.0 / 125));
  CHECK(compare(predicted, run_of(25)).spread == 0);
}

TEST_CASE("an error as large as its bound passes, a larger one fails, and one of noisy runs is no answer") {
  const auto run_of = [](Ticks more) { return forwards(1, [more](std::int32_t) { return more; }); };
  const Timeline measured = run_of(0);
  const auto verdict = [&](Ticks more, double bound) {
    return compare(run_of(more), measured, {.max_error = bound}).verdict;
  };
  CHECK(verdict(25, 0.25) == Verdict::kPass);
  CHECK(verdict(26, 0.25) == Verdict::kFail);
  CHECK(verdict(-25, 0.25) == Verdict::kPass);
  CHECK(verdict(-26, 0.25) == Verdict::kFail);
  // Runs of 75, 100 and 125 spread by half.
  const std::vector<Timeline> runs{run_of(-25), run_of(0), run_of(25)};
  CHECK(compare(run_of(60), runs, {.max_error = 0.5}).verdict == Verdict::kFail);
  CHECK(compare(run_of(60), runs, {.max_error = 0.4}).verdict == Verdict::kNoisy);
  CHECK(compare(run_of(0), runs, {.max_error = 0.4}).verdict == Verdict::kPass);
  CHECK(compare(run_of(0), runs, {.max_noise = 0.5}).verdict == Verdict::kPass);
  CHECK(compare(run_of(0), runs, {.max_noise = 0.49}).verdict == Verdict::kNoisy);
}

TEST_CASE("idle causes are compared as time and as share of all device time") {
  const Comparison comparison = compare(run(10, 20), run(10, 60));
  REQUIRE(comparison.causes.size() == 1);
  CHECK(comparison.causes[0] == CauseError{IdleCause::kTransferQueue, 10, 10, 10.0 / 50, 10.0 / 90});
}

TEST_CASE("a run that takes no time has no share of idle time") {
  Timeline nothing = run(10, 20);
  nothing.makespan = nothing.step_time = 0;
  for (Span& span : nothing.spans) span.start = span.end = 0;
  for (DeviceSummary& device : nothing.devices) device.idle_causes = {};
  Timeline measured = run(10, 20);
  measured.devices[0].idle_causes[static_cast<std::size_t>(IdleCause::kDrain)] = 7;
  const Comparison comparison = compare(nothing, measured);
  REQUIRE(!comparison.causes.empty());
  for (const CauseError& error : comparison.causes) CHECK(error.predicted_share == 0);
}

TEST_CASE("shares of idle time are of the devices of which is known what they did") {
  Timeline measured = run(10, 60);
  DeviceSummary unknown;
  unknown.known = false;
  measured.devices.push_back(unknown);
  CHECK(compare(run(10, 20), measured).causes.at(0).measured_share == 10.0 / 90);
}

TEST_CASE("timebases may differ: times are compared in nanoseconds") {
  Timeline fine = run(30, 60);
  fine.base.ticks_per_ns = 3;
  fine.spans[1].end = 60;  // all three actions scaled by 3
  fine.spans[2].start = 90;
  fine.spans[2].end = 150;
  fine.makespan = fine.step_time = 150;
  const Comparison comparison = compare(fine, run(10, 20));
  CHECK(comparison.makespan_ns.error == 0);
  CHECK(comparison.offenders.empty());
}

TEST_CASE("a step time beyond the bound fails with one line that says by how much") {
  const Comparison comparison = compare(run(10, 20), run(10, 30), {.max_error = 0.05});
  CHECK(comparison.verdict == Verdict::kFail);
  CHECK(comparison.findings == std::vector<std::string>{"step time: error -16.67 %, expected at most 5.00 %"});
}

TEST_CASE("runs that spread do not hide a prediction that agrees with what is usual; beyond the bound they are noisy") {
  const std::vector<Timeline> runs{run(10, 20), run(10, 30), run(10, 21)};
  const Comparison right = compare(run(10, 21), runs, {.max_error = 0.05});
  CHECK(right.verdict == Verdict::kPass);
  CHECK(right.step_time_ns.measured == 51);  // the median
  CHECK(right.spread == doctest::Approx(10.0 / 51));
  const Comparison wrong = compare(run(10, 27), runs, {.max_error = 0.05});
  CHECK(wrong.verdict == Verdict::kNoisy);
  CHECK(wrong.findings.size() == 2);
}

TEST_CASE("an error of noise alone passes the bound of the model, and is told apart") {
  Timeline measured = run(10, 20);
  measured.spans.insert(measured.spans.begin() + 2, span(0, Op::kF, 2, 20, 60));
  measured.spans.back() = span(0, Op::kB, 0, 70, 90);
  measured.makespan = measured.step_time = 90;
  Timeline predicted = measured;
  predicted.spans[2] = span(0, Op::kF, 2, 20, 30);
  predicted.spans.back() = span(0, Op::kB, 0, 40, 60);
  predicted.makespan = predicted.step_time = 60;
  const Comparison comparison = compare(predicted, measured, {.max_error = 0.05});
  CHECK(comparison.step_time_ns.error == doctest::Approx(-30.0 / 90));
  CHECK(comparison.model_error() == 0);
  CHECK(comparison.noise() == doctest::Approx(-30.0 / 90));
  CHECK(comparison.verdict == Verdict::kPass);
  const auto json = nlohmann::json::parse(comparison_to_json(comparison));
  CHECK(json.at("split").at("noise_ns") == -30);
  CHECK(json.at("split").at("parts").at(0).at("largest").at(0).at("action") == "0F2");
}

TEST_CASE("where nothing splits the error of a step, all of it is the model's") {
  Comparison comparison;
  comparison.step_time_ns.error = 0.25;
  CHECK(comparison.model_error() == 0.25);
  comparison.split = ErrorSplit{};
  CHECK(comparison.model_error() == 0.25);
  comparison.split->measured_ns = 50;
  comparison.split->model_ns = -5;
  CHECK(comparison.model_error() == doctest::Approx(-0.1));
}

TEST_CASE("more noise than its bound is no answer, of one run and of several that spread") {
  Timeline measured = run(10, 20);
  measured.spans.insert(measured.spans.begin() + 2, span(0, Op::kF, 2, 20, 60));
  measured.spans.back() = span(0, Op::kB, 0, 70, 90);
  measured.makespan = measured.step_time = 90;
  Timeline predicted = measured;
  predicted.spans[2] = span(0, Op::kF, 2, 20, 30);
  predicted.spans.back() = span(0, Op::kB, 0, 40, 60);
  predicted.makespan = predicted.step_time = 60;
  const Comparison noisy = compare(predicted, measured, {.max_error = 0.05, .max_noise = 0.25});
  CHECK(noisy.verdict == Verdict::kNoisy);
  CHECK(noisy.findings ==
        std::vector<std::string>{"noisy: noise 33.33 %, expected at most 25.00 %, so that this is no answer"});
  CHECK(compare(predicted, measured, {.max_error = 0.05, .max_noise = 0.34}).verdict == Verdict::kPass);
  const std::vector<Timeline> spread{run(10, 20), run(10, 20), run(10, 35)};
  CHECK(compare(run(10, 20), spread, {.max_noise = 0.25}).verdict == Verdict::kNoisy);
  CHECK(compare(run(10, 20), spread, {.max_noise = 0.35}).verdict == Verdict::kPass);
}

TEST_CASE("one of several runs can stand for all, with its own step time") {
  const std::vector<Timeline> runs{run(10, 20), run(10, 22), run(10, 30)};
  CHECK(middle_run(runs) == 1);
  const Comparison last = compare(run(10, 20), runs, {.shown = 2});
  CHECK(last.step_time_ns.measured == 60);
  CHECK(last.runs == 3);
}

TEST_CASE("of an even number of quiet runs the median is the mean of the middle two") {
  const std::vector<Timeline> runs{run(10, 20), run(10, 22)};
  const Comparison comparison = compare(run(10, 21), runs, {.max_error = 0.05});
  CHECK(comparison.step_time_ns == FigureError{51, 51, 0});
  CHECK(comparison.verdict == Verdict::kPass);
}

TEST_CASE("the steps of a traced run that were not disturbed are its runs: their median is the step that is compared") {
  const auto compared = [](std::vector<std::int64_t> steps, std::vector<std::int32_t> disturbed) {
    Timeline traced = run(10, 20);
    traced.traced = TracedFacts{.step_ns = std::move(steps), .disturbed_steps = std::move(disturbed)};
    return compare(run(10, 21), traced);
  };
  const Comparison odd = compared({55, 900, 51, 70, 53, 54}, {1});
  CHECK(odd.step_time_ns.measured == 54);
  CHECK(odd.runs == 5);
  CHECK(odd.spread == doctest::Approx(19.0 / 54));
  const Comparison even = compared({55, 56, 51, 70, 53, 52}, {});
  CHECK(even.step_time_ns.measured == 54);  // between 53 and 55
  CHECK(even.runs == 6);
}

TEST_CASE("one byte of difference in one class fails an exact memory comparison") {
  const Timeline predicted = run(10, 20);
  Timeline measured = predicted;
  measured.devices[0].peak_memory_by_class[4] = 19;
  measured.devices[0].peak_memory_by_class[7] = 1;
  const Comparison comparison = compare(predicted, measured, {.memory_exact = true});
  CHECK(comparison.verdict == Verdict::kFail);
  CHECK(comparison.findings ==
        std::vector<std::string>{"memory: device 0, kept_for_input_grad: 20 bytes predicted, 19 measured",
                                 "memory: device 0, workspace: 0 bytes predicted, 1 measured"});
}

TEST_CASE("an exact memory comparison fails when one side knows no memory") {
  Timeline measured = run(10, 20);
  measured.devices[0].peak_memory_bytes = 0;
  measured.devices[0].peak_memory_by_class = {};
  CHECK(compare(run(10, 20), measured, {.memory_exact = true}).verdict == Verdict::kFail);
}

TEST_CASE("two runs that both take three times as long differ by the same errors, and by three times the time") {
  for (const std::string_view name : {"1f1b", "zb-h1", "interleaved", "gpipe"}) {
    for (const Ticks comm : {0, 30}) {
      CAPTURE(name);
      CAPTURE(comm);
      const CompareOptions options{.max_error = 0.01, .most_offenders = 100};
      const auto document = [&](Ticks scale) {
        const Timeline measured = scaled_run(name, scale, true, comm);
        return nlohmann::json::parse(
            comparison_to_json(compare(scaled_run(name, scale, false, comm), measured, options)));
      };
      nlohmann::json one = document(1);
      nlohmann::json three = document(3);
      CHECK(!one.at("offenders").empty());
      CHECK(!one.at("idle_causes").empty());
      CHECK(one.at("findings").size() == three.at("findings").size());
      one.erase("findings");
      three.erase("findings");
      check_thirds(one, three, false);
    }
  }
}

TEST_CASE("two schedules compare by figures and totals, without action by action errors") {
  Timeline other = run(10, 20);
  other.schedule = "other";
  other.spans[1].action.microbatch = MicrobatchId{5};
  const Comparison comparison = compare(run(12, 20), other);
  CHECK_FALSE(comparison.aligned);
  CHECK(comparison.only_predicted == 1);
  CHECK(comparison.only_measured == 1);
  CHECK(comparison.offenders.empty());
  CHECK(kind_of(comparison, Op::kF) == KindError{Op::kF, std::nullopt, 2, 2, 22, 20, 0, 0});
}

TEST_CASE("a comparison is a document that other programs can read") {
  const auto json = nlohmann::json::parse(comparison_to_json(compare(run(12, 20), run(10, 40), {.max_error = 0.05})));
  CHECK(json["format"] == "plumbline-comparison");
  CHECK(json["verdict"] == "fail");
  CHECK(json["offenders"][0]["action"] == "0B0");
  CHECK(json["memory"][1]["class"] == "weights");
}

TEST_SUITE_END();
