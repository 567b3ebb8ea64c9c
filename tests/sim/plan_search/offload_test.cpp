#include "sim/plan_search/offload.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "models/sources/abstract_costs.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/checks/validate.hpp"
#include "schedules/document/schedule_io.hpp"
#include "sim/simulate.hpp"
#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("plan search");

namespace {

using namespace plumb;

Schedule four_stages(const std::string& name = "1f1b", std::int64_t m = 8) {
  return generate(name, {.num_devices = 4, .num_microbatches = m});
}

std::string list_of(const Schedule& schedule, std::size_t device) {
  std::string text;
  for (const Action& action : expand(schedule.devices[device])) text += (text.empty() ? "" : " ") + to_string(action);
  return text;
}

Timeline run_of_moved(const Schedule& schedule, const std::string& times) {
  const StageCosts costs = abstract_costs(times, "", {.num_stages = schedule.num_stages});
  return simulate_summary(schedule, costs, nullptr, {}, {});
}

}  // namespace

TEST_CASE("a stash leaves right behind its forward and comes back one pass before its backward") {
  const Schedule moved = with_offload(four_stages("1f1b", 6), {50, 0, 0, 0});
  CHECK(list_of(moved, 0) ==
        "0F0 0F1 0EVICT1@host 0F2 0F3 0EVICT3@host 0B0 0LOAD1@host 0F4 0B1 0F5 0EVICT5@host 0LOAD3@host 0B2 0B3 "
        "0LOAD5@host 0B4 0B5 0U0");
  CHECK(moved.devices[1] == with_offload(four_stages("1f1b", 6), {0, 0, 0, 0}).devices[1]);
  CHECK(validate(moved).empty());
}

TEST_CASE("stashes on the host spare memory, and time is lost only where copies do not hide") {
  const Schedule kept = four_stages("gpipe", 12);
  const Schedule moved = with_offload(kept, {100, 100, 100, 0});
  CHECK(validate(moved).empty());
  const std::string fast = "F=1,B=2,EVICT=0.9,LOAD=0.9";
  CHECK(run_of_moved(kept, fast).devices[0].peak_activations == 12);
  CHECK(run_of_moved(moved, fast).devices[0].peak_activations <= 3);
  CHECK(run_of_moved(moved, fast).devices[3].peak_activations == 12);
  CHECK(run_of_moved(moved, fast).makespan == run_of_moved(kept, fast).makespan);
  CHECK(run_of_moved(moved, "F=1,B=2,EVICT=3,LOAD=3").makespan > run_of_moved(kept, fast).makespan);
}

TEST_CASE("all shares leave as many of 100 microbatches as they say, where there is time enough") {
  for (const std::int32_t percent : {0, 25, 50, 75, 100}) {
    const Schedule moved = with_offload(four_stages("gpipe", 20), {percent, 0, 0, 0});
    const auto actions = expand(moved.devices[0]);
    const auto leaving = std::ranges::count(actions, Op::kEvict, &Action::op);
    CHECK(leaving == std::ranges::count(actions, Op::kLoad, &Action::op));
    CHECK(leaving <= 20 * percent / 100);
    CHECK(leaving >= 20 * percent / 100 - 2);  // the last two go backwards first
  }
}

TEST_CASE("what has no such stashes is refused") {
  const auto error = [](const Schedule& schedule, const std::vector<std::int32_t>& percent) {
    return testing::error_message([&] { with_offload(schedule, percent); });
  };
  CHECK(error(four_stages(), {100, 100}) == "offload: 2 shares, expected one for each of the 4 stages");
  CHECK(error(four_stages(), {101, 0, 0, 0}) == "offload: expected 0 to 100 percent, found 101");
  const Schedule moving = generate("bpipe", {.num_devices = 4, .num_microbatches = 8});
  CHECK(error(moving, std::vector<std::int32_t>(static_cast<std::size_t>(moving.num_stages), 0)) ==
        "offload: expected a schedule that moves, recomputes and merges nothing itself");
}

TEST_SUITE_END();
