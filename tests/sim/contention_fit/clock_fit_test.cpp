#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "schedules/catalogue/registry.hpp"
#include "schedules/lowering/lower.hpp"
#include "sim/contention_fit/clock_response.hpp"
#include "sim/contention_fit/fit_contention.hpp"
#include "sim/simulate.hpp"
#include "tests/support/contended_machine.hpp"

TEST_SUITE_BEGIN("sim");

using namespace plumb;
using plumb::testing::contended_machine;

namespace {

/// The clock falls from `least` devices at work to all four, by `fall`.
ClockModel falling_clock(double least, double fall, std::int64_t period_ns, double gain) {
  ClockModel clock;
  std::fill_n(clock.load.begin(), kComputeLoads, 1.0);
  clock.points = {{least, 1}, {4, 1 - fall}};
  clock.period_ns = period_ns;
  clock.gain = gain;
  return clock;
}

/// Some slowdowns, as there will be beside a clock.
Contention beside(std::optional<ClockModel> clock) {
  Contention contention;
  contention.slowdowns = {{set_of(Load::kF), set_of(Load::kF), {0.02, 0.03, 0.06}},
                          {set_of(Load::kB), set_of(Load::kF), {0.01, 0.02, 0.03}},
                          {set_of(Load::kF), set_of(Load::kB), {0.03, 0.06, 0.07}}};
  contention.clock = std::move(clock);
  return contention;
}

Timeline clocked_run(const char* name, std::int64_t m, std::int64_t updates, const Cluster& cluster,
                     std::uint64_t seed) {
  StageCosts costs;
  for (int stage = 0; stage < 4; ++stage) costs.times.push_back({.f = 100'000 + 9'000 * stage, .b = 210'000});
  costs.memory.resize(4);
  SimOptions options;
  options.seed = seed;
  options.memory_curve = false;
  const Schedule schedule = generate(name, {.num_devices = 4, .num_microbatches = m, .chunks = 1, .updates = updates});
  return simulate(lower(schedule, costs, &cluster), options);
}

std::vector<Timeline> clocked_runs(const Cluster& cluster, std::uint64_t seed) {
  return {clocked_run("1f1b", 1, 30, cluster, seed), clocked_run("gpipe", 8, 20, cluster, seed + 1),
          clocked_run("1f1b", 8, 20, cluster, seed + 2)};
}

bool says(const ContentionFit& fit, const std::string& words) {
  return std::ranges::any_of(fit.unknown,
                             [&](const std::string& line) { return line.find(words) != std::string::npos; });
}

double step_error(const Contention& fitted, const Timeline& run) {
  const Timeline predicted = clocked_run("gpipe", 16, 20, contended_machine(fitted, 0), 0);
  return std::abs(static_cast<double>(predicted.step_time) / static_cast<double>(run.step_time) - 1);
}

}  // namespace

TEST_CASE("a clock closes 1 - 1/e of the gap to its target in its lag, and every step of the load has its mean") {
  const std::vector<LoadStep> steps{{10, 1}, {100, 3}, {1000, 3}, {100, 0}};
  const std::vector<double> course = clock_response(steps, {.least = 1, .most = 3, .lag_ns = 100});
  CHECK(course[0] == 0);
  CHECK(course[1] == doctest::Approx(std::exp(-1.0)));
  CHECK(course[2] == doctest::Approx(1 - 0.1 * std::exp(-1.0)).epsilon(1e-4));
  CHECK(course[3] == doctest::Approx(1 - std::exp(-1.0)).epsilon(1e-3));
  CHECK(clock_response(std::vector<LoadStep>{{1, 2}}, {.least = 1, .most = 3, .lag_ns = 1e-6})[0] ==
        doctest::Approx(0.5).epsilon(1e-4));
}

TEST_CASE("a clock that follows the load with a lag is told from slowdowns, with 1 % noise") {
  // 0.5 of the difference every 300 us: a time constant of 433 us, four forwards.
  const Cluster cluster = contended_machine(beside(falling_clock(1, 0.1, 300'000, 0.5)), 0.01);
  const ContentionFit fit = fit_contention(clocked_runs(cluster, 3), {.resamples = 40});
  REQUIRE(fit.clock.has_value());
  CHECK(fit.clock->counts);
  CHECK(std::abs(fit.clock->fall.value - 0.1) < 0.02);
  CHECK(fit.clock->lag_ns.value > 433e3 / 1.5);
  CHECK(fit.clock->lag_ns.value < 433e3 * 1.5);
  REQUIRE(fit.contention.clock.has_value());
  const Timeline run = clocked_run("gpipe", 16, 20, cluster, 77);
  CHECK(step_error(fit.contention, run) < 0.005);
  CHECK(step_error({}, run) > 0.05);
}

TEST_CASE("a slow clock with a knee is found with both, exactly where there is no noise") {
  const Cluster cluster = contended_machine(beside(falling_clock(3, 0.06, 50'000, 0.05)), 0);
  const ContentionFit fit = fit_contention(clocked_runs(cluster, 3), {.resamples = 20});
  REQUIRE(fit.clock.has_value());
  CHECK(fit.clock->counts);
  CHECK(fit.clock->least == 3);
  CHECK(std::abs(fit.clock->fall.value - 0.06) < 0.006);
  CHECK(fit.clock->lag_ns.value == doctest::Approx(50e3 / -std::log(0.95)).epsilon(0.25));
}

TEST_CASE("where no clock follows the load none is fitted, whatever the noise was") {
  for (const std::uint64_t seed : {1, 11, 21}) {
    CAPTURE(seed);
    const Cluster cluster = contended_machine(beside({}), 0.01);
    const ContentionFit fit = fit_contention(clocked_runs(cluster, seed), {.resamples = 40});
    CHECK_FALSE(fit.contention.clock.has_value());
    CHECK((says(fit, "the clock: ") || (fit.clock && !fit.clock->counts && fit.clock->fall.high < 0.02)));
  }
}

TEST_CASE("runs that cannot tell of a clock are said to be such") {
  const Cluster cluster = contended_machine(beside(falling_clock(1, 0.1, 300'000, 0.5)), 0);
  const ContentionFit alone = fit_contention(std::vector{clocked_run("1f1b", 1, 20, cluster, 1)}, {.resamples = 0});
  CHECK(says(alone, "the clock: never more than one device at work"));
  // At once: the curves say the same.
  const Cluster prompt = contended_machine(beside(falling_clock(1, 0.1, 0, 1)), 0.01);
  const ContentionFit at_once = fit_contention(clocked_runs(prompt, 1), {.resamples = 40});
  const Timeline run = clocked_run("gpipe", 16, 20, prompt, 77);
  CHECK(step_error(at_once.contention, run) < 0.005);
  // So slow that it goes on falling to the end.
  const Cluster slow = contended_machine(beside(falling_clock(1, 0.9, 1'000'000'000, 0.2)), 0);
  const ContentionFit still = fit_contention(clocked_runs(slow, 1), {.resamples = 20});
  CHECK_FALSE(still.contention.clock.has_value());
}

TEST_SUITE_END();
