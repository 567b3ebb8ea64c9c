#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "tests/support/simulated.hpp"

TEST_SUITE_BEGIN("sim");

namespace plumb {
namespace {

using testing::Case;
using testing::in_units;
using testing::simulated;

double makespan_of(const Case& c) {
  const Timeline timeline = simulated(c);
  return in_units(timeline.makespan, timeline.base);
}

/// Makespan in units, cost `F=1,B=2` of a whole device.
struct Vector {
  std::string_view name;
  std::int32_t p;
  std::int64_t m;
  std::int32_t chunks;
  double makespan;
};

}  // namespace

TEST_CASE("bubble fraction of gpipe and 1f1b is (p-1)/(m+p-1) for equal stages and free transfers") {
  for (const std::string_view name : {"gpipe", "1f1b"}) {
    for (const std::int32_t p : {1, 2, 3, 4, 8, 16}) {
      for (const std::int64_t m : {1, 2, 3, 7, 16, 33}) {
        CAPTURE(name);
        CAPTURE(p);
        CAPTURE(m);
        const Timeline timeline = simulated({.name = name, .p = p, .m = m});
        CHECK(in_units(timeline.makespan, timeline.base) == static_cast<double>(3 * (m + p - 1)));
        CHECK(timeline.bubble_fraction == doctest::Approx(static_cast<double>(p - 1) / static_cast<double>(m + p - 1)));
      }
    }
  }
}

TEST_CASE("bubble fraction of interleaved is (p-1)/(v m+p-1) for groups of at least p that divide m") {
  for (const std::int32_t v : {1, 2, 3, 4}) {
    for (const std::int32_t p : {2, 3, 4, 8}) {
      for (const std::int64_t group : {p, p + 1, 2 * p}) {
        for (const std::int64_t m : {group, 3 * group}) {
          CAPTURE(v);
          CAPTURE(p);
          CAPTURE(m);
          const Timeline timeline = simulated({.name = "interleaved",
                                               .p = p,
                                               .m = m,
                                               .chunks = v,
                                               .per_device = true,
                                               .options = {{"group", std::to_string(group)}}});
          CHECK(timeline.bubble_fraction ==
                doctest::Approx(static_cast<double>(p - 1) / static_cast<double>(v * m + p - 1)));
        }
      }
    }
  }
}

TEST_CASE("makespans are those of the published test vectors") {
  const std::vector<Vector> vectors = {
      {"1f1b", 2, 4, 1, 15},
      {"interleaved", 2, 4, 2, 13.5},
      {"interleaved", 2, 4, 4, 12.75},
      {"gpipe", 4, 4, 1, 21},
      {"1f1b", 4, 4, 1, 21},
      {"interleaved", 4, 4, 2, 16.5},
      {"interleaved", 4, 4, 4, 14.25},
      {"1f1b", 4, 8, 1, 33},
      {"interleaved", 4, 8, 2, 28.5},
      {"interleaved", 4, 8, 4, 26.25},
      {"interleaved", 4, 16, 2, 52.5},
      {"interleaved", 4, 16, 4, 50.25},
      {"interleaved", 8, 8, 2, 34.5},
      {"interleaved", 8, 8, 4, 29.25},
      {"interleaved", 8, 16, 2, 58.5},
      {"interleaved", 8, 32, 4, 101.25},
      {"interleaved", 16, 16, 2, 70.5},
      {"1f1b", 16, 16, 1, 93},
      {"chimera", 4, 4, 1, 16},
      {"chimera", 4, 8, 1, 30},
      {"chimera", 4, 16, 1, 58},
      {"chimera", 8, 8, 1, 36},
      {"chimera", 8, 16, 1, 66},
      {"chimera", 8, 32, 1, 126},
      {"chimera", 16, 16, 1, 76},
      {"chimera", 4, 2, 1, 12},
      {"chimera", 6, 6, 1, 26},
      {"breadth-first", 4, 8, 4, 26.25},
      {"breadth-first", 8, 8, 2, 34.5},
      {"breadth-first", 16, 16, 4, 59.25},
      {"bitpipe", 4, 16, 2, 53},
      {"bitpipe", 8, 16, 2, 57},
      {"bitpipe", 16, 16, 2, 62},
      {"1f1b", 4, 1, 1, 12},
      {"gpipe", 4, 2, 1, 15},
      {"1f1b", 4, 3, 1, 18},
      {"1f1b", 8, 4, 1, 33},
      {"interleaved", 4, 3, 2, 15},
      {"interleaved", 8, 4, 2, 28.5},
  };
  for (const Vector& v : vectors) {
    CAPTURE(v.name);
    CAPTURE(v.p);
    CAPTURE(v.m);
    CAPTURE(v.chunks);
    CHECK(makespan_of({.name = v.name, .p = v.p, .m = v.m, .chunks = v.chunks, .per_device = true}) == v.makespan);
  }
}

TEST_CASE("latency on every edge between devices costs what the published vectors say") {
  struct Latencies {
    std::string_view name;
    std::int64_t m;
    std::int32_t chunks;
    std::array<double, 4> makespans;
  };
  const std::vector<Latencies> rows = {
      {"gpipe", 4, 1, {21, 22.5, 24, 27}},
      {"1f1b", 4, 1, {21, 23.5, 26, 31}},
      {"1f1b", 8, 1, {33, 37, 41, 49}},
      {"interleaved", 4, 2, {16.5, 20, 23.5, 31}},
      {"interleaved", 8, 2, {28.5, 32, 35.5, 46}},
      {"chimera", 4, 1, {16, 17.75, 19.5, 23}},
      {"chimera", 8, 1, {30, 32.75, 35.5, 41}},
      {"eager-1f1b", 8, 1, {33, 34.5, 36, 39}},
      {"kfkb", 8, 1, {33, 34.5, 36, 39}},
      {"breadth-first", 4, 2, {16.5, 20, 23.5, 30.5}},
      {"gems", 4, 1, {39, 42.75, 46.5, 54}},
      {"bitpipe", 4, 2, {14, 17.25, 20.5, 27}},
      {"bitpipe", 8, 2, {27, 33, 39, 51}},
      {"hanayo", 4, 2, {18, 21.5, 25, 32}},
      {"hanayo", 4, 4, {15.25, 22, 29, 43}},
  };
  constexpr std::array<std::string_view, 4> kCosts = {"F=1,B=2,comm=0", "F=1,B=2,comm=0.25", "F=1,B=2,comm=0.5",
                                                      "F=1,B=2,comm=1"};
  for (const Latencies& row : rows) {
    for (std::size_t c = 0; c < kCosts.size(); ++c) {
      CAPTURE(row.name);
      CAPTURE(row.m);
      CAPTURE(kCosts[c]);
      CHECK(makespan_of(
                {.name = row.name, .p = 4, .m = row.m, .cost = kCosts[c], .chunks = row.chunks, .per_device = true}) ==
            row.makespans[c]);
    }
  }
}

TEST_CASE("unequal stages take what the published vectors say") {
  const auto makespan = [](std::string_view name, std::int64_t m) {
    const Schedule schedule = testing::schedule_of({.name = name, .p = 4, .m = m});
    StageCosts costs = abstract_costs("F=1,B=2", "", {.num_stages = 4});
    const std::array<Ticks, 4> f = {1, 3, 2, 1};
    const std::array<Ticks, 4> b = {2, 5, 4, 2};
    for (std::size_t s = 0; s < 4; ++s) {
      costs.times[s].f = f[s];
      costs.times[s].b = b[s];
    }
    return simulate(lower(schedule, costs)).makespan;
  };
  CHECK(makespan("1f1b", 4) == 39);
  CHECK(makespan("1f1b", 8) == 71);
  CHECK(makespan("1f1b", 12) == 103);
  CHECK(makespan("eager-1f1b", 4) == 39);
  CHECK(makespan("eager-1f1b", 8) == 67);
  CHECK(makespan("eager-1f1b", 12) == 99);
  CHECK(makespan("gpipe", 4) == 44);
  CHECK(makespan("gpipe", 8) == 76);
  CHECK(makespan("gpipe", 12) == 108);
}

TEST_CASE("bubble rates of 1f1b and zb-h1 are those of the zero-bubble paper, to all four digits") {
  struct Published {
    std::int32_t p;
    std::int64_t m;
    std::string_view cost;  // profiled T_F, T_B (our I), T_W, T_comm in ms: table 9
    double one_f_one_b;     // table 5
    double zb_h1;
  };
  const std::vector<Published> rows = {
      {8, 24, "F=18.522,I=18.086,W=9.337,comm=0.601", .2431, .1585},
      {8, 32, "F=18.513,I=18.086,W=9.331,comm=0.626", .1985, .1242},
      {8, 64, "F=18.546,I=18.097,W=9.321,comm=0.762", .1240, .0674},
      {8, 24, "F=29.718,I=29.444,W=19.927,comm=0.527", .2347, .1323},
      {8, 32, "F=29.802,I=29.428,W=19.530,comm=0.577", .1898, .1045},
      {8, 64, "F=29.935,I=29.621,W=19.388,comm=0.535", .1091, .0554},
      {16, 48, "F=11.347,I=11.248,W=8.132,comm=0.377", .2552, .1397},
      {16, 64, "F=11.307,I=11.254,W=8.101,comm=0.379", .2082, .1088},
      {16, 128, "F=11.325,I=11.308,W=8.109,comm=0.378", .1251, .0576},
      {32, 96, "F=10.419,I=10.207,W=7.715,comm=0.408", .2646, .1421},
      {32, 128, "F=10.408,I=10.204,W=7.703,comm=0.408", .2168, .1106},
      {32, 256, "F=10.402,I=10.248,W=7.698,comm=0.460", .1352, .0594},
  };
  const auto four_digits = [](double rate) { return std::llround(rate * 1e4); };
  for (const Published& row : rows) {
    CAPTURE(row.cost);
    CAPTURE(row.m);
    const double one = simulated({.name = "1f1b", .p = row.p, .m = row.m, .cost = row.cost}).bubble_rate;
    const double zb = simulated({.name = "zb-h1", .p = row.p, .m = row.m, .cost = row.cost}).bubble_rate;
    CHECK(four_digits(one) == four_digits(row.one_f_one_b));
    CHECK(four_digits(zb) == four_digits(row.zb_h1));
  }
}

TEST_CASE("peaks of activations are m (gpipe), p - d (1f1b) and p everywhere (zb-h1, I frees nothing)") {
  for (const std::int32_t p : {1, 2, 4, 8}) {
    for (const std::int64_t m : {8, 9, 20}) {
      CAPTURE(p);
      CAPTURE(m);
      const Timeline gpipe = simulated({.name = "gpipe", .p = p, .m = m});
      const Timeline one = simulated({.name = "1f1b", .p = p, .m = m});
      const Timeline zb = simulated({.name = "zb-h1", .p = p, .m = m, .cost = "F=1,I=1,W=1", .memory = "F=1,I=0,W=-1"});
      const Timeline zb_counted = simulated({.name = "zb-h1", .p = p, .m = m, .cost = "F=1,I=1,W=1"});
      for (std::int32_t d = 0; d < p; ++d) {
        const auto at = static_cast<std::size_t>(d);
        CHECK(gpipe.devices[at].peak_activations == static_cast<double>(m));
        CHECK(one.devices[at].peak_activations == p - d);
        CHECK(zb.devices[at].peak_activations == p);
        CHECK(zb_counted.devices[at].peak_activations == p);
      }
    }
  }
}

TEST_CASE("idle intervals of 1f1b with p = 4, m = 8 lie where the picture shows them") {
  const Timeline timeline = simulated({.name = "1f1b", .p = 4, .m = 8});
  using Intervals = std::vector<std::pair<double, double>>;
  std::vector<Intervals> idle(4);
  for (const Span& span : timeline.spans) {
    if (span.idle_before == 0) continue;
    idle[index(span.device)].emplace_back(in_units(span.start - span.idle_before, timeline.base),
                                          in_units(span.start, timeline.base));
  }
  CHECK(idle[0] == Intervals{{4, 10}, {24, 25}, {27, 28}, {30, 31}});
  CHECK(idle[1] == Intervals{{0, 1}, {4, 8}, {25, 26}, {28, 29}});
  CHECK(idle[2] == Intervals{{0, 2}, {4, 6}, {26, 27}});
  CHECK(idle[3] == Intervals{{0, 3}});
  for (const DeviceSummary& device : timeline.devices) CHECK(in_units(device.idle, timeline.base) == 9);
}

}  // namespace plumb

TEST_SUITE_END();
