#include "tools/reports/report_csv.hpp"

#include <doctest/doctest.h>

#include "tests/support/golden.hpp"
#include "tests/support/synthetic_timeline.hpp"

TEST_SUITE_BEGIN("tools");

namespace plumb {
namespace {

using testing::golden;
using testing::synthetic_timeline;

TEST_CASE("the CSV of two devices and two microbatches has a row per span, causes only after idle time") {
  const std::string csv =
      in_one_piece(csv_report, synthetic_timeline({.devices = 2, .microbatches = 2, .transfer_ns = 250'000}));
  CHECK(csv == golden("reports/two_by_two.csv", csv));
}

TEST_CASE("rows of the CSV that differ in slice or pair alone, or in what a number counts, differ") {
  Timeline timeline;
  timeline.spans = {{.action = {.slice = 2, .op = Op::kF, .overlaps_next = 1}, .start = 4, .end = 8},
                    {.action = {.microbatch = MicrobatchId{3}, .op = Op::kX}, .start = 4, .end = 8}};
  const std::string csv = in_one_piece(csv_report, timeline);
  CHECK(csv.find(",2,1,0F0.2\n") != std::string::npos);
  CHECK(csv.find(",,0,0X3\n") != std::string::npos);
}

TEST_CASE("ticks of a fraction of a nanosecond are rounded to whole nanoseconds") {
  Timeline timeline;
  timeline.base.ticks_per_ns = 3;
  timeline.spans = {{.action = {.op = Op::kF}, .start = 4, .end = 8, .idle_before = 4}};
  CHECK(in_one_piece(csv_report, timeline).find("0,compute,F,0,0,0,1,3,1,compute,,0,0F0\n") != std::string::npos);
}

}  // namespace
}  // namespace plumb

TEST_SUITE_END();
