#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace plumb {

/// What a peer brings: memory, and how fast it talks.
struct Peer {
  std::int64_t memory = 0;
  std::int64_t bandwidth = 1;  ///< more than 0
};

/// Peers in clusters that each hold a whole model.
struct PeerClusters {
  std::vector<std::int32_t> cluster{};  ///< by peer
  std::int64_t penalty = 0;
};

/// What the released program of Ravnest (arXiv 2401.01728) makes as small as it can: 100 times the memory by which
/// clusters are below `model`, and the difference between the largest and the smallest cluster's sum of
/// floor(memory / bandwidth). Every number below `clusters` must have a peer.
std::int64_t cluster_penalty(const std::vector<Peer>& peers, const std::vector<std::int32_t>& cluster,
                             std::int32_t clusters, std::int64_t model);

/// Peers one by one, largest memory first, each to the cluster with the least of it.
PeerClusters greedy_clusters(const std::vector<Peer>& peers, std::int32_t clusters, std::int64_t model);

/// Its genetic search, with its numbers: 200 clusterings, 500 generations, parents from tournaments of 5, one-point
/// crossover, and a gene in 100 drawn anew. Ours: the greedy clustering is among the first ones, clusterings with an
/// empty cluster have no children (in the released program all peers in one cluster would be best), the best of all is
/// kept, and moves and swaps of peers improve it at the end. So it is no worse than the greedy one. The same `seed`
/// gives the same answer. `stop` is asked between generations. Requires at least as many peers as clusters.
PeerClusters genetic_clusters(const std::vector<Peer>& peers, std::int32_t clusters, std::int64_t model,
                              std::uint64_t seed, const std::function<void()>& stop = {});

/// `size` in parts in proportion to `memory`, in whole percent by the largest remainders, what is left one by one.
std::vector<std::int64_t> split_by_memory(std::int64_t size, const std::vector<std::int64_t>& memory);

}  // namespace plumb
