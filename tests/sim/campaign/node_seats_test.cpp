#include "sim/campaign/node_seats.hpp"

#include <doctest/doctest.h>

TEST_SUITE_BEGIN("sim");

namespace plumb {

TEST_CASE("seats are left and taken, and a stage is lost with its last node") {
  std::vector<CampaignNode> nodes;
  for (std::int32_t id = 0; id < 6; ++id) nodes.push_back({.id = id, .ready = true, .used = id != 2});
  NodeSeats seats;
  seats.seat({2, 2}, nodes);  // 0 1, 3 4; node 5 is too many for the layout, and would sit in a third pipeline
  CHECK(seats.has(0));
  CHECK_FALSE(seats.has(2));
  CHECK_FALSE(seats.leave(2));
  CHECK(seats.leave(4));
  CHECK(seats.empty() == 1);
  CHECK_FALSE(seats.lost_stage());
  CHECK(seats.leave(1));  // the other holder of the second stage
  CHECK(seats.most_empty() == 2);
  CHECK(seats.lost_stage());
  CHECK(seats.take_empty(7));
  CHECK_FALSE(seats.lost_stage());
  CHECK(seats.take_empty(8));
  CHECK_FALSE(seats.take_empty(9));
}

TEST_CASE("a pipeline whose nodes share its work evenly takes the harmonic mean of their factors") {
  std::vector<CampaignNode> nodes;
  for (std::int32_t id = 0; id < 4; ++id) nodes.push_back({.id = id, .ready = true, .used = true});
  NodeSeats seats;
  seats.seat({2, 2}, nodes);
  CHECK(seats.balanced_factor(nodes) == 1);
  nodes[3].factor = 3;
  CHECK(seats.balanced_factor(nodes) == doctest::Approx(2 / (1 + 1.0 / 3)));
}

}  // namespace plumb

TEST_SUITE_END();
