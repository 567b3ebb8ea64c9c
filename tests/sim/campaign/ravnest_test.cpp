#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "sim/campaign/campaign.hpp"
#include "sim/planners/shares/peer_clusters.hpp"

TEST_SUITE_BEGIN("sim");

namespace plumb::testing {
namespace {

/// Two clusters of two stages: 4 s for an update of 8 samples in all. One cluster alone takes 8 s for them.
LayoutTable two_clusters() {
  return LayoutTable({{{1, 2}, {.step = {.ns = 8'000'000'000, .samples = 8}, .restart = {}}},
                      {{2, 2}, {.step = {.ns = 4'000'000'000, .samples = 8}, .restart = {}}}});
}

CampaignResult nested(const std::string& trace, double seconds) {
  LayoutTable table = two_clusters();
  LayoutBook book(table);
  CampaignProblem problem;
  problem.trace = node_trace_from_text(trace, "t.csv");
  problem.ready_ns = 0;
  problem.until_ns = static_cast<std::int64_t>(seconds * 1e9);
  problem.options = {{"stages", "2"}, {"clusters", "2"}, {"updates", "5"}, {"average", "2"}, {"rejoin", "10"}};
  return run_campaign(problem, "ravnest", book);
}

const std::string kPeers = "0,add,a\n0,add,b\n0,add,c\n0,add,d\n";

}  // namespace

TEST_CASE("clusters of ravnest make their updates and then average") {
  const CampaignResult result = nested(kPeers, 22 * 10);  // five updates and an averaging: 22 s
  CHECK(result.samples == doctest::Approx(10 * 5 * 8));
  CHECK(result.time_of(TimeUse::kTraining) == 220'000'000'000);
  // A fifth peer has no place.
  CHECK(nested(kPeers + "0,add,e\n", 22 * 10).samples == doctest::Approx(10 * 5 * 8));
  CHECK(nested("0,add,a\n0,add,b\n0,add,c\n", 100).samples == 0);  // the peers are those of the beginning
}

TEST_CASE("without a peer its cluster of ravnest stands still, and the other one waits for it at the averaging") {
  // b goes at 6 s, 2 s into the second update. Its cluster has one update, the other one makes five until 20 s and
  // waits. At 50 s somebody takes the place, and loads until 60 s; the four updates that are missing end at 76 s.
  const std::string lost = kPeers + "6000,remove,b\n50000,add,e\n";
  const CampaignResult result = nested(lost, 78 + 22);
  CHECK(result.samples == doctest::Approx(40 + 40));
  CHECK(result.time_of(TimeUse::kWaiting) == 30'000'000'000);
  CHECK(result.time_of(TimeUse::kReconfiguring) == 10'000'000'000);
  CHECK(result.fatal == 0);
  CHECK(std::accumulate(result.time_ns.begin(), result.time_ns.end(), std::int64_t{0}) == result.until_ns);
  // Nobody comes: nothing but the first updates.
  CHECK(nested(kPeers + "6000,remove,b\n", 1000).samples == doctest::Approx(4 + 20));
  // A peer that waits takes the place at once: its cluster is back at 16 s and has its four updates at 32 s.
  CHECK(nested(kPeers + "0,add,e\n6000,remove,b\n", 34 + 22).samples == doctest::Approx(40 + 40));
}

TEST_CASE("a peer that goes while ravnest averages makes the rings wait") {
  const CampaignResult result = nested(kPeers + "21000,remove,b\n31000,add,e\n", 41 + 2 + 22);
  CHECK(result.samples == doctest::Approx(40 + 40));
  CHECK(result.time_of(TimeUse::kLost) == 1'000'000'000);
  CHECK(result.time_of(TimeUse::kWaiting) == 10'000'000'000);
}

TEST_CASE("a stage that no cluster of ravnest has any more throws all back to the checkpoint") {
  // a b | c d: both holders of the second stage go.
  const CampaignResult result = nested(kPeers + "6000,remove,b\n7000,remove,d\n30000,add,e\n30000,add,f\n", 40 + 22);
  CHECK(result.fatal == 1);
  CHECK(result.samples == doctest::Approx(40));
  CHECK(result.time_of(TimeUse::kLost) == 7'000'000'000);
}

TEST_CASE("alike peers make the clusters of the rule ravnest, by the genetic search of the released program") {
  // 13 peers for models of 4: three clusters, all but one of four peers; the rule takes three of four and one in
  // reserve.
  const std::vector<Peer> peers(13, Peer{.memory = 10, .bandwidth = 1});
  const PeerClusters found = genetic_clusters(peers, 3, 40, 1);
  std::vector<std::int64_t> sizes(3);
  for (const std::int32_t cluster : found.cluster) ++sizes[static_cast<std::size_t>(cluster)];
  std::ranges::sort(sizes);
  CHECK(sizes == std::vector<std::int64_t>{4, 4, 5});
  CHECK(cluster_penalty(peers, found.cluster, 3, 50) > 0);  // five stages: two clusters lack a peer
}

}  // namespace plumb::testing

TEST_SUITE_END();
