#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

#include "schedules/catalogue/registry.hpp"
#include "schedules/checks/validate.hpp"
#include "schedules/document/schedule_io.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/replay.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

Schedule travelling(const std::string& name, std::int64_t p, std::int64_t m, const std::string& option,
                    std::int64_t updates = 1) {
  ScheduleParams params{
      .num_devices = static_cast<std::int32_t>(p), .num_microbatches = m, .updates = updates, .options = {}};
  if (!option.empty()) params.options[name == "weipipe" ? "pass" : "node"] = option;
  return generate(name, params);
}

/// Weights of how many stages the edges carry to each worker, and gradients.
std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>> carried_to(const Schedule& schedule) {
  std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>> carried;
  for (const ExtraEdge& edge : schedule.extra_edges) {
    auto& [weights, gradients] = carried[static_cast<std::int64_t>(index(edge.after.replica))];
    weights += std::ssize(edge.weights);
    gradients += std::ssize(edge.gradients);
  }
  return carried;
}

}  // namespace

TEST_CASE("weipipe in lock step takes (m + p - 1)(F + B), as 1f1b does, though nothing but weights travels") {
  for (const std::int64_t p : {1, 2, 3, 4, 8}) {
    for (const std::int64_t each : {2, 3, 6}) {
      CAPTURE(p);
      CAPTURE(each);
      const std::int64_t m = p * each;
      CHECK(replay(travelling("weipipe", p, m, "after"), {.f = 1, .b = 2}).makespan == 3 * (m + p - 1));
      CHECK(replay(travelling("weipipe", p, m, "after"), {.f = 3, .b = 4}).makespan == 7 * (m + p - 1));
    }
  }
}

TEST_CASE("weipipe that passes weights on before it uses them has no bubble where messages are free") {
  for (const std::int64_t p : {1, 2, 4, 6}) {
    for (const std::int64_t each : {1, 2, 5}) {
      CAPTURE(p);
      CAPTURE(each);
      CHECK(replay(travelling("weipipe", p, p * each, "before"), {.f = 1, .b = 2}).makespan == 3 * p * each);
    }
  }
}

TEST_CASE("tawpipe has no bubble on one or two nodes, and on more at most that of as many stages") {
  for (const std::int64_t p : {1, 2, 4, 6}) {
    for (const std::int64_t node : {1, 2, 3, 6}) {
      if (p % node != 0) continue;
      const std::int64_t nodes = p / node;
      for (const std::int64_t each : {1, 2, 5}) {
        CAPTURE(p);
        CAPTURE(node);
        CAPTURE(each);
        const Replay run = replay(travelling("tawpipe", p, p * each, std::to_string(node)), {.f = 1, .b = 2});
        CHECK(run.finished);
        CHECK(run.makespan >= 3 * p * each);
        CHECK(run.makespan <= 3 * (p * each + (nodes > 2 ? nodes - 1 : 0)));
      }
    }
  }
}

TEST_CASE("every worker of weipipe and tawpipe runs its own microbatches through all stages, and keeps p stashes") {
  for (const std::string name : {"weipipe", "tawpipe"}) {
    CAPTURE(name);
    const Schedule schedule = travelling(name, 4, 12, "", 2);
    CHECK(validate(schedule).empty());
    for (std::int64_t worker = 0; worker < 4; ++worker) {
      std::map<std::int64_t, std::int64_t> passes;
      for (const Action& action : expand(schedule.devices[static_cast<std::size_t>(worker)])) {
        CHECK(index(action.replica) == static_cast<std::size_t>(worker));
        if (action.op == Op::kF) ++passes[static_cast<std::int64_t>(action.microbatch)];
        if (action.op == Op::kB) --passes[static_cast<std::int64_t>(action.microbatch)];
      }
      CHECK(passes.size() == 6);
      CHECK(std::ranges::all_of(passes, [](const auto& pass) { return pass.second == 0; }));
    }
    CHECK(peak_stashes(schedule) == std::vector<std::int64_t>{4, 4, 4, 4});
  }
}

TEST_CASE(
    "in a ring, weipipe carries two stages' weights and one stage's gradients in all turns but the first and last") {
  for (const std::string pass : {"after", "before"}) {
    const auto carried = carried_to(travelling("weipipe", 4, 12, pass));
    CHECK(carried.size() == 4);
    for (const auto& [worker, count] : carried) CHECK(count == std::pair<std::int64_t, std::int64_t>{2 * 14, 14});
  }
}

TEST_CASE("tawpipe brings every stage once into a node, and to each of the others in the node") {
  const Schedule schedule = travelling("tawpipe", 4, 8, "2");
  std::int64_t between = 0;
  std::int64_t within = 0;
  for (const ExtraEdge& edge : schedule.extra_edges) {
    const bool same = index(edge.before.replica) / 2 == index(edge.after.replica) / 2;
    (same ? within : between) += std::ssize(edge.weights);
  }
  // Two nodes, 8 forwards and 8 backwards of each: half of the stages lie in the other node.
  CHECK(between == 2 * 16 / 2);
  CHECK(within == 2 * 16);
}

TEST_CASE("weipipe and tawpipe say what they cannot do") {
  CHECK(error_message([] { travelling("weipipe", 4, 6, "after"); }) ==
        "weipipe: num_microbatches (6) must be a multiple of num_devices (4)");
  CHECK(error_message([] { travelling("tawpipe", 4, 4, "3"); }) == "tawpipe: node (3) must divide num_devices (4)");
  CHECK(error_message([] { travelling("weipipe", 8, 1 << 20, "after"); }) ==
        "weipipe: (m + 2p) x p x updates must be at most 2^20");
}

TEST_CASE("the pictures of weipipe and tawpipe are those in tests/golden") {
  const std::string ring = picture(travelling("weipipe", 3, 6, "after"), {.x = 0});
  CHECK(ring == golden("schedules/weipipe.txt", ring));
  const std::string nodes = picture(travelling("tawpipe", 4, 4, "2"), {.x = 0});
  CHECK(nodes == golden("schedules/tawpipe.txt", nodes));
}

}  // namespace plumb::testing

TEST_SUITE_END();
