#include <doctest/doctest.h>

#include <numeric>
#include <string>

#include "sim/campaign/campaign.hpp"
#include "sim/campaign/campaign_rule.hpp"

TEST_SUITE_BEGIN("sim");

namespace plumb::testing {
namespace {

/// Steps of 8 samples over two stages: 8 s in one pipeline, 4 s in two, 3 s in three.
LayoutTable two_pools() {
  return LayoutTable({{{1, 2}, {.step = {.ns = 8'000'000'000, .samples = 8}, .restart = {}}},
                      {{2, 2}, {.step = {.ns = 4'000'000'000, .samples = 8}, .restart = {}}},
                      {{3, 2}, {.step = {.ns = 3'000'000'000, .samples = 8}, .restart = {}}}});
}

CampaignResult swarmed(const std::string& trace, double seconds, std::map<std::string, std::string> options) {
  LayoutTable table = two_pools();
  LayoutBook book(table);
  options.emplace("stages", "2");
  options.emplace("join", "10");
  options.emplace("every", "100");
  CampaignProblem problem;
  problem.trace = node_trace_from_text(trace, "t.csv");
  problem.until_ns = static_cast<std::int64_t>(seconds * 1e9);
  problem.options = std::move(options);
  return run_campaign(problem, "swarm", book);
}

const std::string kFour = "0,add,a\n0,add,b\n0,add,c\n0,add,d\n";

}  // namespace

TEST_CASE("swarm without losses trains as the layout with as many pipelines as the smallest pool has peers") {
  // The first step begins when two peers have joined, and goes on in one pipeline though two more come meanwhile.
  const CampaignResult result = swarmed(kFour, 18 + 400, {});
  CHECK(result.time_of(TimeUse::kTraining) == 408'000'000'000);
  CHECK(result.samples == 8 * 101);
  CHECK(result.recoveries == 1);
  CHECK(swarmed(kFour + "0,add,e\n", 18 + 400, {}).samples == 8 * 101);  // a fifth peer waits in one of the pools
}

TEST_CASE(
    "a loss in a pool of swarm stops nothing: the rest of the step takes longer, and one microbatch is done twice") {
  // At 20 s, 2 s into the second step: the other 2 s take 4 s, and one of 64 microbatches of two pipelines 0.125 s.
  const CampaignResult result = swarmed(kFour + "20000,remove,b\n", 18 + 6.125 + 8 * 10, {});
  CHECK(result.fatal == 0);
  CHECK(result.time_of(TimeUse::kLost) == 0);
  CHECK(result.time_of(TimeUse::kSlowed) == 2'125'000'000);
  CHECK(result.samples == 8 * 12);
}

TEST_CASE("peers of a pool of swarm get tasks by their speed, and a slow one slows a step by its share only") {
  CHECK(routed_tasks(std::vector<double>{0.5, 1}, 9) == std::vector<std::int64_t>{6, 3});
  CHECK(routed_tasks(std::vector<double>{1, 1, 1}, 7) == std::vector<std::int64_t>{3, 2, 2});
  // b, one of two peers of stage 1, is 31 times slower: it gets 2 of 64 microbatches, the other 62 instead of 32.
  const CampaignResult result = swarmed(kFour + "17500,slow,b,31\n", 18 + 7.75 * 8, {});
  CHECK(result.samples == 8 * (1 + 8));
  CHECK(result.time_of(TimeUse::kTraining) == 8'000'000'000 + 8 * 4'000'000'000);
  CHECK(result.time_of(TimeUse::kSlowed) == 8 * 3'750'000'000);
}

TEST_CASE("swarm evens its pools out, and a stage without a peer throws the job back to its checkpoint") {
  // a, c hold stage 0 and b, d stage 1. b and d go: stage 1 is gone, c moves there after 10 s.
  const std::string both = kFour + "50000,remove,b\n52000,remove,d\n";
  const CampaignResult result = swarmed(both, 52 + 10 + 80, {});
  CHECK(result.fatal == 1);
  CHECK(result.samples == 8 * 10);  // those of one pipeline after it; nothing had been saved before
  CHECK(result.time_of(TimeUse::kLost) == 42'000'000'000);
  CHECK(result.time_of(TimeUse::kReconfiguring) == 20'000'000'000);
  const CampaignResult saved = swarmed(both, 52 + 10 + 80, {{"every", "20"}});
  CHECK(saved.samples == 8 * (9 + 10));  // nine steps until 50.125 s
  CHECK(std::accumulate(saved.time_ns.begin(), saved.time_ns.end(), std::int64_t{0}) == saved.until_ns);
}

}  // namespace plumb::testing

TEST_SUITE_END();
