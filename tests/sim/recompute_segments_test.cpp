#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/simulated.hpp"

TEST_SUITE_BEGIN("sim");

namespace plumb {
namespace {

/// Activations of PipeMare's slots model as the simulator counts them, over all devices. A slot's forward stands beside
/// the backward of its pair: where forwards leave something, that is one more than between two slots.
double activations(std::int32_t p, std::int64_t segment) {
  testing::Case c{.name = "pipemare", .p = p, .m = 1, .cost = "F=1,B=1", .updates = 4 * std::int64_t{p}};
  c.options = {{"timing", "slots"}};
  if (segment > 0) c.options["segment"] = std::to_string(segment);
  const Timeline timeline = testing::simulated(c);
  double sum = 0;
  for (const DeviceSummary& device : timeline.devices) sum += device.peak_activations;
  const std::int64_t inputs = segment == 0 ? p : (p + segment - 1) / segment;
  return sum - static_cast<double>(inputs);
}

/// Counting rule of PipeMare-Recompute: inputs of the segments, and what is replayed in those of several stages.
std::int64_t counted(std::int64_t p, std::int64_t segment) {
  std::int64_t sum = 0;
  for (std::int64_t start = 1; start <= p; start += segment) {
    const std::int64_t end = std::min(start + segment - 1, p);
    sum += 2 * (p - start) + 1;
    for (std::int64_t i = start; i <= end && end > start; ++i) sum += 2 * (end - i) + 1;
  }
  return sum;
}

}  // namespace

TEST_CASE("PipeMare keeps P^2 activations, and with recompute over segments as many as its slots count") {
  for (const std::int32_t p : {1, 2, 5, 8}) {
    CAPTURE(p);
    CHECK(activations(p, 0) == p * p);
    for (std::int64_t segment = 1; segment <= p; ++segment) {
      CAPTURE(segment);
      CHECK(activations(p, segment) == counted(p, segment));
    }
  }
}

TEST_CASE("the best segments of PipeMare-Recompute for 47 to 214 stages keep the published activations") {
  struct Cell {
    std::int32_t stages;
    std::int64_t segment;
    std::int64_t activations;
  };
  for (const Cell& cell : {Cell{47, 7, 676}, Cell{93, 10, 1859}, Cell{107, 10, 2292}, Cell{150, 12, 3779},
                           Cell{186, 14, 5210}, Cell{214, 15, 6421}}) {
    CAPTURE(cell.stages);
    CHECK(counted(cell.stages, cell.segment) == cell.activations);
  }
  CHECK(activations(47, 7) == 676);
  CHECK(activations(107, 10) == 2292);
}

}  // namespace plumb

TEST_SUITE_END();
