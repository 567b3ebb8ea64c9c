#include <doctest/doctest.h>

#include <cmath>
#include <numeric>
#include <string>

#include "sim/campaign/campaign.hpp"
#include "sim/sharing/block_spans.hpp"
#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("sim");

namespace plumb::testing {
namespace {

/// Servers with spans and speeds in a swarm of 6 to 12 blocks, drawn by a linear congruential generator so that any
/// program can draw them.
struct DrawnSwarm {
  std::int32_t blocks = 0;
  std::vector<BlockSpan> spans;
  std::vector<double> speeds;
};

DrawnSwarm drawn_swarm(std::uint32_t seed) {
  std::uint64_t state = seed;
  const auto draw = [&state](std::int32_t below) {
    state = (1103515245 * state + 12345) % 2147483648;
    return static_cast<std::int32_t>((state >> 16U) % static_cast<std::uint64_t>(below));
  };
  DrawnSwarm swarm{.blocks = 6 + draw(7), .spans = {}, .speeds = {}};
  const std::int32_t servers = 3 + draw(6);
  for (std::int32_t server = 0; server < servers; ++server) {
    const std::int32_t length = 1 + draw(swarm.blocks / 2 + 1);
    const std::int32_t start = draw(swarm.blocks - length + 1);
    swarm.spans.push_back({start, start + length});
    swarm.speeds.push_back(1 + draw(9));
  }
  return swarm;
}

/// Steps of 8 samples over two stages: 8 s in one pipeline, 4 s in two, 3 s in three, 2 s in four.
CampaignResult played(const std::string& trace, double seconds, std::map<std::string, std::string> options) {
  LayoutTable table({{{1, 2}, {.step = {.ns = 8'000'000'000, .samples = 8}, .restart = {}}},
                     {{2, 2}, {.step = {.ns = 4'000'000'000, .samples = 8}, .restart = {}}},
                     {{3, 2}, {.step = {.ns = 3'000'000'000, .samples = 8}, .restart = {}}},
                     {{4, 2}, {.step = {.ns = 2'000'000'000, .samples = 8}, .restart = {}}}});
  LayoutBook book(table);
  options.emplace("blocks", "8");
  options.emplace("held", "4");
  options.emplace("load", "10");
  CampaignProblem problem;
  problem.trace = node_trace_from_text(trace, "t.csv");
  problem.until_ns = static_cast<std::int64_t>(seconds * 1e9);
  problem.options = std::move(options);
  return run_campaign(problem, "petals", book);
}

const std::string kFourServers = "0,add,a\n0,add,b\n0,add,c\n0,add,d\n";

}  // namespace

TEST_CASE("servers move when the released program's would") {
  // bigscience-workshop/petals @ 22afba6, should_choose_other_blocks with quality 0.75 and servers in the order of
  // their drawing instead of a random one, on the swarms of `drawn_swarm`: a digit for each server.
  const std::string released[] = {
      "1111111", "10111111", "000000",   "1111001", "101100",   "111100",   "11110",   "11110",   "1111",     "01110",
      "000",     "1100",     "01111110", "000",     "11100110", "00000000", "1011101", "10111",   "111111",   "00000",
      "01001",   "1111",     "0011",     "111",     "1100",     "11111111", "000",     "1110100", "10001110", "0111110",
      "1111111", "110111",   "101101",   "00000",   "111111",   "1111",     "10110",   "0111",    "1111",     "000"};
  std::uint32_t seed = 0;
  for (const std::string& theirs : released) {
    const DrawnSwarm swarm = drawn_swarm(++seed);
    CAPTURE(seed);
    std::string ours;
    for (std::size_t server = 0; server < swarm.spans.size(); ++server) {
      ours += petals_moves(swarm.spans, swarm.speeds, swarm.blocks, server, 0.75) ? '1' : '0';
    }
    CHECK(ours == theirs);
  }
}

TEST_CASE("petals without losses trains as fast as its slowest block has servers") {
  // a and c hold blocks 0 to 3, b and d 4 to 7; all have loaded at 10 s. The first step begins with a and b alone.
  const CampaignResult result = played(kFourServers, 18 + 400, {});
  CHECK(result.samples == 8 * 101);
  CHECK(result.recoveries == 1);
  CHECK(result.time_of(TimeUse::kReconfiguring) == 10'000'000'000);
}

TEST_CASE("a server that leaves slows a swarm, and makes another one move where the slowest block would gain enough") {
  // Of three and three servers b and d go at the end of a step, both of blocks 4 to 7. Two microbatches are done twice,
  // 9/64 s each, the first at two servers' speed and then at one's: 9/64 + 9/64 + 9/64 s. Then steps take 8 s. At 120 s
  // a moves, since 1 is less than three quarters of the 2 that there can be; of its old blocks two servers are left, so
  // that its microbatch, 8/64 s, is all that it costs at once. From 130 s on steps take 4 s.
  const std::string six = kFourServers + "0,add,e\n0,add,f\n";
  const std::string two_go = "48000,remove,b\n48000,remove,d\n";
  const CampaignResult moved = played(six + two_go, 418, {});
  const CampaignResult stayed = played(six + two_go, 418, {{"quality", "0.2"}});
  CHECK(moved.recoveries == 2);
  CHECK(stayed.recoveries == 1);
  CHECK(moved.fatal == 0);
  const double late = 27.0 / 64;
  CHECK(stayed.samples == doctest::Approx(88 + 370 - late));
  const double steps_of_4 = 48 + late + 9 * 8 + 8.0 / 64 + 2 * 8;
  CHECK(moved.samples == doctest::Approx(88 + 8 * 11 + 2 * (418 - steps_of_4)));
  // Two steps begin while a loads, and would take 4 s less with it where it goes.
  CHECK(moved.time_of(TimeUse::kSlowed) == std::llround((late + 8.0 / 64 + 8) * 1e9));
  CHECK(stayed.time_of(TimeUse::kSlowed) == std::llround(late * 1e9));
  CHECK(moved.time_of(TimeUse::kLost) == 0);
  CHECK(std::accumulate(moved.time_ns.begin(), moved.time_ns.end(), std::int64_t{0}) == moved.until_ns);
}

TEST_CASE("a block without a server stops a swarm until one has moved there, and only the step under way is lost") {
  // b and d hold blocks 4 to 7. When b goes, one microbatch of the step that ends is done twice, 0.125 s; the next step
  // is lost with d. a and c are left on 0 to 3; at 120 s a moves and loads for 10 s: one and one.
  const CampaignResult result = played(kFourServers + "50000,remove,b\n52000,remove,d\n", 130 + 80, {});
  CHECK(result.fatal == 1);
  CHECK(result.time_of(TimeUse::kWaiting) == 68'000'000'000);
  CHECK(result.time_of(TimeUse::kReconfiguring) == 20'000'000'000);
  CHECK(result.time_of(TimeUse::kLost) == 1'875'000'000);
  CHECK(result.samples == 8 * (1 + 8 + 10));
}

TEST_CASE("a slow server counts by its speed, and blocks that no layout has are refused") {
  // d at half speed: blocks 4 to 7 have 1.5 servers' throughput, half way from 1 to 2 samples per second.
  const CampaignResult result = played(kFourServers + "17000,slow,d,2\n", 18 + 160, {});
  CHECK(result.samples == doctest::Approx(8 + 160 * 1.5));
  CHECK(error_message([] {
          played(kFourServers, 100, {{"held", "2"}});
        }) ==
        "petals: servers that hold 2 of 8 blocks are pipelines of 4 stages, in which the job does not run; expected "
        "other blocks or held");
  CHECK(error_message([] {
          played(kFourServers, 100, {{"held", "9"}});
        }) == "option held: expected at most as many as there are blocks");
}

}  // namespace plumb::testing

TEST_SUITE_END();
