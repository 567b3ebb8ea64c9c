#include <doctest/doctest.h>

#include <algorithm>

#include "models/sources/abstract_costs.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/checks/validate.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/replay.hpp"
#include "tests/support/stage_list.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

Schedule diffusionpipe(std::int64_t p, std::int64_t m, std::map<std::string, std::string> options) {
  return generate("diffusionpipe",
                  {.num_devices = static_cast<std::int32_t>(p), .num_microbatches = m, .options = std::move(options)});
}

std::string without_extras(std::string list) {
  for (std::size_t at = list.find('X'); at != std::string::npos; at = list.find('X')) {
    list.erase(at, std::min(list.find(' ', at), list.size() - 1) - at + 1);
  }
  return list;
}

}  // namespace

TEST_CASE("the backbone of diffusionpipe is 1f1b, and every piece of frozen work runs once, in order") {
  for (const std::int64_t p : {1, 2, 4}) {
    for (const std::int64_t m : {1, 4, 7}) {
      const Schedule ours = diffusionpipe(p, m, {{"layers", "3"}, {"parts", "2"}});
      const Schedule plain = generate("1f1b", {.num_devices = static_cast<std::int32_t>(p), .num_microbatches = m});
      for (std::int64_t d = 0; d < p; ++d) {
        CAPTURE(p);
        CAPTURE(m);
        CHECK(without_extras(stage_list(ours, d) + " ") == stage_list(plain, d) + " ");
        std::int32_t next = 0;
        for (const Action& action : expand(ours.devices[static_cast<std::size_t>(d)])) {
          if (action.op == Op::kX) CHECK(static_cast<std::int32_t>(action.microbatch) == next++);
        }
        CHECK(next == 6);
      }
    }
  }
}

TEST_CASE("frozen work that fits the bubbles costs no time, and what does not fit costs itself") {
  // p = 4, m = 8, B = 2 F: every device is idle for (p - 1)(F + B) = 9. Pieces of 1 (work / (p parts)).
  const auto makespan = [](std::int64_t layers) {
    return replay(diffusionpipe(4, 8, {{"layers", std::to_string(layers)}, {"parts", "1"}, {"work", "4"}}),
                  {.f = 1, .b = 2, .x = 1})
        .makespan;
  };
  for (const std::int64_t layers : {1, 5, 9}) CHECK(makespan(layers) == 33);
  CHECK(makespan(10) == 34);
  CHECK(makespan(14) == 38);
}

TEST_CASE("a layer that is longer than any bubble fits when it may be cut") {
  const auto makespan = [](const char* parts) {
    return replay(diffusionpipe(4, 8, {{"layers", "1"}, {"parts", parts}, {"work", "36"}}), {.f = 1, .b = 2, .x = 1})
        .makespan;
  };
  CHECK(makespan("1") > 33);
  CHECK(makespan("9") == 33);
}

TEST_CASE("pieces are sized and placed by the costs that were asked for") {
  const auto costs = [](std::int32_t stages) { return abstract_costs("F=1,B=4,X=2", "", {.num_stages = stages}); };
  const Schedule schedule = generate("diffusionpipe", {.num_devices = 4,
                                                       .num_microbatches = 8,
                                                       .options = {{"layers", "6"}, {"parts", "1"}, {"work", "4"}},
                                                       .costs = costs});
  CHECK(replay(schedule, {.f = 1, .b = 4, .x = 2}).makespan == 5 * 11);
  CHECK(schedule.extras.at("X0").units == 1.0);
}

TEST_CASE("frozen work of several updates has numbers of its own") {
  const Schedule schedule = generate("diffusionpipe", {.num_devices = 3, .num_microbatches = 2, .updates = 3});
  CHECK(validate(schedule).empty());
  CHECK(schedule.extras.size() == 3 * 16);
}

TEST_CASE("device d of diffusionpipe keeps min(p - d, m) activations") {
  CHECK(peak_stashes(diffusionpipe(4, 8, {})) == std::vector<std::int64_t>{4, 3, 2, 1});
}

TEST_CASE("diffusionpipe names the rule that a request breaks") {
  CHECK(error_message([] {
          diffusionpipe(2, 2, {{"layers", "5000"}});
        }) == "diffusionpipe: layers (5000) times parts (4) must be at most 4096");
}

TEST_CASE("the picture of diffusionpipe is the one in tests/golden") {
  const std::string actual = picture(diffusionpipe(4, 6, {{"layers", "2"}, {"parts", "4"}, {"work", "16"}}), {});
  CHECK(actual == golden("schedules/diffusionpipe.txt", actual));
}

}  // namespace plumb::testing

TEST_SUITE_END();
