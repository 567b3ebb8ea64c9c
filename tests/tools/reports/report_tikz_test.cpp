#include "tools/reports/report_tikz.hpp"

#include <doctest/doctest.h>

#include "tests/support/golden.hpp"
#include "tests/support/synthetic_timeline.hpp"

TEST_SUITE_BEGIN("tools");

namespace plumb {
namespace {

using testing::golden;
using testing::synthetic_timeline;

TEST_CASE("the TikZ picture of two devices and two microbatches is the reviewed one") {
  const std::string tikz = tikz_report(synthetic_timeline({.devices = 2, .microbatches = 2, .transfer_ns = 250'000}));
  CHECK(tikz == golden("reports/two_by_two.tikz", tikz));
}

TEST_CASE("a schedule's name cannot leave the comment in which the TikZ picture names it") {
  const std::string tikz = tikz_report(synthetic_timeline({.name = "a\n\\input{b}", .devices = 1, .microbatches = 1}));
  CHECK(tikz.find("\n\\input") == std::string::npos);
}

TEST_CASE("ten times the microbatches do not make a long TikZ picture larger than its hairs allow") {
  const std::string once = tikz_report(synthetic_timeline({.devices = 2, .microbatches = 10'000}));
  const std::string ten_times = tikz_report(synthetic_timeline({.devices = 2, .microbatches = 100'000}));
  CHECK(once.size() < 200'000);
  CHECK(ten_times.size() < once.size() * 11 / 10);
}

}  // namespace
}  // namespace plumb

TEST_SUITE_END();
