#include "schedules/weight_versions.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "models/error.hpp"
#include "schedules/lower.hpp"
#include "schedules/registry.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb {
namespace {

/// Versions read by the forward and backward of every (microbatch, stage), as the lowered program says.
struct Reads {
  std::map<std::pair<std::int64_t, std::int64_t>, std::int32_t> forward;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int32_t> backward;
};

StageCosts unit_costs(const Schedule& schedule) {
  StageCosts costs;
  costs.times.assign(static_cast<std::size_t>(schedule.num_stages), StageTimes{.f = 1, .b = 2, .i = 1, .w = 1});
  costs.comm = 0;
  return costs;
}

Schedule flush_free(const std::string& name, std::int32_t p, std::int64_t n, std::int64_t updates, bool slots) {
  return generate(
      name,
      {.num_devices = p, .num_microbatches = n, .updates = updates, .options = {{"timing", slots ? "slots" : "1f1b"}}});
}

Reads reads_of(const Program& program) {
  Reads reads;
  for (InstrIndex at = 0; at < program.size(); ++at) {
    const Action& action = program.instrs[at].action;
    const std::pair<std::int64_t, std::int64_t> key{static_cast<std::int64_t>(action.microbatch),
                                                    static_cast<std::int64_t>(action.stage)};
    if (action.op == Op::kF) reads.forward[key] = program.version_read[at];
    if (is_backward(action.op)) reads.backward[key] = program.version_read[at];
  }
  return reads;
}

Reads reads_of(const Schedule& schedule) { return reads_of(lower(schedule, unit_costs(schedule))); }

/// One row per microbatch, "vF/vB" per stage, as schedules-asynchronous.md 11.5 prints it.
std::string table(const Reads& reads, std::int64_t p, std::int64_t microbatches) {
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

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

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
  CHECK(table(reads_of(flush_free("pipemare", 4, 2, 6, true)), 4, 12) == kSlotsP4N2);
  CHECK(table(reads_of(flush_free("pipemare", 4, 2, 6, false)), 4, 12) == k1f1bP4N2);
}

TEST_CASE("pipedream with P=4, N=2 reads in the backward what its forward read") {
  CHECK(table(reads_of(flush_free("pipedream", 4, 2, 6, true)), 4, 12) == stashed(kSlotsP4N2));
  CHECK(table(reads_of(flush_free("pipedream", 4, 2, 6, false)), 4, 12) == stashed(k1f1bP4N2));
}

TEST_CASE("vertical sync reads stage 0's column on every stage") {
  Schedule schedule = flush_free("pipedream", 4, 2, 6, false);
  const Reads stash = reads_of(schedule);
  schedule.weights.policy = WeightPolicy::kVerticalSync;
  const Reads reads = reads_of(schedule);
  for (const auto& [key, version] : reads.forward) {
    CHECK(version == stash.forward.at({key.first, 0}));
    CHECK(reads.backward.at(key) == version);
  }
}

TEST_CASE("the latest version at a forward is max(0, floor((k - D) / N)), at a backward floor(k / N)") {
  for_each_flush_free_case([](std::int32_t p, std::int64_t n, std::int64_t updates, bool slots) {
    const Reads reads = reads_of(flush_free("pipemare", p, n, updates, slots));
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

TEST_CASE("weight stashing keeps at most ceil(D / N) old versions at once") {
  for_each_flush_free_case([](std::int32_t p, std::int64_t n, std::int64_t updates, bool slots) {
    const Schedule schedule = flush_free("pipedream", p, n, updates, slots);
    const Program program = lower(schedule, unit_costs(schedule));
    for (std::uint32_t holder = 0; holder < program.holders.size(); ++holder) {
      std::map<InstrIndex, int> change;
      for (const KeptVersion& kept : program.kept_versions) {
        if (kept.holder != holder) continue;
        ++change[kept.replaced_by];
        --change[kept.last_reader];
      }
      int alive = 0;
      int most = 0;
      for (const auto& [at, step] : change) most = std::max(most, alive += step);
      CHECK(most == ceil_div(distance(p, static_cast<std::int64_t>(program.holders[holder].stage), slots), n));
    }
  });
}

TEST_CASE("pipemare keeps no old version") {
  const Schedule schedule = flush_free("pipemare", 4, 1, 9, true);
  CHECK(lower(schedule, unit_costs(schedule)).kept_versions.empty());
}

TEST_CASE("a uniform delay is legal from ceil(D / N) of stage 0 on, and a smaller one names it") {
  for_each_flush_free_case([](std::int32_t p, std::int64_t n, std::int64_t updates, bool slots) {
    const std::int64_t smallest = ceil_div(distance(p, 0, slots), n);
    Schedule schedule = flush_free("pipemare", p, n, updates, slots);
    schedule.weights.policy = WeightPolicy::kDelay;
    schedule.weights.delay = static_cast<std::int32_t>(smallest);
    for (const auto& [key, version] : reads_of(schedule).forward) {
      CHECK(version == std::max<std::int64_t>(key.first / n - smallest, 0));
    }
    if (smallest == 0) return;
    schedule.weights.delay = static_cast<std::int32_t>(smallest - 1);
    const std::string hint = "the smallest legal delay is " + std::to_string(smallest);
    CHECK_THROWS_WITH_AS(reads_of(schedule), doctest::Contains(hint.c_str()), Error);
  });
}

TEST_CASE("double buffering at P=4, N=4 reads version 0 for 8 microbatches, then one more every 4") {
  Schedule schedule = flush_free("pipemare", 4, 4, 4, false);
  schedule.weights.policy = WeightPolicy::kDoubleBuffer;
  const Program program = lower(schedule, unit_costs(schedule));
  for (const auto& [key, version] : reads_of(program).forward)
    CHECK(version == std::max<std::int64_t>(key.first / 4 - 1, 0));
  for (const auto& [key, version] : reads_of(program).backward)
    CHECK(version == std::max<std::int64_t>(key.first / 4 - 1, 0));
}

TEST_CASE("double buffering at P=4, N=2 is refused with the action and the versions") {
  Schedule schedule = flush_free("pipemare", 4, 2, 6, false);
  schedule.weights.policy = WeightPolicy::kDoubleBuffer;
  CHECK_THROWS_WITH_AS(
      reads_of(schedule),
      "schedule 'pipemare': 0F4 reads version 1, but only version 0 exists there; the smallest legal delay is 2",
      Error);
}

TEST_CASE("a flushing stage among asynchronous ones reads the version of its own update") {
  Schedule schedule = flush_free("pipedream", 2, 1, 4, false);
  schedule.weights.per_stage = {WeightPolicy::kStash, WeightPolicy::kFlush};
  const Reads reads = reads_of(schedule);
  for (std::int64_t k = 0; k < 4; ++k) {
    CHECK(reads.forward.at({k, 1}) == k);
    CHECK(reads.backward.at({k, 1}) == k);
  }
}

}  // namespace plumb

TEST_SUITE_END();
