#include "sim/order_search/repetend.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/shaped_blocks.hpp"

TEST_SUITE_BEGIN("sim");

namespace {

using namespace plumb;

constexpr std::int64_t kRepetendNodes = 200'000;

struct SmallestPeriod {
  std::string shape;
  std::int32_t devices;
  std::int64_t limit;
  Ticks period;
  testing::ShapeCosts costs{};
};

}  // namespace

TEST_CASE("the smallest periods of Tessel's shapes are found and proved") {
  const testing::ShapeCosts three{.times = "F=1,B=3,S=1,T=1"};
  const testing::ShapeCosts loss{.times = "F=1,B=2,S=1,T=2", .memory = ""};
  const std::vector<SmallestPeriod> all{{"v", 2, 2, 3},
                                        {"v", 2, 3, 3},
                                        {"v", 2, 4, 3},
                                        {"v", 3, 2, 6},
                                        {"v", 3, 3, 3},
                                        {"v", 3, 4, 3},
                                        {"v", 4, 2, 6},
                                        {"v", 4, 3, 6},
                                        {"v", 4, 4, 3},
                                        {"v", 2, 1, 6},
                                        {"m", 2, 1, 10, three},
                                        {"m", 2, 2, 6, three},
                                        {"m", 2, 3, 6, three},
                                        {"m", 2, 4, 6, three},
                                        {"m", 2, 5, 6, three},
                                        {"m", 4, 3, 10, three},
                                        {"m", 4, 4, 7, three},
                                        {"m", 4, 5, 6, three},
                                        {"m", 4, 6, 6, three},
                                        {"nn", 2, 1, 12, three},
                                        {"nn", 2, 2, 8, three},
                                        {"nn", 2, 3, 8, three},
                                        {"nn", 2, 4, 8, three},
                                        {"nn", 2, 5, 8, three},
                                        {"nn", 4, 4, 9, three},
                                        {"nn", 4, 5, 9, three},
                                        {"nn", 4, 6, 8, three},
                                        {"interlaced", 2, 3, 12, loss},
                                        {"interlaced", 2, 6, 9, loss}};
  for (const SmallestPeriod& row : all) {
    CAPTURE(row.shape);
    CAPTURE(row.devices);
    CAPTURE(row.limit);
    const testing::ShapedBlocks made =
        testing::shaped_blocks(row.shape, row.devices, 1, static_cast<double>(row.limit), row.costs);
    const FoundRepetend found = search_repetend(made.problem, 1, kRepetendNodes);
    CHECK(found.repetend.period == row.period * testing::kShapeUnit);
    CHECK(found.proved());
  }
}

TEST_SUITE_END();
