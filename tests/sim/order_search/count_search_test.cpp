#include "sim/order_search/count_search.hpp"

#include <doctest/doctest.h>

#include "models/sources/abstract_costs.hpp"
#include "schedules/checks/validate.hpp"

TEST_SUITE_BEGIN("sim");

namespace {

using namespace plumb;

constexpr Ticks kCountMs = 1'000'000;

const char* const kOneFOneB = "let warmup = min(p-1-d, m)\nwarmup: F0\nm-warmup: F0 B0\nwarmup: B0\n";

VariedCounts varied(const std::string& rules, ScheduleParams params, const std::string& times, double most_kept,
                    std::int64_t simulations = 2'000) {
  OrderRun run{.costs = abstract_costs(times, "", {.num_stages = params.num_devices})};
  run.fits = [most_kept](const Timeline& timeline) {
    for (const DeviceSummary& device : timeline.devices) {
      if (most_kept > 0 && device.peak_activations > most_kept) return false;
    }
    return true;
  };
  return vary_counts({phase_rules_from_text(rules, "a.rules"), "a.rules", std::move(params)}, run, simulations, 1);
}

}  // namespace

TEST_CASE("with slow links, counts of 1F1B become those of a longer warm-up, as far as memory allows") {
  const ScheduleParams sizes{.num_devices = 4, .num_microbatches = 8};
  // 1F1B: (m - 1 + p)(F + B) and its round trips of messages; without messages nothing is better.
  const VariedCounts none = varied(kOneFOneB, sizes, "F=1,B=2", 0);
  CHECK(none.makespan == 33 * kCountMs);
  CHECK(none.changes.empty());
  // Eager 1F1B (warm-ups of 6, 4, 2 and 0 forwards) takes 36 ms here: twice the warm-up hides transfers.
  const VariedCounts eager = varied(kOneFOneB, sizes, "F=1,B=2,comm=0.5", 0);
  CHECK(eager.makespan <= 36 * kCountMs);
  CHECK(eager.changes.starts_with("warmup +"));
  // In the memory of eager 1F1B the search finds its warm-ups of 6, 4, 2 and 0 forwards again.
  const VariedCounts found = varied(kOneFOneB, {.num_devices = 4, .num_microbatches = 12}, "F=1,B=2,comm=1", 7, 5'000);
  CHECK(found.makespan == 51 * kCountMs);
  CHECK(found.changes == "warmup +1 on d2, warmup +2 on d1, warmup +3 on d0");
  const VariedCounts tight = varied(kOneFOneB, sizes, "F=1,B=2,comm=0.5", 4);
  CHECK(tight.makespan > eager.makespan);
}

TEST_CASE("options of rules are varied, and a start that does not fit is left") {
  const std::string groups =
      "option k = m\npadded (m+k-1)/k*k\nlet groups = (m+k-1)/k\nlet warmup = min(p-d, groups)-1\nwarmup: k*F0\n"
      "groups-warmup: k*F0 k*B0\nwarmup: k*B0\n";
  // k = 8 is GPipe, which keeps 8; k = 1 is 1F1B, which keeps 4 at most.
  const VariedCounts found = varied(groups, {.num_devices = 4, .num_microbatches = 8}, "F=1,B=2", 4);
  CHECK(found.makespan == 33 * kCountMs);
  CHECK(found.changes == "k=1");
}

TEST_CASE("counts with which a forward is in a pair with its own backward are no step") {
  const std::string overlapped = "let warmup = min(2*(p-1-d)+1, m)\nwarmup: F0\nm-warmup: (F0;B0)\nwarmup: B0\n";
  for (const std::int64_t m : {8, 16}) {
    CAPTURE(m);
    // One forward less before the pairs, 3F0 beside 3B0, would take 29 and 49.
    const VariedCounts found = varied(overlapped, {.num_devices = 4, .num_microbatches = m}, "F=1,B=2,FB=2.5", 0);
    CHECK(validate(found.schedule).empty());
    CHECK(2 * found.makespan == (m == 8 ? 59 : 99) * kCountMs);
  }
}

TEST_SUITE_END();
