#include <doctest/doctest.h>

#include <array>
#include <fstream>
#include <sstream>
#include <string>

#include "schedules/catalogue/searched/order_proof.hpp"
#include "schedules/catalogue/searched/span_bound.hpp"
#include "tests/support/order_problems.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/source_directory.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {

TEST_CASE("the small instances of results/search/optimal.csv have the optima that it says, none above the authors'") {
  constexpr std::int64_t kQuick = kSanitized ? 24 : 100;  // passes on all devices
  constexpr std::int64_t kDecided = 128;  // passes of a problem whose bound a short branch and bound raises
  constexpr std::int64_t kPlenty = 20'000'000;
  std::ifstream file(in_source("results/search/optimal.csv"));
  std::string line;
  std::getline(file, line);
  int proved = 0;
  while (std::getline(file, line)) {
    std::istringstream stream(line);
    std::string what;
    std::getline(stream, what, ',');
    std::vector<std::int64_t> cells;
    for (std::string cell; cells.size() < 12 && std::getline(stream, cell, ',');) cells.push_back(std::stoll(cell));
    REQUIRE(cells.size() == 12);
    CAPTURE(line);
    const std::int64_t authors = cells[7];
    const std::int64_t found = cells[8];
    const std::int64_t best = cells[10];
    CHECK(found <= authors);
    CHECK(best <= found);
    const auto p = static_cast<std::int32_t>(cells[0]);
    const auto m = static_cast<std::int32_t>(cells[1]);
    const std::array<Ticks, 3> times{cells[2], cells[3], cells[4]};
    const OrderProblem problem =
        what == "zb" ? straight_of(p, m, times, cells[5], cells[6]) : v_of(p, m, times, cells[5], cells[6]);
    CHECK(least_span(problem) <= cells[9]);
    CHECK(cells[9] <= best);
    if (problem.size() > kDecided) CHECK(least_span(problem) == cells[9]);
    if (problem.size() > kQuick || best != cells[11]) continue;
    const ProvedOrder again = prove_order(problem, {.words = {}, .found = 2 * authors, .bound = cells[9]}, kPlenty);
    CHECK(again.found == best);
    CHECK(again.bound == best);
    ++proved;
  }
  CHECK(proved >= (kSanitized ? 1 : 100));
}

}  // namespace plumb::testing

TEST_SUITE_END();
