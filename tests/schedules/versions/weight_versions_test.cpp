#include "schedules/versions/weight_versions.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/checks/validate.hpp"
#include "schedules/lowering/lower.hpp"
#include "tests/support/versions_read.hpp"
#include "tests/support/written_schedule.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

Schedule flush_free(const std::string& name, std::int32_t p, std::int64_t n, std::int64_t updates, bool slots) {
  return generate(
      name,
      {.num_devices = p, .num_microbatches = n, .updates = updates, .options = {{"timing", slots ? "slots" : "1f1b"}}});
}

/// One row per microbatch, "vF/vB" per stage, as schedules-asynchronous.md 11.5 prints it.
std::string table(const VersionsRead& reads, std::int64_t p, std::int64_t microbatches) {
  std::string out;
  for (std::int64_t k = 0; k < microbatches; ++k) {
    for (std::int64_t stage = 0; stage < p; ++stage) {
      out += std::to_string(reads.forward.at({k, stage})) + "/" + std::to_string(reads.backward.at({k, stage}));
      out += stage + 1 < p ? " " : "\n";
    }
  }
  return out;
}

constexpr const char* kSlotsP4N2 =
    "0/0 0/0 0/0 0/0\n"
    "0/0 0/0 0/0 0/0\n"
    "0/1 0/1 0/1 0/1\n"
    "0/1 0/1 0/1 1/1\n"
    "0/2 0/2 0/2 1/2\n"
    "0/2 0/2 1/2 2/2\n"
    "0/3 0/3 1/3 2/3\n"
    "0/3 1/3 2/3 3/3\n"
    "0/4 1/4 2/4 3/4\n"
    "1/4 2/4 3/4 4/4\n"
    "1/5 2/5 3/5 4/5\n"
    "2/5 3/5 4/5 5/5\n";

constexpr const char* k1f1bP4N2 =
    "0/0 0/0 0/0 0/0\n"
    "0/0 0/0 0/0 0/0\n"
    "0/1 0/1 0/1 1/1\n"
    "0/1 0/1 1/1 1/1\n"
    "0/2 1/2 1/2 2/2\n"
    "1/2 1/2 2/2 2/2\n"
    "1/3 2/3 2/3 3/3\n"
    "2/3 2/3 3/3 3/3\n"
    "2/4 3/4 3/4 4/4\n"
    "3/4 3/4 4/4 4/4\n"
    "3/5 4/5 4/5 5/5\n"
    "4/5 4/5 5/5 5/5\n";

/// The same table with the forward's version in both places: what weight stashing reads.
std::string stashed(std::string text) {
  for (std::size_t at = text.find('/'); at != std::string::npos; at = text.find('/', at + 1))
    text[at + 1] = text[at - 1];
  return text;
}

template <class Check>
void for_each_flush_free_case(const Check& check) {
  for (const bool slots : {false, true}) {
    for (const std::int32_t p : {1, 2, 3, 4, 7}) {
      for (const std::int64_t n : {1, 2, 3, 4, 8}) {
        CAPTURE(slots);
        CAPTURE(p);
        CAPTURE(n);
        check(p, n, ceil_div(6 * p, n) + 2, slots);
      }
    }
  }
}

/// Forward-to-backward distance of stage i (1-based P - i = p - 1 - stage) in microbatches.
std::int64_t distance(std::int64_t p, std::int64_t stage, bool slots) {
  return slots ? 2 * (p - 1 - stage) + 1 : p - 1 - stage;
}

}  // namespace

TEST_CASE("pipemare with P=4, N=2 reads the published versions in both timings") {
  CHECK(table(versions_read(flush_free("pipemare", 4, 2, 6, true)), 4, 12) == kSlotsP4N2);
  CHECK(table(versions_read(flush_free("pipemare", 4, 2, 6, false)), 4, 12) == k1f1bP4N2);
}

TEST_CASE("pipedream with P=4, N=2 reads in the backward what its forward read") {
  CHECK(table(versions_read(flush_free("pipedream", 4, 2, 6, true)), 4, 12) == stashed(kSlotsP4N2));
  CHECK(table(versions_read(flush_free("pipedream", 4, 2, 6, false)), 4, 12) == stashed(k1f1bP4N2));
}

TEST_CASE("vertical sync reads stage 0's column on every stage") {
  Schedule schedule = flush_free("pipedream", 4, 2, 6, false);
  const VersionsRead stash = versions_read(schedule);
  schedule.weights.policy = WeightPolicy::kVerticalSync;
  const VersionsRead reads = versions_read(schedule);
  for (const auto& [key, version] : reads.forward) {
    CHECK(version == stash.forward.at({key.first, 0}));
    CHECK(reads.backward.at(key) == version);
  }
}

TEST_CASE("the latest version at a forward is max(0, floor((k - D) / N)), at a backward floor(k / N)") {
  for_each_flush_free_case([](std::int32_t p, std::int64_t n, std::int64_t updates, bool slots) {
    const VersionsRead reads = versions_read(flush_free("pipemare", p, n, updates, slots));
    CHECK(reads.forward.size() == static_cast<std::size_t>(p * n * updates));
    bool forward_equal = true;
    bool backward_equal = true;
    for (const auto& [key, version] : reads.forward) {
      const std::int64_t d = distance(p, key.second, slots);
      forward_equal = forward_equal && version == (key.first < d ? 0 : (key.first - d) / n);
      backward_equal = backward_equal && reads.backward.at(key) == key.first / n;
    }
    CHECK(forward_equal);
    CHECK(backward_equal);
  });
}

TEST_CASE("weight stashing keeps at most ceil(D / N) + 1 versions at once") {
  for_each_flush_free_case([](std::int32_t p, std::int64_t n, std::int64_t updates, bool slots) {
    const Schedule schedule = flush_free("pipedream", p, n, updates, slots);
    const std::vector<std::int64_t> versions = most_versions(schedule);
    for (std::int64_t stage = 0; stage < p; ++stage) {
      CHECK(versions[static_cast<std::size_t>(stage)] == ceil_div(distance(p, stage, slots), n) + 1);
    }
  });
}

TEST_CASE("pipemare keeps no old version") {
  const Schedule schedule = flush_free("pipemare", 4, 1, 9, true);
  CHECK(lowered(schedule).kept_versions.empty());
}

TEST_CASE("a uniform delay is legal from ceil(D / N) of stage 0 on, and a smaller one names it") {
  for_each_flush_free_case([](std::int32_t p, std::int64_t n, std::int64_t updates, bool slots) {
    const std::int64_t smallest = ceil_div(distance(p, 0, slots), n);
    Schedule schedule = flush_free("pipemare", p, n, updates, slots);
    schedule.weights.policy = WeightPolicy::kDelay;
    schedule.weights.delay = static_cast<std::int32_t>(smallest);
    for (const auto& [key, version] : versions_read(schedule).forward) {
      CHECK(version == std::max<std::int64_t>(key.first / n - smallest, 0));
    }
    if (smallest == 0) return;
    schedule.weights.delay = static_cast<std::int32_t>(smallest - 1);
    const std::string hint = "the smallest legal delay is " + std::to_string(smallest);
    CHECK_THROWS_WITH_AS(versions_read(schedule), doctest::Contains(hint.c_str()), Error);
  });
}

TEST_CASE("double buffering at P=4, N=4 reads version 0 for 8 microbatches, then one more every 4") {
  Schedule schedule = flush_free("pipemare", 4, 4, 4, false);
  schedule.weights.policy = WeightPolicy::kDoubleBuffer;
  const VersionsRead reads = versions_read(schedule);
  for (const auto& [key, version] : reads.forward) {
    CHECK(version == std::max<std::int64_t>(key.first / 4 - 1, 0));
    CHECK(reads.backward.at(key) == version);
  }
}

TEST_CASE("double buffering at P=4, N=2 is refused with the action and the versions") {
  Schedule schedule = flush_free("pipemare", 4, 2, 6, false);
  schedule.weights.policy = WeightPolicy::kDoubleBuffer;
  CHECK_THROWS_WITH_AS(
      versions_read(schedule),
      "schedule 'pipemare': 0F4 reads version 1, but only version 0 exists there; the smallest legal delay is 2",
      Error);
}

TEST_CASE("in a synchronous phase all read the version of their update, after it the last policy rules") {
  Schedule schedule = generate(
      "pipemare",
      {.num_devices = 3, .num_microbatches = 2, .updates = 9, .options = {{"synchronous", "4"}, {"timing", "1f1b"}}});
  for (const WeightPolicy policy : {WeightPolicy::kLatest, WeightPolicy::kStash}) {
    schedule.weights.policy = policy;
    const VersionsRead reads = versions_read(schedule);
    for (const auto& [key, version] : reads.forward) {
      const std::int64_t k = key.first - 8;  // of the asynchronous part
      const std::int64_t newest = 4 + newest_at_forward(std::max<std::int64_t>(k, 0), 2 - key.second, 2);
      CHECK(version == (k < 0 ? key.first / 2 : newest));
      CHECK(reads.backward.at(key) == (policy == WeightPolicy::kStash ? version : key.first / 2));
    }
  }
}

TEST_CASE("a delay after a synchronous phase reads the versions that the phase made") {
  Schedule schedule = generate(
      "pipemare",
      {.num_devices = 3, .num_microbatches = 2, .updates = 9, .options = {{"synchronous", "4"}, {"timing", "1f1b"}}});
  schedule.weights.policy = WeightPolicy::kDoubleBuffer;
  const VersionsRead reads = versions_read(schedule);
  for (const auto& [key, version] : reads.forward) {
    const std::int64_t update = key.first / 2;
    CHECK(version == (update < 4 ? update : update - 1));
    CHECK(reads.backward.at(key) == version);
  }
}

TEST_CASE("phases follow one another by their numbers of updates") {
  Schedule schedule = flush_free("pipemare", 2, 1, 6, false);
  schedule.weights.policy = WeightPolicy::kLatest;
  schedule.weights.phases = {{2, WeightPolicy::kDelay}, {1, WeightPolicy::kStash}};
  schedule.weights.delay = 3;
  const VersionsRead reads = versions_read(schedule);
  const std::vector<std::int32_t> backwards_of_stage_0{0, 0, 1, 3, 4, 5};
  for (std::int64_t k = 0; k < 6; ++k)
    CHECK(reads.backward.at({k, 0}) == backwards_of_stage_0[static_cast<std::size_t>(k)]);
}

TEST_CASE("an asynchronous phase before a synchronous rest has versions as well") {
  Schedule schedule =
      written_schedule({"0F0 0F1 0B0 0U0 0B1 0U1 0F2 0B2 0U2", "1F0 1B0 1U0 1F1 1B1 1U1 1F2 1B2 1U2"}, 3);
  schedule.microbatches_per_update = {1};
  schedule.weights.phases = {{2, WeightPolicy::kStash}};
  CHECK(validate(schedule).empty());
  CHECK(table(versions_read(schedule), 2, 3) == "0/0 0/0\n0/0 1/1\n2/2 2/2\n");
  schedule.weights.phases.clear();
  CHECK_FALSE(validate(schedule).empty());  // 0F1 stands before 0U0
}

TEST_CASE("a flushing stage among asynchronous ones reads the version of its own update") {
  Schedule schedule = flush_free("pipedream", 2, 1, 4, false);
  schedule.weights.per_stage = {WeightPolicy::kStash, WeightPolicy::kFlush};
  const VersionsRead reads = versions_read(schedule);
  for (std::int64_t k = 0; k < 4; ++k) {
    CHECK(reads.forward.at({k, 1}) == k);
    CHECK(reads.backward.at({k, 1}) == k);
  }
}

TEST_CASE("every pass is told the version that the forward of its microbatch read, for asynchronous schedules") {
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    if (spec.synchronous) continue;
    const Schedule schedule = generate(spec.name, {.num_devices = 2, .num_microbatches = 4, .updates = 3});
    StageCosts costs;
    costs.times.assign(static_cast<std::size_t>(schedule.num_stages), StageTimes{.f = 1, .b = 2, .i = 1, .w = 1});
    const Program program = lower(schedule, costs);
    REQUIRE(program.asynchronous);
    CAPTURE(spec.name);
    const std::vector<std::int32_t> versions = forward_versions(program);
    REQUIRE(versions.size() == program.size());
    std::map<std::pair<std::uint32_t, MicrobatchId>, std::int32_t> read;
    for (InstrIndex at = 0; at < program.size(); ++at) {
      const Action& action = program.instrs[at].action;
      const std::uint32_t holder = program.rows[program.instrs[at].row].holder;
      if (action.op == Op::kF) {
        for (std::int32_t more = 0; more <= action.merged; ++more) {
          read[{holder, MicrobatchId{static_cast<std::int32_t>(action.microbatch) + more}}] = program.version_read[at];
        }
      }
      const bool is_pass = action.op == Op::kF || is_backward(action.op) || action.op == Op::kW || action.op == Op::kR;
      CHECK(versions[at] == (is_pass ? read.at({holder, action.microbatch}) : -1));
    }
  }
}

}  // namespace plumb::testing

TEST_SUITE_END();
