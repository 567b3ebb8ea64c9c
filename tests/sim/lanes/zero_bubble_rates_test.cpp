#include <doctest/doctest.h>

#include <array>
#include <string>

#include "tests/support/simulated.hpp"

TEST_SUITE_BEGIN("sim");

namespace plumb::testing {
namespace {

/// A row of tables 5 and 9 of Qi et al., Zero Bubble Pipeline Parallelism, arXiv 2401.10241: profiled times in ms, then
/// bubble rates in units of 0.0001.
struct PublishedRow {
  std::int32_t p;
  std::int64_t m;
  const char* cost;
  int one_f_one_b, interleaved, h1, h2, one_p, two_p;
};

constexpr std::array<PublishedRow, 12> kRows{{
    {8, 24, "F=18.522,I=18.086,W=9.337,comm=0.601", 2431, 1055, 1585, 1083, 1585, 433},
    {8, 32, "F=18.513,I=18.086,W=9.331,comm=0.626", 1985, 818, 1242, 837, 1242, 39},
    {8, 64, "F=18.546,I=18.097,W=9.321,comm=0.762", 1240, 443, 674, 444, 674, 26},
    {8, 24, "F=29.718,I=29.444,W=19.927,comm=0.527", 2347, 808, 1323, 698, 1323, 29},
    {8, 32, "F=29.802,I=29.428,W=19.530,comm=0.577", 1898, 628, 1045, 559, 1045, 22},
    {8, 64, "F=29.935,I=29.621,W=19.388,comm=0.535", 1091, 320, 554, 294, 554, 10},
    {16, 48, "F=11.347,I=11.248,W=8.132,comm=0.377", 2552, 1104, 1397, 672, 1397, 66},
    {16, 64, "F=11.307,I=11.254,W=8.101,comm=0.379", 2082, 852, 1088, 516, 1088, 54},
    {16, 128, "F=11.325,I=11.308,W=8.109,comm=0.378", 1251, 445, 576, 266, 576, 28},
    {32, 96, "F=10.419,I=10.207,W=7.715,comm=0.408", 2646, 1493, 1421, 641, 1421, 38},
    {32, 128, "F=10.408,I=10.204,W=7.703,comm=0.408", 2168, 1164, 1106, 490, 1106, 29},
    {32, 256, "F=10.402,I=10.248,W=7.698,comm=0.460", 1352, 624, 594, 257, 594, 18},
}};

/// Chunks of 1F1B-I in the table: one layer per chunk.
constexpr std::array<std::int64_t, 12> kChunks{3, 3, 3, 4, 4, 4, 3, 3, 3, 2, 2, 2};

int rate_of(std::string_view name, const PublishedRow& row) {
  const auto costs = [&](std::int32_t num_stages) {
    return abstract_costs(row.cost, "F=2,I=-1,W=-1", {.num_stages = num_stages});
  };
  const Schedule schedule = generate(name, {.num_devices = row.p, .num_microbatches = row.m, .costs = costs});
  const Timeline timeline = simulate(lower(schedule, costs(row.p)), {.spans = false, .memory_curve = false});
  return static_cast<int>(timeline.bubble_rate * 10000 + 0.5);
}

}  // namespace

TEST_CASE("the bubble rates of 1F1B, ZB-H1, ZB-H2, ZB-1p and ZB-2p are the published ones to four digits") {
  for (const PublishedRow& row : kRows) {
    CAPTURE(row.p);
    CAPTURE(row.m);
    CHECK(rate_of("1f1b", row) == row.one_f_one_b);
    CHECK(rate_of("zb-h1", row) == row.h1);
    CHECK(rate_of("zb-h2", row) == row.h2);
    CHECK(rate_of("zb-1p", row) == row.one_p);
    CHECK(rate_of("zb-2p", row) == row.two_p);
  }
}

TEST_CASE("the bubble rates of interleaved 1F1B follow from the closed form to four digits") {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    const PublishedRow& row = kRows[i];
    const StageCosts costs = abstract_costs(row.cost, "", {});
    const double t = static_cast<double>(costs.times[0].f + costs.times[0].i + costs.times[0].w);
    const double c = static_cast<double>(*costs.comm);
    const auto v = static_cast<double>(kChunks[i]);
    const double length = (static_cast<double>(row.m) + (row.p - 1) / v) * t + (2 * v * row.p - row.p - 2) * c;
    CAPTURE(row.p);
    CAPTURE(row.m);
    CHECK(static_cast<int>((1 - static_cast<double>(row.m) * t / length) * 10000 + 0.5) == row.interleaved);
  }
}

}  // namespace plumb::testing

TEST_SUITE_END();
