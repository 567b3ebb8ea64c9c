#include "sim/plan_search/bounds/pass_counts.hpp"

#include <doctest/doctest.h>

#include "models/ground/error.hpp"

TEST_SUITE_BEGIN("plan search");

using namespace plumb;

namespace {

PassCounts::Passes sum_of(const PassCounts& counts) {
  return {counts.alone.f + counts.paired.f, counts.alone.b + counts.paired.b, counts.alone.i + counts.paired.i,
          counts.alone.w + counts.paired.w};
}

}  // namespace

TEST_CASE("schedules with pairs have as many passes of a stage as microbatches, in pairs and alone, at every size") {
  int known = 0;
  std::int64_t paired = 0;
  std::int64_t alone = 0;
  KnownPassCounts passes;
  for (const ScheduleVariant& variant : schedule_variants({.chunks = {2, 3}})) {
    if (!variant.overlaps || variant.for_costs) continue;
    CAPTURE(variant.spec->name);
    for (const std::int32_t places : {2, 4, 6, 8}) {
      for (const std::int64_t microbatches : {4, 8, 12, 16, 24, 48}) {
        std::shared_ptr<const KnownPassCounts::Counts> counts;
        try {
          counts = passes.of(variant, places, microbatches);
        } catch (const Error&) {
          continue;
        }
        if (!counts) continue;
        ++known;
        CHECK(static_cast<std::int32_t>(counts->size()) == variant.stages(places));
        for (const PassCounts& stage : *counts) {
          const PassCounts::Passes all = sum_of(stage);
          CHECK(all.f == microbatches);
          CHECK(all.b + all.i == microbatches);
          CHECK(all.i == all.w);
          paired += stage.paired.f;
          alone += stage.alone.f;
        }
      }
    }
  }
  CHECK(known > 40);
  CHECK(paired > 0);
  CHECK(alone > 0);
}

TEST_CASE("of 1F1B with overlap the last place has one forward and one backward alone, the first ones more") {
  const ScheduleVariant variant = schedule_variants({.schedules = {"1f1b-overlap"}}).front();
  const auto counts = KnownPassCounts().of(variant, 4, 8);
  REQUIRE(counts);
  for (std::size_t stage = 0; stage + 1 < counts->size(); ++stage) {
    CHECK((*counts)[stage].alone.f > (*counts)[stage + 1].alone.f);
    CHECK((*counts)[stage].alone.f == (*counts)[stage].alone.b);
  }
  CHECK(counts->back().alone.f >= 1);
  CHECK(counts->front().paired.f >= 1);
}

TEST_CASE(
    "of a layer counts the stage that has the least to do of it, and without counts every pass may be in a pair") {
  LayerPrices prices;
  prices.least = {{.alone = {10, 0, 20, 30}, .paired = {8, 0, 16, 24}}};
  const LeastPasses least({.overlaps = true, .splits = true}, {1.0});
  const std::vector<PassCounts> counts{{.alone = {3, 0, 1, 1}, .paired = {1, 0, 3, 3}},
                                       {.alone = {1, 0, 2, 2}, .paired = {3, 0, 2, 2}}};
  const LayerWork blind = layer_work(prices, least, 4, {}).front();
  CHECK(blind.forward == 4 * 8);
  CHECK(blind.backward == 4 * 40);
  const LayerWork known = layer_work(prices, least, 4, counts).front();
  CHECK(known.forward == 10 + 3 * 8);     // of the second stage
  CHECK(known.backward == 50 + 3 * 40);   // of the first one
  CHECK(known.both == 38 + 50 + 3 * 40);  // of the first one, all together
}

TEST_SUITE_END();
