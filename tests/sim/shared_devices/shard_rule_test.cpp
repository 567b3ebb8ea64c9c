#include "sim/shared_devices/shard_rule.hpp"

#include <algorithm>

#include <doctest/doctest.h>

#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("sim");

namespace plumb::testing {
namespace {

/// Two shards, one, three.
std::vector<ShardedJob> three_jobs() {
  return {{"a", {{30, 60, 10}, {20, 40, 10}}, 3},
          {"b", {{25, 50, 20}}, 4},
          {"c", {{10, 20, 5}, {10, 20, 5}, {10, 20, 5}}, 5}};
}

/// Drawn once.
std::vector<ShardedJob> seven_jobs() {
  return {{"a", {{42, 79, 16}, {28, 87, 60}}, 12},
          {"b", {{9, 87, 1}, {58, 70, 33}, {40, 39, 24}, {50, 70, 69}, {58, 80, 60}}, 8},
          {"c", {{19, 91, 19}, {60, 76, 49}}, 2},
          {"d", {{15, 107, 75}}, 2},
          {"e", {{54, 13, 34}, {35, 86, 49}, {50, 110, 54}}, 8},
          {"f", {{33, 27, 46}, {11, 14, 17}, {36, 37, 33}, {48, 65, 80}, {59, 48, 53}}, 10},
          {"g", {{41, 54, 68}, {42, 62, 74}, {19, 53, 3}, {59, 45, 77}}, 12}};
}

using JobEnds = std::vector<std::int64_t>;

}  // namespace

// The numbers are those of a program of its own in Python, which keeps the lists of the released one's orchestrator
// (knagrecha/hydra 5e4434d, hydra/ModelOrchestrator.py: idle, cached and running tasks) in simulated time.
TEST_CASE("shards run as the lists of Hydra's orchestrator let them, with and without loading ahead") {
  CHECK(run_shards(three_jobs(), 1, true).end_ns == JobEnds{1110, 1180, 1220});
  CHECK(run_shards(three_jobs(), 1, false).end_ns == JobEnds{1485, 1580, 1630});
  CHECK(run_shards(three_jobs(), 2, true).end_ns == JobEnds{610, 615, 480});
  CHECK(run_shards(three_jobs(), 3, true).end_ns == JobEnds{460, 320, 455});
  CHECK(run_shards(three_jobs(), 3, false).loading_ns == 430);
  CHECK(run_shards(seven_jobs(), 2, true).end_ns == JobEnds{11688, 11648, 11561, 11523, 11755, 11758, 11742});
  CHECK(run_shards(seven_jobs(), 2, false).end_ns == JobEnds{18147, 18118, 18052, 17942, 18316, 18292, 18269});
  CHECK(run_shards(seven_jobs(), 3, true).end_ns == JobEnds{7878, 7869, 7890, 7799, 7903, 7979, 7932});
  CHECK(run_shards(seven_jobs(), 4, true).loading_ns == 4847);
  CHECK(run_shards(seven_jobs(), 8, true).end_ns == JobEnds{3448, 5009, 571, 439, 3149, 5347, 6354});
}

TEST_CASE("no run of shards is shorter than its bound, and one job cannot be divided") {
  for (const std::int64_t devices : {1, 2, 3, 5, 9}) {
    for (const bool ahead : {false, true}) {
      const ShardRun run = run_shards(seven_jobs(), devices, ahead);
      CHECK(run.makespan_ns >= run.bound_ns);
    }
  }
  // 10 to load, then 150 a batch; ahead, the next shard is loaded behind the one that runs.
  const std::vector<ShardedJob> one{{"a", {{30, 60, 10}, {20, 40, 10}}, 3}};
  CHECK(run_shards(one, 4, true).makespan_ns == 10 + 3 * 150);
  CHECK(run_shards(one, 4, true).bound_ns == 460);
  CHECK(run_shards(one, 4, false).makespan_ns == 3 * (150 + 4 * 10));
}

TEST_CASE("shards that need no loading and whose jobs divide evenly among devices run exactly as long as their bound") {
  for (const std::int64_t devices : {1, 2, 3, 4}) {
    for (const std::int64_t each : {1, 3}) {
      std::vector<ShardedJob> jobs;
      for (std::int64_t j = 0; j < devices * each; ++j) jobs.push_back({"j" + std::to_string(j), {{0, 7, 0}}, 5});
      for (const bool ahead : {false, true}) {
        CHECK(run_shards(jobs, devices, ahead).makespan_ns == each * 35);
        CHECK(run_shards(jobs, devices, ahead).bound_ns == each * 35);
      }
      jobs.push_back({"one more", {{0, 1, 0}}, 1});
      if (devices > 1) CHECK(run_shards(jobs, devices, true).bound_ns == each * 35 + 1);
    }
  }
}

TEST_CASE("shards that take three times as long end three times as late") {
  std::vector<ShardedJob> slow = seven_jobs();
  for (ShardedJob& job : slow) {
    for (NetworkShard& shard : job.shards) {
      shard.forward_ns *= 3;
      shard.backward_ns *= 3;
      shard.load_ns *= 3;
    }
  }
  for (const std::int64_t devices : {1, 2, 3, 4, 7, 8, 20}) {
    for (const bool ahead : {false, true}) {
      const ShardRun one = run_shards(seven_jobs(), devices, ahead);
      const ShardRun three = run_shards(slow, devices, ahead);
      JobEnds ends = one.end_ns;
      for (std::int64_t& end : ends) end *= 3;
      CHECK(three.end_ns == ends);
      CHECK(three.loading_ns == 3 * one.loading_ns);
      CHECK(three.makespan_ns == 3 * one.makespan_ns);
      CHECK(one.makespan_ns == *std::ranges::max_element(one.end_ns));
    }
  }
}

TEST_CASE("shards that nobody can wait for are refused") {
  CHECK(error_message([] { run_shards({}, 1, true); }) == "shards: expected at least one job and one device");
  CHECK(error_message([] {
          run_shards({{"a", {}, 1}}, 1, true);
        }) == "job 'a': expected at least one shard and one batch");
  CHECK(error_message([] {
          run_shards({{"a", {{1, 1, -1}}, 1}}, 1, true);
        }) == "job 'a': expected times from 0 that can be added");
  CHECK(error_message([] {
          run_shards({{"a", {{1, 1, 1}}, 1'000'000'000}}, 1, true);
        }) == "job 'a': too many shards and batches to be played one by one");
}

}  // namespace plumb::testing

TEST_SUITE_END();
