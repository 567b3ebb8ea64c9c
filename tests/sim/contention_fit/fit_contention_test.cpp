#include "sim/contention_fit/fit_contention.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "schedules/catalogue/registry.hpp"
#include "schedules/lowering/lower.hpp"
#include "sim/contention_fit/overlap.hpp"
#include "sim/simulate.hpp"
#include "tests/support/contended_machine.hpp"

TEST_SUITE_BEGIN("sim");

using namespace plumb;
using plumb::testing::contended_machine;

namespace {

constexpr LoadSet kF = set_of(Load::kF);
constexpr LoadSet kB = set_of(Load::kB);
constexpr LoadSet kI = set_of(Load::kI);
constexpr LoadSet kW = set_of(Load::kW);

/// One microbatch at a time, and the weight gradients one after the other: every action is alone.
Schedule one_by_one(Schedule schedule) {
  for (std::int64_t update = 0; update < schedule.num_microbatches; ++update) {
    for (int stage = schedule.num_stages; stage-- > 0;) {
      const bool last = stage + 1 == schedule.num_stages;
      const MicrobatchId microbatch{static_cast<std::int32_t>(update)};
      Action before{.stage = StageId{last ? 0 : stage + 1}, .microbatch = microbatch, .op = last ? Op::kI : Op::kW};
      Action after{.stage = StageId{stage}, .microbatch = microbatch, .op = Op::kW};
      schedule.extra_edges.push_back({before, after});
    }
  }
  return schedule;
}

/// What "measuring" `name` on that machine gives: a simulated run with noise.
Timeline measured(const char* name, std::int64_t m, std::int64_t updates, const Cluster& cluster, std::uint64_t seed) {
  Schedule schedule = generate(name, {.num_devices = 4, .num_microbatches = m, .chunks = 1, .updates = updates});
  if (m == 1 && schedule.name == "zb-h1") schedule = one_by_one(std::move(schedule));
  StageCosts costs;
  for (int stage = 0; stage < 4; ++stage) {
    costs.times.push_back({.f = 100'000 + 9'000 * stage, .b = 210'000, .i = 95'000, .w = 110'000 - 8'000 * stage});
  }
  costs.memory.resize(4);
  for (StageMemory& memory : costs.memory) memory.output_bytes = memory.input_grad_bytes = 200'000;
  SimOptions options;
  options.seed = seed;
  options.memory_curve = false;
  return simulate(lower(schedule, costs, &cluster), options);
}

/// Alone, loaded and in pairs.
std::vector<Timeline> measured_runs(const Cluster& cluster) {
  return {measured("1f1b", 1, 30, cluster, 1), measured("zb-h1", 1, 30, cluster, 2),
          measured("gpipe", 8, 20, cluster, 3), measured("1f1b", 8, 20, cluster, 4),
          measured("zb-h1", 8, 30, cluster, 5)};
}

Contention truth() {
  Contention contention;
  contention.slowdowns = {{kF, kF, {0.02, 0.05, 0.07}}, {kF, kB, {0.03, 0.04, 0.09}}, {kB, kF, {0.01, 0.03, 0.04}},
                          {kB, kB, {0.04, 0.08, 0.15}}, {kW, kF, {0.06, 0.08, 0.1}},  {kI, kF, {0.05, 0.06, 0.08}},
                          {kF, kI, {0.02, 0.02, 0.02}}, {kF, kW, {0.08, 0.09, 0.12}}};
  return contention;
}

double true_gamma(const Contention& contention, const FittedGamma& fitted) {
  for (const Slowdown& slowdown : contention.slowdowns) {
    const bool same = slowdown.of == set_of(fitted.of) && slowdown.by == set_of(fitted.by);
    if (same) return slowdown.gamma[std::min<std::size_t>(fitted.others, slowdown.gamma.size()) - 1];
  }
  return 0;
}

bool mentions(const std::vector<std::string>& lines, const std::string& words) {
  return std::ranges::any_of(lines, [&](const std::string& line) { return line.find(words) != std::string::npos; });
}

}  // namespace

TEST_CASE("an action's time is split where others begin and end") {
  Timeline timeline;
  timeline.devices.resize(2);
  timeline.num_microbatches = 2;
  const auto span = [](int device, Op op, Ticks start, Ticks end) {
    Span made{.action = {}, .device = DeviceId{device}, .start = start, .end = end};
    made.action.op = op;
    return made;
  };
  timeline.spans = {span(0, Op::kF, 0, 100), span(1, Op::kW, 30, 40), span(1, Op::kF, 60, 130)};
  const Overlap overlap = overlap_of(timeline);
  REQUIRE(overlap.actions.size() == 3);
  const OverlappedAction& first = overlap.actions[0];
  REQUIRE(first.end - first.first == 4);
  CHECK(overlap.intervals[first.first].ns == 30);
  CHECK(overlap.intervals[first.first].alone());
  CHECK(overlap.intervals[first.first + 1].others[static_cast<std::size_t>(Load::kW)] == 1);
  CHECK(overlap.intervals[first.first + 1].ns == 10);
  CHECK(overlap.intervals[first.first + 3].others[static_cast<std::size_t>(Load::kF)] == 1);
  CHECK(overlap.intervals[overlap.actions[2].first].ns == 40);
}

TEST_CASE("the fit recovers exactly what made the runs when there is no noise") {
  const Cluster cluster = contended_machine(truth(), 0);
  const ContentionFit fit = fit_contention(measured_runs(cluster), {.resamples = 0});
  CHECK(fit.gammas.size() >= 12);
  for (const FittedGamma& gamma : fit.gammas) {
    CAPTURE(kLoadNames[static_cast<std::size_t>(gamma.of)]);
    CAPTURE(kLoadNames[static_cast<std::size_t>(gamma.by)]);
    CAPTURE(gamma.others);
    CHECK(std::abs(gamma.gamma.value - true_gamma(cluster.contention, gamma)) < 2e-3);
  }
  CHECK(fit.error_fitted < 1e-4);
  CHECK(fit.error_alone > 0.02);
}

TEST_CASE("runs that take three times as long show the same slowdowns and a clock that lags three times as long") {
  Contention contention = truth();
  contention.message_share = 0.1;
  const std::vector<Timeline> runs = measured_runs(contended_machine(contention, 0.005));
  std::vector<Timeline> longer = runs;
  for (Timeline& timeline : longer) {
    for (Span& span : timeline.spans) {
      span.start *= 3;
      span.end *= 3;
    }
    timeline.makespan *= 3;
    timeline.step_time *= 3;
  }
  const ContentionFit one = fit_contention(runs, {.resamples = 5});
  const ContentionFit three = fit_contention(longer, {.resamples = 5});
  CHECK(three.actions == one.actions);
  CHECK(three.left_out == one.left_out);
  CHECK(three.unknown.size() == one.unknown.size());
  CHECK(three.error_alone == doctest::Approx(one.error_alone).epsilon(1e-4));
  CHECK(three.error_fitted == doctest::Approx(one.error_fitted).epsilon(1e-3));
  const auto check_same = [](const Estimate& a, const Estimate& b) {
    CHECK(std::abs(a.value - b.value) < 1e-4);
    CHECK(std::abs(a.low - b.low) < 1e-4);
    CHECK(std::abs(a.high - b.high) < 1e-4);
  };
  REQUIRE(three.gammas.size() == one.gammas.size());
  for (std::size_t at = 0; at < one.gammas.size(); ++at) {
    CHECK(three.gammas[at].of == one.gammas[at].of);
    CHECK(three.gammas[at].by == one.gammas[at].by);
    CHECK(three.gammas[at].others == one.gammas[at].others);
    CHECK(three.gammas[at].exposure == doctest::Approx(one.gammas[at].exposure));
    check_same(three.gammas[at].gamma, one.gammas[at].gamma);
  }
  REQUIRE(three.slowdowns.size() == one.slowdowns.size());
  for (std::size_t at = 0; at < one.slowdowns.size(); ++at)
    check_same(three.slowdowns[at].share, one.slowdowns[at].share);
  REQUIRE(three.alone.size() == one.alone.size());
  for (std::size_t at = 0; at < one.alone.size(); ++at) {
    CHECK(three.alone[at].median_ns == doctest::Approx(3 * one.alone[at].median_ns));
    CHECK(three.alone[at].count == one.alone[at].count);
  }
}

TEST_CASE("a point that applied for exactly as long as is asked is fitted, and for less it is not") {
  const std::vector<Timeline> runs = measured_runs(contended_machine(truth(), 0));
  const ContentionFit all = fit_contention(runs, {.resamples = 0});
  REQUIRE(!all.gammas.empty());
  const FittedGamma rare = *std::ranges::min_element(all.gammas, {}, &FittedGamma::exposure);
  const auto fits = [&](double least) {
    const ContentionFit fit = fit_contention(runs, {.least_exposure = least, .resamples = 0});
    return std::ranges::any_of(fit.gammas, [&](const FittedGamma& one) {
      return one.of == rare.of && one.by == rare.by && one.others == rare.others;
    });
  };
  CHECK(fits(rare.exposure));
  CHECK_FALSE(fits(std::nextafter(rare.exposure, 1e9)));
}

TEST_CASE("with 1 % noise the fit recovers the curves within 0.012, most of them inside their intervals") {
  const Cluster cluster = contended_machine(truth(), 0.01);
  const ContentionFit fit = fit_contention(measured_runs(cluster), {.resamples = 60});
  int inside = 0;
  for (const FittedGamma& gamma : fit.gammas) {
    CAPTURE(kLoadNames[static_cast<std::size_t>(gamma.of)]);
    CAPTURE(kLoadNames[static_cast<std::size_t>(gamma.by)]);
    CAPTURE(gamma.others);
    CAPTURE(gamma.exposure);
    CAPTURE(gamma.gamma.low);
    CAPTURE(gamma.gamma.high);
    const double expected = true_gamma(cluster.contention, gamma);
    if (gamma.exposure > 40) CHECK(std::abs(gamma.gamma.value - expected) < 0.012);
    inside += gamma.gamma.low <= expected && expected <= gamma.gamma.high ? 1 : 0;
  }
  CHECK(inside * 10 >= static_cast<int>(fit.gammas.size()) * 7);
  CHECK(fit.error_fitted < 0.012);
}

TEST_CASE("a prediction with the fitted contention meets a schedule that was not fitted within 0.3 %") {
  const Cluster cluster = contended_machine(truth(), 0.01);
  const ContentionFit fit = fit_contention(measured_runs(cluster), {.resamples = 0});
  const Timeline run = measured("gpipe", 16, 20, cluster, 77);
  const Timeline with = measured("gpipe", 16, 20, contended_machine(fit.contention, 0), 0);
  const Timeline without = measured("gpipe", 16, 20, contended_machine({}, 0), 0);
  const auto error = [&](const Timeline& predicted) {
    return std::abs(static_cast<double>(predicted.step_time) / static_cast<double>(run.step_time) - 1);
  };
  CHECK(error(with) < 0.003);
  CHECK(error(without) > 0.03);
}

TEST_CASE("what messages take is fitted, too") {
  Contention contention = truth();
  contention.message_share = 0.1;
  const Cluster cluster = contended_machine(contention, 0.005);
  const ContentionFit fit = fit_contention(measured_runs(cluster), {.resamples = 20});
  REQUIRE(fit.slowdowns.size() == 1);
  CHECK(fit.slowdowns[0].by == Load::kMessage);
  CHECK(std::abs(fit.slowdowns[0].share.value - 0.1) < 0.02);
}

TEST_CASE("what collectives take is fitted, too") {
  // Device 0 and 1 reduce beside every other forward of device 0; a quarter of it is taken.
  Timeline timeline;
  timeline.devices.resize(2);
  timeline.num_microbatches = timeline.updates = 40;
  const auto add = [&](int device, Op op, Lane lane, std::int64_t update, Ticks start, Ticks end) {
    Span made{.action = {}, .device = DeviceId{device}, .lane = lane, .start = start, .end = end};
    made.action.op = op;
    made.action.stage = StageId{0};
    made.action.microbatch = MicrobatchId{static_cast<std::int32_t>(update)};
    timeline.spans.push_back(made);
  };
  for (std::int64_t update = 0; update < 40; ++update) {
    const Ticks at = update * 10'000;
    const Ticks noise = update % 3;
    add(0, Op::kF, Lane::kCompute, update, at, at + 3000 + noise);
    // 2000 beside the collective do 1500 of the work.
    add(0, Op::kF, Lane::kCompute, update, at + 4000, at + 7500 + noise);
    for (const int device : {0, 1}) {
      add(device, Op::kReduceGrad, Lane::kCollective, update, at + 4500, at + 6500);
    }
  }
  const ContentionFit fit = fit_contention(std::vector{timeline}, {.resamples = 20});
  REQUIRE(fit.slowdowns.size() == 1);
  CHECK(fit.slowdowns[0].by == Load::kCollective);
  CHECK(fit.slowdowns[0].share.value == doctest::Approx(0.25).epsilon(0.01));
  CHECK(fit.contention.collective_share == doctest::Approx(0.25).epsilon(0.01));
  CHECK(fit.contention.message_share == 0);
}

TEST_CASE("an action that is never alone, and overlap that never occurs, are reported and not guessed") {
  const Cluster cluster = contended_machine(truth(), 0);
  const std::vector<Timeline> loaded_only{measured("gpipe", 8, 10, cluster, 1)};
  const ContentionFit fit = fit_contention(loaded_only, {.resamples = 0});
  CHECK(mentions(fit.unknown, "F of stage 1 on device 1: seen alone 0 times"));
  CHECK(fit.left_out > 0);
  const std::vector<Timeline> alone_only{measured("1f1b", 1, 10, cluster, 1)};
  const ContentionFit nothing = fit_contention(alone_only, {.resamples = 0});
  CHECK(nothing.contention.empty());
  CHECK(nothing.gammas.empty());
  CHECK(nothing.alone.size() == 8);
}

TEST_CASE("runs that are too disturbed to tell anything are said to be, and no curve comes of them") {
  const ContentionFit fit = fit_contention(measured_runs(contended_machine(truth(), 0.9)), {.resamples = 20});
  CHECK(mentions(fit.unknown, "anything from"));
  CHECK((fit.contention.empty() || fit.error_fitted <= fit.error_alone));
}

TEST_CASE("two kinds that always occur together are reported as one, and the report says so") {
  // F on device 0 always meets a W on device 1 and an I on device 2 at once.
  Timeline timeline;
  timeline.devices.resize(3);
  timeline.num_microbatches = timeline.updates = 40;
  const auto add = [&](int device, Op op, std::int64_t update, Ticks start, Ticks end) {
    Span made{.action = {}, .device = DeviceId{device}, .start = start, .end = end};
    made.action.op = op;
    made.action.stage = StageId{device};
    made.action.microbatch = MicrobatchId{static_cast<std::int32_t>(update)};
    timeline.spans.push_back(made);
  };
  for (std::int64_t update = 0; update < 40; ++update) {
    const Ticks at = update * 10'000;
    add(0, Op::kF, update, at, at + 100);
    add(1, Op::kW, update, at + 200, at + 300);
    add(2, Op::kI, update, at + 400, at + 500);
    add(0, Op::kF, update, at + 1000, at + 1120);
    add(1, Op::kW, update, at + 1000, at + 1120);
    add(2, Op::kI, update, at + 1000, at + 1120);
  }
  const ContentionFit fit = fit_contention(std::vector{timeline}, {.resamples = 0});
  CHECK(mentions(fit.unknown, "always occurs together with others"));
  double of_f = 0;
  for (const FittedGamma& gamma : fit.gammas) of_f += gamma.of == Load::kF ? gamma.gamma.value : 0;
  CHECK(of_f == doctest::Approx(0.2).epsilon(1e-3));
}

TEST_SUITE_END();
