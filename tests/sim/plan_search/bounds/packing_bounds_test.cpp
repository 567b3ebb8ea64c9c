#include "sim/plan_search/bounds/packing_bounds.hpp"
#include "sim/plan_search/prices/network_prices.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <vector>

#include "models/ground/error.hpp"
#include "models/sources/abstract_costs.hpp"
#include "sim/plan_search/prices/job_pricing.hpp"
#include "sim/plan_search/schedule_variants.hpp"
#include "tests/support/every_plan.hpp"
#include "tests/support/small_transformer_job.hpp"

TEST_SUITE_BEGIN("plan search");

using namespace plumb;

namespace {

/// What places and microbatches a schedule is bounded for.
struct StepSize {
  std::int32_t places = 1;
  std::int64_t microbatches = 1;
};

/// By what the schedule's own lists have in pairs; 0: it cannot have the size, or depends on costs.
Ticks counted_bound(KnownPassCounts& passes, const ScheduleVariant& variant, const LayerPrices& prices,
                    const StepSize& size) {
  try {
    const auto counts = passes.of(variant, size.places, size.microbatches);
    if (!counts) return 0;
    return packing_bound(prices, size.places, size.microbatches, kinds_of({variant}), {.counts = *counts});
  } catch (const Error&) {
    return 0;
  }
}

/// Every way to cut so many layers into stages, some of which may be empty.
void for_each_cut(std::size_t layers, std::vector<std::size_t>& bounds, std::size_t stages,
                  const std::function<void(const std::vector<std::size_t>&)>& take) {
  if (bounds.size() == stages) {
    bounds.push_back(layers);
    take(bounds);
    bounds.pop_back();
    return;
  }
  const std::size_t from = bounds.back();
  for (std::size_t bound = from; bound <= layers; ++bound) {
    bounds.push_back(bound);
    for_each_cut(layers, bounds, stages, take);
    bounds.pop_back();
  }
}

/// What the places of a V, or the mean of the two places of a pair whose copies run in both directions, need at least
/// when stages are cut at `bounds`, written as sums over layers.
double folded_time(const LayerPrices& prices, const std::vector<std::size_t>& bounds, bool copied, double turns) {
  const std::size_t stages = bounds.size() - 1;
  const auto sum = [&](std::size_t from, std::size_t to, const auto& of) {
    double all = 0;
    for (std::size_t k = from; k < to; ++k) all += static_cast<double>(of(prices.least[k]));
    return all;
  };
  const auto forward = [](const LayerLeast& layer) { return layer.alone.f; };
  const auto backward = [](const LayerLeast& layer) { return layer.alone.i + layer.alone.w; };
  const auto update = [](const LayerLeast& layer) { return layer.u; };
  double time = 0;
  for (std::size_t place = 0; place < stages / 2; ++place) {
    const std::size_t back = stages - 1 - place;
    const auto both = [&](const auto& of) {
      return sum(bounds[place], bounds[place + 1], of) + sum(bounds[back], bounds[back + 1], of);
    };
    const double late = turns * both(backward) + both(update) + static_cast<double>(prices.place_update);
    const double first_hops = static_cast<double>(place) * static_cast<double>(prices.hop);
    const double hops = static_cast<double>(copied ? back : back - 1) * static_cast<double>(prices.hop);
    time = std::max(time, first_hops + sum(0, bounds[place], forward) + turns * both(forward) + late);
    time = std::max(time,
                    hops + sum(0, bounds[back], forward) + turns * sum(bounds[back], bounds[back + 1], forward) + late);
  }
  return time;
}

}  // namespace

TEST_CASE("the bound of a V, and of copies in both directions, is no less than the best of all cuts") {
  std::mt19937 random(11);
  const auto drawn = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  };
  int higher = 0;
  for (int round = 0; round < 60; ++round) {
    LayerPrices prices;
    for (int k = drawn(6, 8); k > 0; --k) {
      const LayerLeast::Passes passes{drawn(80, 120), 0, drawn(80, 120), drawn(80, 120)};
      prices.least.push_back({.alone = passes, .paired = passes, .u = drawn(0, 40)});
    }
    const bool copied = round % 2 == 0;
    const std::int32_t places = copied ? 4 : drawn(2, 3);
    const std::int64_t microbatches = drawn(4, 9);
    prices.speed.assign(static_cast<std::size_t>(places), 1.0);
    prices.usable_bytes.assign(static_cast<std::size_t>(places), 0);
    prices.most_in_node = places;
    prices.hop = drawn(0, 20);
    prices.place_update = drawn(0, 30);
    const ScheduleKinds kinds{.single = !copied, .copied = copied, .splits = true, .turned = !copied, .per_place = 2};
    double best = -1;
    std::vector<std::size_t> bounds{0};
    for_each_cut(prices.least.size(), bounds, static_cast<std::size_t>(copied ? places : 2 * places),
                 [&](const std::vector<std::size_t>& cut) {
                   const double turns = static_cast<double>(microbatches) / (copied ? 2 : 1);
                   const double time = folded_time(prices, cut, copied, turns);
                   if (best < 0 || time < best) best = time;
                 });
    const auto bound = static_cast<double>(packing_bound(prices, places, microbatches, kinds));
    CHECK(bound >= best - 3);
    higher += bound <= best + 3 ? 1 : 0;
  }
  CHECK(higher > 20);  // it decides
}

TEST_CASE("what a search believes of a schedule holds at every size: backwards, moves, pairs and the mirrored places") {
  for (const ScheduleVariant& variant : schedule_variants({})) {
    CAPTURE(variant.spec->name);
    for (std::int32_t p = 1; p <= 8; ++p) {
      for (const std::int64_t m : {1, 2, 3, 4, 6, 8, 12, 16, 24}) {
        ScheduleParams params{.num_devices = p, .num_microbatches = m, .chunks = variant.chunks};
        params.costs = [](std::int32_t stages) { return abstract_costs("F=2,I=2,W=2", "", {.num_stages = stages}); };
        Schedule schedule;
        try {
          schedule = generate(variant.spec->name, params);
        } catch (const Error&) {
          continue;
        }
        bool fused = false;
        bool split = false;
        bool moves = false;
        bool pairs = false;
        bool late = false;
        for (const DeviceList& list : schedule.devices) {
          for (std::size_t at = 0; at < list.actions.size(); ++at) {
            const Action& action = list.actions[at];
            fused = fused || action.op == Op::kB;
            split = split || action.op == Op::kW;
            moves = moves || is_move(action.op);
            if (action.overlaps_next == 0) continue;
            pairs = true;
            const Op other = list.actions[at + 1].op;
            late = late || ((is_backward(action.op) || action.op == Op::kW) && (is_backward(other) || other == Op::kW));
          }
        }
        CHECK(!(fused && !variant.fuses && variant.splits));
        CHECK(!(split && !variant.splits && variant.fuses));
        CHECK(!(moves && !variant.moves));
        CHECK(!(pairs && !variant.overlaps));
        CHECK(!(late && !variant.hides_backwards));
        const std::string_view placement = variant.spec->placement;
        for (std::size_t copy = 0; copy < schedule.placement.size(); ++copy) {
          for (std::size_t s = 0; s < schedule.placement[copy].size(); ++s) {
            for (const DeviceId holder : schedule.placement[copy][s]) {
              const auto at = static_cast<std::int32_t>(index(holder));
              const auto along = static_cast<std::int32_t>(s % static_cast<std::size_t>(p));
              const bool first_run = s < static_cast<std::size_t>(p);
              if (placement == "bidirectional") CHECK((at == along || at == p - 1 - along));
              if (first_run && placement != "bidirectional") CHECK(at == along);
              if (placement == "looped") CHECK(at == along);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("without memory for the forwards before the first gradient places wait: eight equal layers on four places") {
  LayerPrices prices;
  prices.least.assign(8, {.alone = {10, 20, 10, 10}, .paired = {10, 20, 10, 10}, .kept_bytes = 100});
  prices.speed.assign(4, 1.0);
  prices.usable_bytes.assign(4, 0);
  prices.again_takes_all = true;
  prices.most_in_node = 4;
  const ScheduleKinds kinds{.single = true, .fuses = true, .splits = true, .turned = true};
  const auto bound = [&](const ScheduleKinds& of) { return packing_bound(prices, 4, 4, of); };
  CHECK(bound(kinds) >= 239);  // 4 microbatches of two layers of 30
  CHECK(bound(kinds) <= 270);  // the last place begins after three layers' forwards
  prices.usable_bytes.assign(4, 250);
  // The first gradient comes after 80. Before it a place has done forwards for 250 bytes: 25 of its 240.
  CHECK(bound(kinds) >= 80 + 240 - 25 - 2);
  CHECK(bound(kinds) <= 80 + 240 - 25);
  ScheduleKinds moving = kinds;
  moving.moves = true;
  CHECK(bound(moving) <= 270);
  prices.least.front().held_bytes = 100;  // takes room for 10 of forwards where it is
  CHECK(bound(kinds) >= 80 + 240 - 25 - 2);
}

TEST_CASE("no plan of a transformer that fits is below the bound, with much memory and with little") {
  int fitting = 0;
  int higher = 0;
  KnownPassCounts passes;
  for (const auto& [share, microbatches] : {std::pair(25, 8), std::pair(90, 8), std::pair(90, 3)}) {
    plumb::testing::SmallTransformerJob made(share);
    made.microbatches = microbatches;
    const LayerPrices prices = layer_prices(made.job, made.parallelism, 4, false);
    REQUIRE(!prices.least.empty());
    REQUIRE(prices.place_update > 0);
    for (const ScheduleVariant& variant : schedule_variants({.chunks = {2, 3}})) {
      if (schedule_variants({.schedules = {std::string(variant.spec->name)}}).front().sliced) continue;
      const ScheduleKinds kinds = kinds_of({variant});
      const LayerPrices& own = variant.overlaps ? made.paired : prices;
      for (const std::int32_t places : {2, 3, 4}) {
        const auto stages = static_cast<std::size_t>(variant.stages(places));
        if (stages > made.job.num_layers) continue;
        const Ticks least = std::max(packing_bound(own, places, made.microbatches, kinds),
                                     setup_bound(own, places, made.microbatches, kinds));
        const Ticks counted = counted_bound(passes, variant, own, {places, made.microbatches});
        higher += counted > least ? 1 : 0;
        for (const Partition& cut : all_cuts(made.job.num_layers, stages)) {
          const std::int64_t step = made.step(variant, places, cut);
          if (step == 0) continue;
          CAPTURE(variant.spec->name);
          CHECK(step >= least);
          CHECK(step >= counted);
          ++fitting;
        }
      }
    }
  }
  CHECK(fitting > 500);
  CHECK(higher > 5);  // overlapped pairs with many passes beside them
}

TEST_CASE("a bound of which no more than some step is asked is that step, or else the bound itself") {
  plumb::testing::SmallTransformerJob made(90);
  for (const ScheduleVariant& variant : schedule_variants({.chunks = {2}})) {
    CAPTURE(variant.spec->name);
    const LayerPrices& prices = made.paired;
    const ScheduleKinds kinds = kinds_of({variant});
    const Ticks whole = packing_bound(prices, 4, 8, kinds);
    CHECK(packing_bound(prices, 4, 8, kinds, {.sufficient = whole - whole / 10}) >= whole - whole / 10);
    const Ticks limited = packing_bound(prices, 4, 8, kinds, {.sufficient = whole + whole / 10});
    CHECK(limited <= whole + whole / 100'000);
    CHECK(limited >= whole - whole / 100'000);
  }
}

TEST_CASE("places lose what nothing hides after the last forward, of layers with communication only") {
  LayerPrices prices;
  const LayerLeast layer{.alone = {10, 30, 0, 0}, .paired = {8, 20, 0, 0}};
  prices.least.assign(8, layer);
  prices.speed.assign(4, 1.0);
  prices.usable_bytes.assign(4, 0);
  prices.most_in_node = 4;
  const ScheduleKinds kinds{.overlaps = true, .single = true, .fuses = true, .looped = true, .per_place = 2};
  const auto bound = [&] { return packing_bound(prices, 4, 4, kinds); };
  // Two layers on each place: 4 x 56. Of the way there, 80, and back, 240, a fifth and a third are lost; the last place
  // begins after three layers, and after its last backward come three.
  CHECK(bound() >= 224 + 16 + 80 + 24 + 60 - 6);
  CHECK(bound() <= 224 + 16 + 80 + 24 + 60);
  // A layer with nothing to hide, of which a place may have all backwards (4 x 20) in that time.
  prices.least.front() = {.alone = {8, 20, 0, 0}, .paired = {8, 20, 0, 0}};
  CHECK(bound() >= 224 + (230 - 84) / 3 - 1);
  CHECK(bound() < 224 + 16 + 80 + 24 + 60);
}

TEST_SUITE_END();
