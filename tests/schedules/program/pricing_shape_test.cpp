#include "schedules/program/pricing_shape.hpp"

#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "models/pricing/price_job.hpp"
#include "schedules/catalogue/registry.hpp"

TEST_SUITE_BEGIN("schedules");

using namespace plumb;

TEST_CASE("stages stand where the schedule has them, on devices of one degree") {
  const auto places = [](const char* schedule, std::int32_t devices, const std::vector<std::int32_t>& degrees) {
    CostSource source{.kind = AnalyticJob{}};
    source.job()->parallelism.tensor_by_place = degrees;
    const Schedule made = generate(schedule, {.num_devices = devices, .num_microbatches = 4});
    return places_of_stages(pricing_shape(made, source), degrees);
  };
  CHECK(places("1f1b", 3, {1, 2, 4}) == std::vector<std::int32_t>{0, 1, 2});
  CHECK(places("zb-v", 2, {1, 2}) == std::vector<std::int32_t>{0, 1, 1, 0});
  CHECK(places("chimera", 4, {1, 2, 2, 1}) == std::vector<std::int32_t>{0, 1, 2, 3});
  CHECK_THROWS_WITH_AS(places("chimera", 4, {1, 1, 2, 2}),
                       "--tp-by-rank: stage 0 is on devices 0 and 3, expected the same degree on both", Error);
}

TEST_CASE(
    "a schedule's shape counts the stages that the model is cut into, whether it recomputes, and what is in flight") {
  const auto shape = [](const char* schedule, const CostSource& source) {
    return pricing_shape(generate(schedule, {.num_devices = 4, .num_microbatches = 8}), source);
  };
  CHECK(shape("1f1b", {}).num_model_stages() == 4);
  CHECK(shape("zb-v", {}).num_model_stages() == 8);
  CHECK(shape("chimera", {}).num_model_stages() == 4);
  CHECK(shape("acco", {}).num_model_stages() == 1);
  CHECK(shape("1f1b-vocab", {}).num_model_stages() == 4);
  CHECK_FALSE(shape("1f1b", {}).recompute);
  CHECK(shape("merak", {}).recompute);
  CHECK(shape("1f1b", {}).in_flight.empty());
  CHECK(shape("1f1b", {.kind = StageProfile{}}).in_flight == std::vector<std::int64_t>{4, 3, 2, 1});
  CHECK(shape("1f1b-vocab", {}).vocabulary.has_value());
}

TEST_SUITE_END();
