#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/lowering/lower.hpp"
#include "schedules/program/program_text.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/lines.hpp"
#include "tests/support/written_schedule.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

StageCosts validated_costs(const Schedule& schedule) {
  StageCosts costs;
  costs.times.assign(static_cast<std::size_t>(schedule.num_stages), StageTimes{.f = 1, .b = 2, .u = 1});
  return costs;
}

std::string validated_text(const Schedule& schedule, const LowerOptions& options = {}) {
  return program_to_text(lower(schedule, validated_costs(schedule), nullptr, options));
}

Schedule updates_of_one(const std::vector<std::string>& lists, std::int64_t updates) {
  Schedule schedule = written_schedule(lists, updates);
  schedule.microbatches_per_update = {1};
  return schedule;
}

}  // namespace

TEST_CASE("a V may run its forwards again where one stands between it and its update, and keeps what they read") {
  CHECK(validated_text(updates_of_one({"0F0 0B0 0U0 0V0 0F1 0B1 0U1 0F2 0V1 0B2 0U2 0V2"}, 3)) ==
        lines({"d0: 0F0 0B0 0U0 0V0 0F1 0B1 0U1 0F2 0V1+R 0B2 0U2 0V2", "d0 stage 0 keeps v1 from 0U1 to 0V1"}));
  CHECK(validated_text(updates_of_one({"0F0 0B0 0U0 0F1 0V0 0B1 0U1 0F2 0V1 0B2 0U2 0V2"}, 3)) ==
        lines({"d0: 0F0 0B0 0U0 0F1 0V0+R 0B1 0U1 0F2 0V1+R 0B2 0U2 0V2", "d0 stage 0 keeps v0 from 0U0 to 0V0",
               "d0 stage 0 keeps v1 from 0U1 to 0V1"}));
}

TEST_CASE("a global norm puts a V behind the last update of every device, which waits for the updates of all others") {
  CHECK(validated_text(written_schedule({"0F0 0B0", "1F0 1B0", "2F0 2B0"}, 1), {.global_norm = true}) ==
        lines({"d0: 0F0 0B0{1B0} 0U0 0V0{1U0 2U0}", "d1: 1F0{0F0} 1B0{2B0} 1U0 1V0{0U0 2U0}",
               "d2: 2F0{1F0} 2B0 2U0 2V0{0U0 1U0}"}));
  Schedule two = written_schedule({"0F0 3F0 3B0 0B0 0F1 3F1 3B1 0B1", "1F0 2F0 2B0 1B0 1F1 2F1 2B1 1B1"}, 2);
  two.num_stages = 4;
  two.microbatches_per_update = {1};
  two.placement = {{{DeviceId{0}}, {DeviceId{1}}, {DeviceId{1}}, {DeviceId{0}}}};
  CHECK(validated_text(two, {.global_norm = true}) ==
        lines({"d0: 0F0 3F0{2F0} 3B0 0B0{1B0} 0U0 3U0 0V0{2U0} 3V0 0F1 3F1{2F1} 3B1 0B1{1B1} 0U1 3U1 0V1{2U1} 3V1",
               "d1: 1F0{0F0} 2F0 2B0{3B0} 1B0 1U0 2U0 1V0{3U0} 2V0 1F1{0F1} 2F1 2B1{3B1} 1B1 1U1 2U1 1V1{3U1} 2V1"}));
}

TEST_CASE("updates that the document has get their V behind the last of them") {
  const Schedule schedule = updates_of_one({"0F0 0B0 0U0 0F1 0B1 0U1"}, 2);
  CHECK(validated_text(schedule, {.global_norm = true}) == "d0: 0F0 0B0 0U0 0V0 0F1 0B1 0U1 0V1\n");
  CHECK(validated_text(schedule) == "d0: 0F0 0B0 0U0 0F1 0B1 0U1\n");
}

TEST_CASE("a forward-only document needs no norm, one with V has it, and an asynchronous one cannot have it") {
  Schedule forward = written_schedule({"0F0 0F1"}, 2);
  forward.forward_only = true;
  CHECK(validated_text(forward, {.global_norm = true}) == "d0: 0F0 0F1\n");
  const Schedule has = updates_of_one({"0F0 0B0 0U0 0V0"}, 1);
  CHECK(validated_text(has, {.global_norm = true}) == validated_text(has));
  Schedule stashed = updates_of_one({"0F0 0B0 0U0"}, 1);
  stashed.weights.policy = WeightPolicy::kStash;
  CHECK(error_message([&] { validated_text(stashed, {.global_norm = true}); }) ==
        "schedule 'written': a global norm of the gradients makes every update wait for all stages; expected a "
        "synchronous schedule");
}

}  // namespace plumb::testing

TEST_SUITE_END();
