#include <doctest/doctest.h>

#include <algorithm>

#include "schedules/catalogue/registry.hpp"
#include "schedules/checks/validate.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/replay.hpp"
#include "tests/support/unrolled.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

Schedule mobius(std::int64_t p, std::int64_t m, std::int32_t v) {
  return generate("mobius", {.num_devices = static_cast<std::int32_t>(p), .num_microbatches = m, .chunks = v});
}

}  // namespace

TEST_CASE("chunks of mobius are loaded one ahead and evicted after their last microbatch") {
  CHECK(list_text(mobius(2, 2, 3), 0) ==
        "0LOAD@host 2LOAD@host 0F0 0F1 0EVICT@host 4LOAD@host 2F0 2F1 2EVICT@host 4F0 4F1 2LOAD@host 4B0 4B1 4U0 "
        "4EVICT@host 0LOAD@host 2B0 2B1 2U0 2EVICT@host 0B0 0B1 0U0 0EVICT@host");
  CHECK(list_text(mobius(2, 2, 2), 1) ==
        "1LOAD@host 3LOAD@host 1F0 1F1 1EVICT@host 3F0 3F1 1LOAD@host 3B0 3B1 3EVICT@host 3LOAD@host 1B0 1B1 1U0 "
        "1EVICT@host 3U0 3EVICT@host");
  CHECK(list_text(mobius(2, 2, 1), 1) == "1LOAD@host 1F0 1F1 1B0 1B1 1U0 1EVICT@host");
}

TEST_CASE("a device of mobius holds two chunks at most, computes only on what it holds, and gives all back") {
  for (const std::int64_t p : {1, 3}) {
    for (const std::int32_t v : {1, 2, 3, 6}) {
      const Schedule schedule = mobius(p, 5, v);
      for (const DeviceList& list : schedule.devices) {
        std::vector<StageId> held;
        for (const Action& action : expand(list)) {
          const auto at = std::find(held.begin(), held.end(), action.stage);
          CHECK((at == held.end()) == (action.op == Op::kLoad));
          if (action.op == Op::kLoad) held.push_back(action.stage);
          if (action.op == Op::kEvict) held.erase(at);
          CHECK(held.size() <= 2);
        }
        CHECK(held.empty());
      }
    }
  }
}

TEST_CASE("stages of mobius alternate between root complexes, in lists that are those of the ring") {
  ScheduleParams params{.num_devices = 6, .num_microbatches = 2, .chunks = 2, .options = {{"complexes", "2"}}};
  const Schedule crossed = generate("mobius", params);
  CHECK(validate(crossed).empty());
  const std::vector<std::int32_t> ring{0, 3, 1,
                                       4, 2, 5};  // devices 0 to 2 stand below one complex, 3 to 5 below another
  for (std::size_t stage = 0; stage < 12; ++stage) {
    CHECK(crossed.placement[0][stage] == std::vector{DeviceId{ring[stage % 6]}});
    const std::size_t device = static_cast<std::size_t>(ring[stage % 6]);
    CHECK(crossed.devices[device] == mobius(6, 2, 2).devices[stage % 6]);
  }
  params.options["complexes"] = "4";
  CHECK(error_message([&] { generate("mobius", params); }) == "mobius: complexes (4) must divide num_devices (6)");
}

TEST_CASE("without the moves mobius takes m v (F + B) + (p - 1)(F + B) of a chunk") {
  for (const std::int64_t p : {1, 2, 4}) {
    for (const std::int64_t m : {p, 2 * p + 1}) {
      for (const std::int32_t v : {1, 2, 4}) {
        CHECK(replay(mobius(p, m, v), {.f = 1, .b = 2}).makespan == 3 * (m * v + p - 1));
      }
    }
  }
}

TEST_CASE("every device of mobius keeps the activations of all microbatches in all chunks") {
  CHECK(peak_stashes(mobius(3, 4, 2)) == std::vector<std::int64_t>(3, 8));
}

TEST_CASE("the picture of mobius is the one in tests/golden") {
  const std::string actual = picture(mobius(2, 3, 3), {});
  CHECK(actual == golden("schedules/mobius.txt", actual));
}

}  // namespace plumb::testing

TEST_SUITE_END();
