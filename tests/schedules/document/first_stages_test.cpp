#include "schedules/document/first_stages.hpp"

#include <utility>
#include <vector>

#include <doctest/doctest.h>

TEST_SUITE_BEGIN("schedules");

namespace plumb {
namespace {

using StageNumbers = std::vector<std::int32_t>;

StageNumbers first_of(std::int32_t stages,
                      const std::optional<std::vector<std::pair<std::int32_t, std::int32_t>>>& edges) {
  Schedule schedule;
  schedule.num_stages = stages;
  if (edges) {
    schedule.stage_edges.emplace();
    for (const auto& edge : *edges) schedule.stage_edges->emplace_back(StageId{edge.first}, StageId{edge.second});
  }
  StageNumbers numbers;
  for (const StageId stage : first_stages(schedule)) numbers.push_back(static_cast<std::int32_t>(stage));
  return numbers;
}

}  // namespace

TEST_CASE("data comes in by the stage that no edge leads to, whatever its number") {
  CHECK(first_of(3, std::nullopt) == StageNumbers{0, 0, 0});
  CHECK(first_of(3, {{{0, 1}, {1, 2}}}) == StageNumbers{0, 0, 0});
  CHECK(first_of(3, {{{2, 1}, {1, 0}}}) == StageNumbers{2, 2, 2});
  CHECK(first_of(4, {{{1, 3}, {3, 0}, {0, 2}, {1, 2}}}) == StageNumbers{1, 1, 1, 1});
}

TEST_CASE("of several first stages that lead to a stage the lowest counts, and each is its own") {
  CHECK(first_of(3, std::vector<std::pair<std::int32_t, std::int32_t>>{}) == StageNumbers{0, 1, 2});
  CHECK(first_of(3, {{{2, 0}, {1, 0}}}) == StageNumbers{1, 1, 2});
  CHECK(first_of(5, {{{0, 4}, {1, 2}, {2, 4}, {3, 2}}}) == StageNumbers{0, 1, 1, 3, 0});
}

}  // namespace plumb

TEST_SUITE_END();
