#include "sim/comparison/ranking.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

TEST_SUITE_BEGIN("sim");

using namespace plumb;

namespace {

/// Updates that end after `steps` each (ms), on two devices that are idle for a quarter of the time.
Timeline run_of(const std::string& schedule, const std::vector<double>& steps) {
  Timeline timeline;
  timeline.schedule = schedule;
  timeline.updates = static_cast<std::int64_t>(steps.size()) + 1;
  timeline.num_microbatches = 4 * timeline.updates;
  Ticks at = 1'000'000;
  for (std::int64_t update = 0; update < timeline.updates; ++update) {
    if (update > 0) at += std::llround(1e6 * steps[static_cast<std::size_t>(update) - 1]);
    for (int device = 0; device < 2; ++device) {
      Span span{.action = {}, .device = DeviceId{device}, .start = at - 1000, .end = at - (device == 0 ? 500 : 0)};
      span.action.op = Op::kU;
      span.action.microbatch = MicrobatchId{static_cast<std::int32_t>(update)};
      timeline.spans.push_back(span);
    }
  }
  timeline.makespan = at;
  timeline.step_time = (at - 1'000'000) / std::max<Ticks>(1, timeline.updates - 1);
  timeline.devices.resize(2);
  for (DeviceSummary& device : timeline.devices) device.idle = at / 4, device.busy = at - at / 4;
  return timeline;
}

using Pairs = std::vector<std::pair<Timeline, Timeline>>;

}  // namespace

TEST_CASE("the median of a sample lies in its interval, and an interval of equal numbers is a point") {
  CHECK(median_of({3, 1, 2}) == 2);
  CHECK(median_of({4, 1, 2, 3}) == 2.5);
  CHECK(median_estimate({7, 7, 7}) == Estimate{7, 7, 7});
  const Estimate spread = median_estimate({1, 2, 3, 4, 5, 6, 7, 8, 9});
  CHECK(spread.value == 5);
  CHECK(spread.low >= 1);
  CHECK(spread.low < 5);
  CHECK(spread.high > 5);
  CHECK(median_estimate({1, 2, 3, 4, 5, 6, 7, 8, 9}) == spread);
}

TEST_CASE("a run's steps go from the last end of an update to that of the next") {
  CHECK(step_times_ns(run_of("s", {10, 12, 11})) == std::vector<double>{10e6, 12e6, 11e6});
}

TEST_CASE("configurations measured in another order than predicted are found, close predictions are not held to it") {
  const Timeline fast = run_of("fast", {10, 10, 10});
  const Timeline slow = run_of("slow", {11, 11, 11});
  const Timeline near = run_of("near", {10.1, 10.1, 10.1});
  const Ranking right = rank_runs(Pairs{{fast, fast}, {slow, slow}});
  CHECK(right.compared == 1);
  CHECK(right.findings.empty());
  const Ranking wrong = rank_runs(Pairs{{fast, slow}, {slow, fast}});
  REQUIRE(wrong.findings.size() == 1);
  CHECK(wrong.findings[0] ==
        "order: fast p2 m4 is predicted 10.00 % slower than slow p2 m4, and measured 9.09 % faster");
  const Ranking turned = rank_runs(Pairs{{slow, fast}, {fast, slow}});
  CHECK(turned.findings ==
        std::vector<std::string>{
            "order: fast p2 m4 is predicted 10.00 % slower than slow p2 m4, and measured 9.09 % faster"});
  CHECK(rank_runs(Pairs{{slow, slow}, {fast, fast}}).findings.empty());
  CHECK(rank_runs(Pairs{{fast, near}, {near, fast}}).compared == 0);
  Timeline longer = slow;
  longer.num_microbatches *= 2;
  CHECK(rank_runs(Pairs{{fast, longer}, {longer, fast}}).compared == 0);
}

TEST_CASE("predictions that are apart by the margin are not held to an order, those that are further are") {
  const Timeline fast = run_of("fast", {10, 10, 10});
  const Timeline slow = run_of("slow", {12.5, 12.5, 12.5});
  const auto compared = [&](const Timeline& one, const Timeline& other, double margin) {
    const Ranking ranking = rank_runs(Pairs{{one, slow}, {other, fast}}, {.margin = margin});
    CHECK(ranking.wrong == ranking.compared);
    return ranking.compared;
  };
  CHECK(compared(fast, fast, 0) == 0);
  CHECK(compared(fast, slow, 0.25) == 0);  // 12.5 is 10 and a quarter
  CHECK(compared(fast, slow, 0.2499) == 1);
}

TEST_CASE("strays are the steps that are further from the median than five times the median distance, in any unit") {
  const std::vector<double> steps{10, 11, 12, 13, 14, 15, 16, 22.9, 23.1, 3, 2.9, 13, 13.5};
  for (const double scale : {0.01, 1.0, 30.0}) {
    std::vector<double> scaled;
    for (const double step : steps) scaled.push_back(scale * step);
    const Timeline run = run_of("s", scaled);
    const Ranking ranking = rank_runs(Pairs{{run, run}}, {.first_step = 0});
    std::vector<double> sorted = steps;
    std::ranges::sort(sorted);
    std::vector<double> far;
    for (const double step : steps) far.push_back(std::abs(step - sorted[6]));
    std::vector<double> by_distance = far;
    std::ranges::sort(by_distance);
    const auto strays = std::ranges::count_if(far, [&](double distance) { return distance > 5 * by_distance[6]; });
    REQUIRE(strays > 0);
    CHECK(ranking.runs[0].strays == strays);
  }
}

TEST_CASE("the bound is compared with the worse end of the interval; warm-up and strays are counted") {
  const Timeline predicted = run_of("s", {10});
  const Timeline measured = run_of("s", {30, 10.1, 10.1, 10.1, 10.2, 10.1, 10.0, 10.1, 14, 10.1});
  const Ranking ranking =
      rank_runs(Pairs{{predicted, measured}}, {.max_error = 0.02, .max_idle = 0.02, .first_step = 1});
  CHECK(ranking.findings.empty());
  CHECK(ranking.runs[0].steps == 9);
  CHECK(ranking.runs[0].error == doctest::Approx(-0.0099).epsilon(0.01));
  CHECK(ranking.runs[0].most_error >= 0.0099);
  CHECK(rank_runs(Pairs{{predicted, measured}}, {.max_error = 0.005, .first_step = 1}).findings.size() == 1);
  Timeline idle = measured;
  idle.devices[1].idle = idle.makespan / 3;
  CHECK(rank_runs(Pairs{{predicted, idle}}, {.max_idle = 0.02}).findings.size() == 1);
  CHECK(ranking_to_json(ranking).find("\"most_error\"") != std::string::npos);
}

TEST_SUITE_END();
