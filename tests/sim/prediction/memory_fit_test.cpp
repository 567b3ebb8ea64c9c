#include "sim/prediction/memory_fit.hpp"

#include <cmath>

#include <doctest/doctest.h>

#include "models/jobs/job_memory.hpp"

TEST_SUITE_BEGIN("sim");

using namespace plumb;

namespace {

KernelRates rates_with(double reserve) {
  KernelRates rates;
  rates.context_bytes = 300;
  rates.library_bytes = 200;
  rates.memory_reserve = reserve;
  return rates;
}

}  // namespace

TEST_CASE("the largest peak that may fit needs no more than the limit, and no byte more may be added") {
  for (const std::int64_t limit : {1'000, 1'001, 80'000, 81'234}) {
    for (const double reserve : {0.0, 0.1, 0.25, 0.333}) {
      const KernelRates rates = rates_with(reserve);
      const std::int64_t peak = largest_peak(limit, rates, FitMargin::kNone);
      CHECK(memory_need(peak, rates, limit).needed_bytes <= limit);
      CHECK(memory_need(peak + 1, rates, limit).needed_bytes > limit);
      const std::int64_t sure = largest_peak(limit, rates, FitMargin::kError);
      CHECK(memory_need(sure, rates, limit).verdict() == MemoryVerdict::kFits);
      CHECK(memory_need(sure + 1, rates, limit).verdict() != MemoryVerdict::kFits);
      CHECK(sure <= peak);
    }
  }
  CHECK(largest_peak(0, rates_with(0.1), FitMargin::kNone) == 0);
  CHECK(largest_peak(100, rates_with(0.1), FitMargin::kError) == 1);
}

TEST_CASE("a job is tight exactly where its limit is within the error of its prediction") {
  const KernelRates rates = rates_with(0.05);
  const MemoryNeed need = memory_need(100'000, rates, 0);
  const auto verdict = [&](std::int64_t limit) { return memory_need(100'000, rates, limit).verdict(); };
  CHECK(need.least_bytes < need.needed_bytes);
  CHECK(need.needed_bytes < need.most_bytes);
  CHECK(verdict(need.most_bytes) == MemoryVerdict::kFits);
  CHECK(verdict(need.most_bytes - 1) == MemoryVerdict::kTight);
  CHECK(verdict(need.least_bytes) == MemoryVerdict::kTight);
  CHECK(verdict(need.least_bytes - 1) == MemoryVerdict::kExceeds);
  CHECK(verdict_word(verdict(need.needed_bytes)) == "tight");
}

TEST_CASE("devices need what is predicted within their own limit: the one that is given, or else their memory") {
  Timeline run;
  run.devices.resize(2);
  run.devices[0].peak_memory_bytes = 70;
  run.devices[1].peak_memory_bytes = 80;
  PricedPipeline priced;
  CHECK(limit_bytes(0, priced, {.value = 99.6}) == 100);
  CHECK(limit_bytes(0, priced, {}) == 0);
  priced.cluster.emplace();
  priced.cluster->devices.resize(1);
  priced.cluster->devices[0].memory_bytes = 75;
  CHECK(limit_bytes(0, priced, {}) == 75);
  CHECK(limit_bytes(1, priced, {}) == 0);
  CHECK(limit_bytes(0, priced, {.value = 99}) == 99);
  fill_memory(run, priced, {.in_bytes = true});
  CHECK(run.devices[0].need == exact_need(70, 75));
  CHECK_FALSE(run.devices[1].need);
  fill_memory(run, priced, {.in_bytes = true, .value = 0});
  CHECK(run.devices[1].need == exact_need(80, 0));
  priced.rates = rates_with(0.1);
  fill_memory(run, priced, {});
  CHECK(run.devices[0].need == memory_need(70, *priced.rates, 75));
  CHECK(run.devices[1].need == memory_need(80, *priced.rates, 0));
}

TEST_CASE("the verdict about a run is that of its worst device, and stashes fit or do not") {
  Timeline timeline;
  timeline.devices.resize(2);
  timeline.devices[0].need = exact_need(5, 10);
  timeline.devices[1].need = memory_need(100'000, rates_with(0.05), 106'000);
  CHECK(memory_verdict(timeline, {.in_bytes = true}) == MemoryVerdict::kTight);
  CHECK(most_needed(timeline) == 105'500);
  timeline.devices[0].need = exact_need(11, 10);
  CHECK(memory_verdict(timeline, {.in_bytes = true}) == MemoryVerdict::kExceeds);

  CHECK_FALSE(fits(timeline, {.in_bytes = true}));
  timeline.devices[0].need = exact_need(10, 10);
  timeline.devices[1].need = exact_need(10, 10);
  CHECK(fits(timeline, {.in_bytes = true}));
  for (const std::size_t full : {0U, 1U}) {
    timeline.devices[full].need = exact_need(11, 10);
    CHECK_FALSE(fits(timeline, {.in_bytes = true}));
    CHECK_FALSE(fits(timeline, full, {.in_bytes = true}));
    CHECK(fits(timeline, 1 - full, {.in_bytes = true}));
    timeline.devices[full].need = exact_need(10, 10);
  }

  Timeline stashes;
  stashes.devices.resize(1);
  stashes.devices[0].peak_activations = 4;
  CHECK(memory_verdict(stashes, {}) == MemoryVerdict::kUnknown);
  CHECK(memory_verdict(stashes, {.value = 4}) == MemoryVerdict::kFits);
  CHECK(memory_verdict(stashes, {.value = 3}) == MemoryVerdict::kExceeds);
  CHECK(fits(stashes, {}));
  CHECK(fits(stashes, {.value = 4}));
  CHECK_FALSE(fits(stashes, {.value = 3.9}));
  CHECK(fits(stashes, {.value = 2, .stash_share = 0.5}));
  CHECK_FALSE(fits(stashes, {.value = 2, .stash_share = 0.5, .per_stage = true}));
}

TEST_SUITE_END();
