#include "sim/plan_search/closest_plans.hpp"

#include <vector>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"

TEST_SUITE_BEGIN("sim");

namespace {

using namespace plumb;

ScoredPlan bound_of(std::int32_t places, std::int64_t excess) {
  return {.plan = {.places = places}, .excess_bytes = excess};
}

ScoredPlan simulated_plan(std::int32_t places, std::int64_t excess) {
  ScoredPlan plan = bound_of(places, excess);
  plan.peak_bytes = 100 + excess;
  return plan;
}

}  // namespace

TEST_CASE("a plan of which only a bound is known is the closest one if its simulation says so") {
  ClosestPlans closest;
  closest.add(simulated_plan(1, 50));
  closest.add(bound_of(2, 10));
  closest.add(bound_of(3, 20));
  closest.add(bound_of(4, 60));
  std::vector<std::int32_t> asked;
  const auto found = closest.find([&](const PipelinePlan& plan) {
    asked.push_back(plan.places);
    return simulated_plan(plan.places, plan.places == 2 ? 500 : 40);
  });
  CHECK(asked == std::vector<std::int32_t>{2, 3});  // no bound below 40 is left
  CHECK(found->plan.places == 3);
  CHECK(found->excess_bytes == 40);
}

TEST_CASE("plans that cannot be simulated are not the closest, and without any there is none") {
  ClosestPlans closest;
  CHECK_FALSE(closest.find([](const PipelinePlan&) -> ScoredPlan { throw Error("no"); }));
  closest.add(bound_of(2, 10));
  CHECK_FALSE(closest.find([](const PipelinePlan&) -> ScoredPlan { throw Error("no"); }));
}

TEST_CASE("a plan that was simulated has a peak, if only of one byte, and is not simulated again") {
  ClosestPlans closest;
  ScoredPlan small = bound_of(1, 50);
  small.peak_bytes = 1;
  closest.add(small);
  const auto found = closest.find([](const PipelinePlan&) -> ScoredPlan {
    FAIL("simulated again");
    return {};
  });
  CHECK(found->peak_bytes == 1);
}

TEST_CASE("of many bounds the smallest are kept") {
  ClosestPlans closest;
  for (std::int32_t k = 1000; k > 0; --k) closest.add(bound_of(k, k));
  std::size_t calls = 0;
  const auto found = closest.find([&](const PipelinePlan& plan) {
    ++calls;
    return simulated_plan(plan.places, 2000 + plan.places);
  });
  CHECK(calls == ClosestPlans::kMostKept);
  CHECK(found->plan.places == 1);
}

TEST_SUITE_END();
