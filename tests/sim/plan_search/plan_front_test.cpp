#include "sim/plan_search/plan_front.hpp"

#include <algorithm>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "sim/plan_search/plan_kinds.hpp"
#include "sim/plan_search/tight_plans.hpp"

TEST_SUITE_BEGIN("sim");

namespace {

using namespace plumb;

/// A plan that fits, over `places` devices.
ScoredPlan scored(std::int64_t step_ns, std::int64_t peak_bytes, std::int32_t places, double price_per_hour = 0) {
  ScoredPlan plan;
  plan.plan.places = places;
  plan.plan.schedule = "1f1b";
  plan.step_ns = step_ns;
  plan.peak_bytes = peak_bytes;
  plan.price_per_hour = price_per_hour;
  return plan;
}

bool shows(const std::vector<ScoredPlan>& front, std::int64_t step_ns) {
  return std::ranges::find(front, step_ns, &ScoredPlan::step_ns) != front.end();
}

}  // namespace

TEST_CASE("a front that is shown has no plan that another one equals within a hundredth in everything") {
  const std::vector<ScoredPlan> shown =
      shown_front({scored(1000, 1000, 8), scored(1100, 995, 8), scored(1200, 980, 8)});
  CHECK(shows(shown, 1000));
  CHECK_FALSE(shows(shown, 1100));  // slower, and saves half a hundredth of the memory
  CHECK(shows(shown, 1200));        // saves two hundredths
}

TEST_CASE("fewer devices are a reason to be shown, and so is a lower price") {
  const std::vector<ScoredPlan> devices = shown_front({scored(1000, 1000, 8), scored(1500, 1000, 4)});
  CHECK(shows(devices, 1500));
  const std::vector<ScoredPlan> prices = shown_front({scored(1000, 1000, 8, 80), scored(1500, 1000, 8, 40)});
  CHECK(shows(prices, 1500));
  CHECK_FALSE(shows(shown_front({scored(1000, 1000, 8, 80), scored(1500, 1000, 8, 79)}), 1500));
}

TEST_CASE("plans that waste devices or take twenty times the step are on no front that is shown") {
  const std::vector<ScoredPlan> shown =
      shown_front({scored(1000, 1000, 64), scored(3900, 500, 64), scored(4100, 400, 64), scored(19'000, 300, 4),
                   scored(21'000, 200, 1)});
  CHECK(shows(shown, 3900));
  CHECK_FALSE(shows(shown, 4100));    // more than four times the device-seconds
  CHECK(shows(shown, 19'000));        // on a sixteenth of the devices
  CHECK_FALSE(shows(shown, 21'000));  // on one device, but nobody waits for it
}

TEST_CASE(
    "plans that may not fit stand behind the best that is sure to, or before it where they do; slower ones nowhere") {
  const auto answer_of = [](const std::vector<ScoredPlan>& plans, std::int64_t simulated) {
    PlanAnswer answer;
    answer.best = answer.front = plans;
    answer.simulated = simulated;
    answer.seeded = simulated / 10;
    return answer;
  };
  const PlanAnswer sure = answer_of({scored(1000, 500, 8), scored(2000, 400, 8)}, 30);
  const auto steps_of = [](const std::vector<ScoredPlan>& plans) {
    std::vector<std::int64_t> steps;
    for (const ScoredPlan& plan : plans) steps.push_back(plan.step_ns);
    return steps;
  };
  using Steps = std::vector<std::int64_t>;
  for (const bool fits : {false, true}) {
    const auto verdict = [&](const ScoredPlan&) { return fits; };
    const PlanAnswer both = with_expected(sure, answer_of({scored(900, 800, 8)}, 50), verdict);
    CHECK(steps_of(both.best) == (fits ? Steps{900, 1000, 2000} : Steps{1000, 900, 2000}));
    CHECK(steps_of(both.front) == Steps{900, 1000, 2000});
    CHECK(both.simulated == 80);
    CHECK(both.seeded == 8);
    CHECK(steps_of(with_expected(sure, answer_of({scored(1000, 300, 8)}, 1), verdict).best) == Steps{1000, 2000});
    CHECK(steps_of(with_expected(sure, answer_of({}, 1), verdict).best) == Steps{1000, 2000});
    const PlanAnswer expected = with_expected(answer_of({}, 30), answer_of({scored(900, 800, 8)}, 50), verdict);
    CHECK(steps_of(expected.best) == Steps{900});
    CHECK(expected.simulated == 80);
    CHECK(expected.seeded == 8);
  }
}

TEST_CASE("of any plans, those shown are not beaten by a hundredth, and everything left out has a reason") {
  std::mt19937 random(7);
  const auto any = [&](std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most - least + 1));
  };
  for (int round = 0; round < 200; ++round) {
    PlanFront front;
    for (int k = 0; k < 40; ++k) {
      front.add(scored(any(1000, 30'000), any(1000, 2000), std::int32_t{1} << any(0, 6)));
    }
    const std::vector<ScoredPlan> all = front.take();
    const std::vector<ScoredPlan> shown = shown_front(all);
    REQUIRE_FALSE(shown.empty());
    const ScoredPlan& fastest = shown.front();
    const auto covers = [](const ScoredPlan& a, const ScoredPlan& b) {
      return a.step_ns <= b.step_ns && static_cast<double>(a.peak_bytes) <= 1.01 * static_cast<double>(b.peak_bytes) &&
             a.plan.num_devices() <= b.plan.num_devices();
    };
    const auto same = [](const ScoredPlan& a, const ScoredPlan& b) {
      return a.step_ns == b.step_ns && a.peak_bytes == b.peak_bytes && a.plan == b.plan;
    };
    for (const ScoredPlan& plan : all) {
      const bool kept = std::ranges::any_of(shown, [&](const ScoredPlan& known) { return same(known, plan); });
      const auto others = std::ranges::count_if(
          shown, [&](const ScoredPlan& known) { return known.step_ns < plan.step_ns && covers(known, plan); });
      const bool absurd = plan.step_ns > 20 * fastest.step_ns || plan.device_seconds() > 4 * fastest.device_seconds();
      if (kept) CHECK((others == 0 && !absurd));
      if (!kept) CHECK((others > 0 || absurd));
    }
  }
}

TEST_CASE("the best of each kind are of different kinds: schedule, length, tensor, context or expert ranks") {
  std::vector<ScoredPlan> plans;
  const auto add = [&](const char* schedule, std::int32_t chunks, std::int64_t tensor, std::int64_t data) {
    plans.push_back(scored(1000 + std::ssize(plans), 1000, 8));
    plans.back().plan.schedule = schedule;
    plans.back().plan.chunks = chunks;
    plans.back().plan.parallelism.tensor = tensor;
    plans.back().plan.parallelism.data = data;
  };
  add("interleaved", 3, 2, 2);
  add("interleaved", 5, 2, 2);  // the same with other stages
  add("interleaved", 4, 2, 4);
  add("1f1b", 0, 2, 2);
  add("interleaved", 3, 4, 2);
  add("zb-v", 2, 2, 2);
  keep_families(plans, 3);
  REQUIRE(plans.size() == 3);
  CHECK(plans[0].plan.chunks == 3);
  CHECK(plans[1].plan.schedule == "1f1b");
  CHECK(plans[2].plan.parallelism.tensor == 4);
}

TEST_SUITE_END();
