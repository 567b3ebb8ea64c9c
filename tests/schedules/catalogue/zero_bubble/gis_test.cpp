#include <doctest/doctest.h>

#include "models/sources/abstract_costs.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/checks/validate.hpp"
#include "tests/support/device_span.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/unrolled.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

/// Largest number of stashes in the device's own memory.
std::int64_t most_here(const DeviceList& list) {
  std::int64_t here = 0;
  std::int64_t most = 0;
  for (const Action& action : expand(list)) {
    if (action.op == Op::kF || action.op == Op::kLoad) ++here;
    if (action.op == Op::kW || action.op == Op::kEvict) --here;
    most = std::max(most, here);
  }
  return most;
}

}  // namespace

TEST_CASE("gis takes 3 v m + 2 (p - 1) + (p - g)(v - 1) slots") {
  for (const std::int32_t p : {2, 4, 8}) {
    for (const std::int32_t v : {2, 3}) {
      for (const std::int32_t group : {p, p / 2}) {
        const std::int64_t m = 3 * std::int64_t{p};
        CAPTURE(p);
        CAPTURE(v);
        CAPTURE(group);
        const Schedule schedule = generate(
            "gis",
            {.num_devices = p, .num_microbatches = m, .chunks = v, .options = {{"group", std::to_string(group)}}});
        CHECK(longest_device_span(schedule, kEqualPasses) == 3 * v * m + 2 * (p - 1) + (p - group) * (v - 1));
        CHECK(largest_peak(schedule) == (group == p ? v * p : p / 2 * (v + 1)));
      }
    }
  }
}

TEST_CASE("gis takes any number of microbatches, and groups from half of the devices on") {
  for (const std::int64_t m : {1, 2, 5, 7, 13}) {
    CHECK(validate(generate("gis", {.num_devices = 4, .num_microbatches = m, .options = {{"group", "3"}}})).empty());
  }
  const auto message = [](const char* group) {
    return error_message([&] {
      generate("gis", {.num_devices = 5, .num_microbatches = 10, .options = {{"group", group}}});
    });
  };
  CHECK(message("2") == "gis: group (2) must be from 3 to num_devices (5)");
  CHECK(message("6") == "gis: group (6) must be from 3 to num_devices (5)");
  CHECK(message("3").empty());
}

TEST_CASE("groups of gis are so large that a group's work is as long as the way through the pipeline, and no larger") {
  // F 6, I and W 1: a microbatch takes 8 of a stage, and 6 x 4 to the last one, so three of them suffice.
  const auto told = [](const char* group) {
    return error_message([&] {
      ScheduleParams params{.num_devices = 4, .num_microbatches = 12, .options = {{"group", group}}};
      params.costs = [](std::int32_t stages) { return abstract_costs("F=6,I=1,W=1", "", {.num_stages = stages}); };
      generate("gis", params);
    });
  };
  CHECK(told("5") == "gis: group (5) must be from 3 to num_devices (4)");
  CHECK(told("4") == "");
  CHECK(told("3") == "");
  CHECK(told("2") == "gis: group (2) must be from 3 to num_devices (4)");
}

TEST_CASE("pipeoffload keeps no more than the released scheduler was seen to keep") {
  struct Seen {
    std::int32_t chunks;
    const char* group;
    std::vector<std::int64_t> peaks;  // by number of chunks offloaded, from 1 on
  };
  for (const Seen& seen : {Seen{2, "4", {7, 4}}, Seen{3, "4", {11, 7, 3}}, Seen{4, "8", {24, 16, 8}}}) {
    for (std::size_t i = 0; i < seen.peaks.size(); ++i) {
      const Schedule schedule =
          generate("pipeoffload", {.num_devices = 8,
                                   .num_microbatches = 24,
                                   .chunks = seen.chunks,
                                   .options = {{"group", seen.group}, {"offload", std::to_string(i + 1)}}});
      CAPTURE(seen.chunks);
      CAPTURE(i);
      CHECK(validate(schedule).empty());
      for (const DeviceList& list : schedule.devices) CHECK(most_here(list) <= seen.peaks[i]);
    }
  }
}

TEST_CASE("pipeoffload without its moves is gis") {
  const ScheduleParams params{.num_devices = 4, .num_microbatches = 12, .chunks = 3};
  const Schedule schedule = generate("pipeoffload", params);
  const Schedule plain = generate("gis", params);
  for (std::size_t d = 0; d < 4; ++d) {
    std::vector<Action> actions = expand(schedule.devices[d]);
    std::erase_if(actions, [](const Action& action) { return action.op == Op::kEvict || action.op == Op::kLoad; });
    CHECK(actions == expand(plain.devices[d]));
  }
}

TEST_CASE("gis runs the forward of its first chunks again right before their backward, and is itself without that") {
  const ScheduleParams plain{.num_devices = 4, .num_microbatches = 10, .chunks = 3};
  ScheduleParams params = plain;
  params.options["recompute"] = "2";
  const Schedule schedule = generate("gis", params);
  CHECK(validate(schedule).empty());
  for (std::size_t d = 0; d < 4; ++d) {
    std::vector<Action> actions = expand(schedule.devices[d]);
    for (std::size_t i = 0; i < actions.size(); ++i) {
      const bool first_chunks = static_cast<std::int32_t>(actions[i].stage) < 2 * 4;
      if (actions[i].op == Op::kI) CHECK((actions[i - 1].op == Op::kR) == first_chunks);
      if (actions[i].op != Op::kR) continue;
      CHECK(actions[i + 1].stage == actions[i].stage);
      CHECK(actions[i + 1].microbatch == actions[i].microbatch);
    }
    std::erase_if(actions, [](const Action& action) { return action.op == Op::kR; });
    CHECK(actions == expand(generate("gis", plain).devices[d]));
  }
  params.options["recompute"] = "4";
  CHECK(error_message([&] { generate("gis", params); }) ==
        "gis: recompute (4) must be at most the chunks per device (3)");
}

TEST_CASE("the pictures of gis and pipeoffload are those in tests/golden") {
  const std::string plain = picture(generate("gis", {.num_devices = 2, .num_microbatches = 4}), {});
  CHECK(plain == golden("schedules/gis.txt", plain));
  const std::string offloaded = picture(generate("pipeoffload", {.num_devices = 2, .num_microbatches = 4}), {});
  CHECK(offloaded == golden("schedules/pipeoffload.txt", offloaded));
}

}  // namespace plumb::testing

TEST_SUITE_END();
