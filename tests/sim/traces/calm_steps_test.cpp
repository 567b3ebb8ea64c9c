#include "sim/traces/calm_steps.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

TEST_SUITE_BEGIN("sim");

using namespace plumb;

namespace {

using Lengths = std::vector<std::int64_t>;
using Numbers = std::vector<std::int32_t>;

}  // namespace

TEST_CASE(
    "steps that took more than a quarter longer than the median are left out; of two the median is the shorter one") {
  CHECK(calm_steps(Lengths{120, 158, 100, 126, 157}) == Numbers{0, 2, 3, 4});
  CHECK(calm_steps(Lengths{126, 100}) == Numbers{1});
  CHECK(calm_steps(Lengths{125, 100}) == Numbers{0, 1});
  CHECK(calm_steps(Lengths{}).empty());
}

TEST_CASE("where steps are of two kinds, those of the median count, and a sentence says which others there are") {
  const Lengths lengths{833'400'000, 833'400'000, 434'900'000};
  CHECK(calm_steps(lengths) == Numbers{0, 1});
  CHECK(left_out_steps(lengths) ==
        std::vector<std::string>{
            "Step 2 (434.9 ms) is left out of all means: the run has steps of two kinds, and the others took more "
            "than 1.25 times as long (833.4 ms or more). If those were disturbed, trace more steps."});
  CHECK(calm_steps(Lengths{833, 435, 834, 434}) == Numbers{1, 3});
}

TEST_CASE("what is left out as disturbed is named with its length and the median's; of calm runs nothing is said") {
  CHECK(left_out_steps(Lengths{305'000'000, 700'000'000, 300'000'000, 500'000'000}) ==
        std::vector<std::string>{"Steps 1 (700 ms) and 3 (500 ms) are more than 1.25 times as long as the median step "
                                 "(305 ms), so disturbed: left out of all means."});
  CHECK(left_out_steps(Lengths{100, 110, 125}).empty());
  CHECK(left_out_steps(Lengths{}).empty());
}

TEST_SUITE_END();
