#include "sim/planners/shares/peer_clusters.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <utility>

namespace plumb {
namespace {

using Genes = std::vector<std::int32_t>;

constexpr std::int64_t kMissingWeight = 100;
constexpr std::size_t kClusterings = 200;
constexpr int kClusterGenerations = 500;
constexpr int kClusterTournament = 5;
constexpr std::uint64_t kRareGene = 100;  ///< one in so many is drawn anew
constexpr std::int64_t kHopeless = std::numeric_limits<std::int64_t>::max();

/// One genetic search.
class ClusterSearch {
 public:
  ClusterSearch(const std::vector<Peer>& peers, std::int32_t clusters, std::int64_t model, std::uint64_t seed)
      : peers_(peers), clusters_(clusters), model_(model), random_(seed) {}

  PeerClusters run(const std::function<void()>& stop) {
    best_ = greedy_clusters(peers_, clusters_, model_);
    std::vector<Genes> population{best_.cluster};
    while (population.size() < kClusterings) population.push_back(drawn());
    for (int generation = 0; generation < kClusterGenerations && best_.penalty > 0; ++generation) {
      if (stop) stop();
      const std::vector<std::int64_t> fitness = rate(population);
      std::vector<Genes> next;
      while (next.size() < kClusterings) {
        Genes one = population[chosen(fitness)];
        Genes other = population[chosen(fitness)];
        cross(one, other);
        for (Genes* child : {&one, &other}) {
          mutate(*child);
          next.push_back(std::move(*child));
        }
      }
      population = std::move(next);
    }
    rate(population);
    improve();
    return std::move(best_);
  }

 private:
  std::uint64_t below(std::uint64_t count) { return random_() % count; }
  std::int32_t any_cluster() { return static_cast<std::int32_t>(below(static_cast<std::uint64_t>(clusters_))); }

  Genes drawn() {
    Genes genes(peers_.size());
    for (std::int32_t& gene : genes) gene = any_cluster();
    return genes;
  }

  std::int64_t fitness_of(const Genes& genes) const {
    for (std::int32_t c = 0; c < clusters_; ++c) {
      if (std::ranges::find(genes, c) == genes.end()) return kHopeless;
    }
    return cluster_penalty(peers_, genes, clusters_, model_);
  }

  std::vector<std::int64_t> rate(const std::vector<Genes>& population) {
    std::vector<std::int64_t> fitness;
    for (const Genes& genes : population) {
      fitness.push_back(fitness_of(genes));
      if (fitness.back() < best_.penalty) best_ = {.cluster = genes, .penalty = fitness.back()};
    }
    return fitness;
  }

  std::size_t chosen(const std::vector<std::int64_t>& fitness) {
    std::size_t best = below(fitness.size());
    for (int k = 1; k < kClusterTournament; ++k) {
      const std::size_t other = below(fitness.size());
      if (fitness[other] < fitness[best]) best = other;
    }
    return best;
  }

  void cross(Genes& one, Genes& other) {
    if (one.size() < 2) return;
    const auto point = static_cast<std::ptrdiff_t>(1 + below(one.size() - 1));
    std::swap_ranges(one.begin() + point, one.end(), other.begin() + point);
  }

  void mutate(Genes& genes) {
    for (std::int32_t& gene : genes) {
      if (below(kRareGene) == 0) gene = any_cluster();
    }
  }

  bool take_if_better(const Genes& genes) {
    const std::int64_t fitness = fitness_of(genes);
    if (fitness >= best_.penalty) return false;
    best_ = {.cluster = genes, .penalty = fitness};
    return true;
  }

  /// Moves a peer, or swaps two, while that is better.
  void improve() {
    for (bool better = true; better;) {
      better = false;
      for (std::size_t i = 0; i < peers_.size(); ++i) {
        for (std::int32_t c = 0; c < clusters_; ++c) {
          Genes moved = best_.cluster;
          moved[i] = c;
          better = take_if_better(moved) || better;
        }
        for (std::size_t j = i + 1; j < peers_.size(); ++j) {
          Genes swapped = best_.cluster;
          std::swap(swapped[i], swapped[j]);
          better = take_if_better(swapped) || better;
        }
      }
    }
  }

  const std::vector<Peer>& peers_;
  std::int32_t clusters_;
  std::int64_t model_;
  std::mt19937_64 random_;
  PeerClusters best_;
};

}  // namespace

std::int64_t cluster_penalty(const std::vector<Peer>& peers, const std::vector<std::int32_t>& cluster,
                             std::int32_t clusters, std::int64_t model) {
  std::vector<std::int64_t> memory(static_cast<std::size_t>(clusters));
  std::vector<std::int64_t> speed(memory.size());
  for (std::size_t peer = 0; peer < peers.size(); ++peer) {
    const auto of = static_cast<std::size_t>(cluster[peer]);
    memory[of] += peers[peer].memory;
    speed[of] += peers[peer].memory / peers[peer].bandwidth;
  }
  std::int64_t missing = 0;
  for (const std::int64_t held : memory) missing += std::max<std::int64_t>(0, model - held);
  return kMissingWeight * missing + std::ranges::max(speed) - std::ranges::min(speed);
}

PeerClusters greedy_clusters(const std::vector<Peer>& peers, std::int32_t clusters, std::int64_t model) {
  std::vector<std::size_t> order(peers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>{}, [&](std::size_t peer) { return peers[peer].memory; });
  std::vector<std::int64_t> memory(static_cast<std::size_t>(clusters));
  std::vector<std::int64_t> members(memory.size());
  PeerClusters greedy{.cluster = std::vector<std::int32_t>(peers.size())};
  for (const std::size_t peer : order) {
    std::size_t least = 0;
    for (std::size_t c = 1; c < memory.size(); ++c) {
      if (std::pair(memory[c], members[c]) < std::pair(memory[least], members[least])) least = c;
    }
    memory[least] += peers[peer].memory;
    ++members[least];
    greedy.cluster[peer] = static_cast<std::int32_t>(least);
  }
  greedy.penalty = cluster_penalty(peers, greedy.cluster, clusters, model);
  return greedy;
}

PeerClusters genetic_clusters(const std::vector<Peer>& peers, std::int32_t clusters, std::int64_t model,
                              std::uint64_t seed, const std::function<void()>& stop) {
  return ClusterSearch(peers, clusters, model, seed).run(stop);
}

std::vector<std::int64_t> split_by_memory(std::int64_t size, const std::vector<std::int64_t>& memory) {
  const std::int64_t all = std::reduce(memory.begin(), memory.end());
  std::vector<std::int64_t> percent;
  std::vector<std::int64_t> rest;
  for (const std::int64_t held : memory) {
    percent.push_back(100 * held / all);
    rest.push_back(100 * held % all);
  }
  for (std::int64_t left = 100 - std::reduce(percent.begin(), percent.end()); left > 0; --left) {
    const auto largest = std::ranges::max_element(rest);
    ++percent[static_cast<std::size_t>(largest - rest.begin())];
    *largest = 0;
  }
  std::vector<std::int64_t> parts;
  for (const std::int64_t share : percent) parts.push_back(size / 100 * share + size % 100 * share / 100);
  std::int64_t left = size - std::reduce(parts.begin(), parts.end());
  for (std::size_t k = 0; left > 0; k = (k + 1) % parts.size(), --left) ++parts[k];
  return parts;
}

}  // namespace plumb
