#include "tools/sweep_grid.hpp"

#include <doctest/doctest.h>

#include "models/error.hpp"
#include "tools/sweep_table.hpp"

TEST_SUITE_BEGIN("tools");

namespace {

using namespace plumb;
using Numbers = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("ranges are numbers, steps and mixtures of both") {
  CHECK(parse_range("4", "-p") == Numbers{4});
  CHECK(parse_range("2,4,8", "-p") == Numbers{2, 4, 8});
  CHECK(parse_range("8:64:16", "-p") == Numbers{8, 24, 40, 56});
  CHECK(parse_range("8:24:8", "-p") == Numbers{8, 16, 24});
  CHECK(parse_range("1,2:4", "-p") == Numbers{1, 2, 3, 4});
}

TEST_CASE("a range that is none says what was expected") {
  for (const char* text : {"", ",", "4:2", "0", "1:2:0", "1:2:3:4", "a", "1:", ":2", "2,,4", "1:1000000"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_range(text, "-p"), Error);
  }
  CHECK_THROWS_WITH_AS(parse_range("8:4", "-m"), "-m: '4' is out of range, expected 8 to 1099511627776", Error);
}

TEST_CASE("a sweep runs every combination, schedules outermost and microbatches innermost") {
  const auto points =
      sweep_grid({.schedules = {"a", "b"}, .devices = {2, 4}, .chunks = {1}, .microbatches = {8, 16}}, {});
  std::vector<std::string> titles;
  for (const SweepPoint& point : points) titles.push_back(sweep_title(point));
  CHECK(titles == std::vector<std::string>{"a p=2 m=8", "a p=2 m=16", "a p=4 m=8", "a p=4 m=16", "b p=2 m=8",
                                           "b p=2 m=16", "b p=4 m=8", "b p=4 m=16"});
}

TEST_CASE("a sweep's CSV quotes what contains commas and leaves impossible points empty") {
  SweepResult possible;
  possible.point = {"1f1b", {.num_devices = 2, .num_microbatches = 4, .chunks = 1}};
  possible.timeline.emplace();
  possible.timeline->makespan = 3'000'000;
  possible.timeline->bubble_fraction = 0.25;
  possible.timeline->devices.resize(1);
  possible.timeline->devices[0].peak_activations = 2.5;
  SweepResult impossible;
  impossible.point = {"chimera", {.num_devices = 3, .num_microbatches = 4, .chunks = 1}};
  impossible.error = "chimera: 3, \"odd\"";
  const std::string text = sweep_csv({possible, impossible});
  CHECK(text.substr(text.find('\n') + 1) ==
        "1f1b,2,4,1,1,3000000,0,0,0.25,0,0,,,,2.5,0,true,\n"
        "chimera,3,4,1,,,,,,,,,,,,,,\"chimera: 3, \"\"odd\"\"\"\n");
}
