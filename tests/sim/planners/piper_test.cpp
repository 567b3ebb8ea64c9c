#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "models/ground/text_file.hpp"
#include "sim/planners/planner.hpp"
#include "tests/support/source_directory.hpp"

TEST_SUITE_BEGIN("sim");

namespace {

using namespace plumb;
using namespace plumb::testing;

constexpr double kImpossible = std::numeric_limits<double>::infinity();

/// A branching network of random layers at the degrees 1 and 2. One layer, if any, can be recomputed: then Piper's
/// choice of variants is the best one.
PlanProblem random_problem(std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto draw = [&](std::uint32_t most) { return static_cast<double>(random() % (most + 1)); };
  constexpr std::size_t kLayers = 5;
  VariantGraph graph;
  graph.before.resize(kLayers);
  graph.after.resize(kLayers);
  for (std::int32_t to = 1; to < static_cast<std::int32_t>(kLayers); ++to) {
    for (std::int32_t from = 0; from < to; ++from) {
      if (from + 1 < to && draw(3) > 0) continue;
      if (from + 1 == to && draw(3) == 0) continue;
      const double bytes = 1000 * draw(9);
      graph.after[static_cast<std::size_t>(from)].push_back({to, bytes});
      graph.before[static_cast<std::size_t>(to)].push_back({from, bytes});
    }
  }
  const std::size_t lean = random() % (2 * kLayers);
  PlanProblem problem;
  for (std::size_t k = 0; k < kLayers; ++k) {
    graph.id.push_back(static_cast<std::int64_t>(k));
    graph.label.push_back("n" + std::to_string(k));
    for (const std::int32_t degree : {1, 2}) {
      TensorVariant variant{degree, "vanilla", (1 + draw(19)) / 1000 / degree, 1000 * draw(3), 100 * draw(9), 100,
                            {},     {}};
      variant.receives_bytes.assign(graph.before[k].size(), 100.0 * (degree - 1));
      variant.sends_bytes.assign(graph.after[k].size(), 100.0 * (degree - 1));
      graph.variants.resize(k + 1);
      graph.variants[k].push_back(variant);
      if (k != lean) continue;
      variant.id = "activation recomp";
      variant.seconds *= 1.25;
      variant.bytes_fixed += 0.75 * variant.bytes_per_copy;
      variant.bytes_per_copy *= 0.25;
      graph.variants[k].push_back(variant);
    }
    problem.network.layers.nodes.push_back({.id = std::to_string(k), .name = graph.label[k]});
  }
  problem.network.variants = std::move(graph);
  problem.levels = {{1 + static_cast<std::int32_t>(random() % 7), 1e6}};
  problem.microbatches = std::vector<std::int64_t>{2, 4, 6, 12}[random() % 4];
  problem.memory_bytes = random() % 4 == 0 ? 0 : 1000 + static_cast<std::int64_t>(random() % 8000);
  return problem;
}

/// Tries everything: sets of layers as bits, from the last stage to the first.
struct Everything {
  const PlanProblem& problem;
  const VariantGraph& graph = *problem.network.variants;

  static bool has(unsigned set, std::int32_t k) { return (set >> k & 1U) != 0; }

  bool is_tail(unsigned set) const {
    for (std::int32_t k = 0; k < static_cast<std::int32_t>(graph.size()); ++k) {
      for (const VariantEdge& edge : graph.after[static_cast<std::size_t>(k)]) {
        if (has(set, k) && !has(set, edge.node)) return false;
      }
    }
    return true;
  }

  /// Of a stage with the variants that the bits of `lean` choose.
  double seconds(unsigned own, unsigned lean, std::int32_t degree, std::int32_t replicas, std::int32_t copies) const {
    double time = 0, parameters = 0, edges = 0, bytes = 0;
    for (std::size_t k = 0; k < graph.size(); ++k) {
      if (!has(own, static_cast<std::int32_t>(k))) continue;
      const TensorVariant* chosen = nullptr;
      for (const TensorVariant& variant : graph.variants[k]) {
        if (variant.degree == degree && (variant.id != "vanilla") == has(lean, static_cast<std::int32_t>(k)))
          chosen = &variant;
      }
      if (chosen == nullptr) return kImpossible;
      time += chosen->seconds;
      parameters += chosen->parameter_bytes;
      bytes += chosen->bytes_per_copy * copies + chosen->bytes_fixed;
      for (std::size_t e = 0; e < graph.before[k].size(); ++e) {
        if (!has(own, graph.before[k][e].node)) edges += graph.before[k][e].bytes + chosen->receives_bytes[e];
      }
      for (std::size_t e = 0; e < graph.after[k].size(); ++e) {
        if (!has(own, graph.after[k][e].node)) edges += graph.after[k][e].bytes + chosen->sends_bytes[e];
      }
    }
    if (problem.memory_bytes > 0 && bytes > static_cast<double>(problem.memory_bytes)) return kImpossible;
    const double bandwidth = problem.num_devices() == 1 ? kImpossible : 1e6;
    const double sync = 4.0 * (replicas - 1) / static_cast<double>(problem.microbatches) * parameters;
    return (time + (2 * edges + sync) / bandwidth) / replicas;
  }

  double best(unsigned tail, std::int32_t devices, std::int32_t copies) const {
    const unsigned all = (1U << graph.size()) - 1;
    if (tail == all) return 0;
    double least = kImpossible;
    for (unsigned set = 1; set <= all; ++set) {
      if ((tail & ~set) != 0 || set == tail || !is_tail(set)) continue;
      for (const std::int32_t degree : {1, 2}) {
        for (std::int32_t d = 1; d * degree <= devices; ++d) {
          if (problem.microbatches % d != 0 || copies + d > problem.microbatches) continue;
          double stage = kImpossible;
          for (unsigned lean = 0; lean <= all; ++lean) {
            stage = std::min(stage, seconds(set & ~tail, lean, degree, d, (copies + d + d - 1) / d));
          }
          if (stage < least) least = std::min(least, std::max(stage, best(set, devices - d * degree, copies + d)));
        }
      }
    }
    return least;
  }
};

PlanProblem bert(std::int32_t devices, std::int64_t memory_bytes) {
  const std::string path = in_source("results/planners/inputs/piper/bert32a100.json");
  PlanProblem problem;
  problem.network = published_network(read_text_file(path), path);
  problem.levels = {{devices, 26843545600.0}};
  problem.memory_bytes = memory_bytes;
  problem.microbatches = 480;
  return problem;
}

}  // namespace

TEST_CASE("piper finds the best plan of branching networks over degrees, replicas, memory and recompute") {
  int possible = 0;
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    const PlanProblem problem = random_problem(seed);
    const double best = Everything{problem}.best(0, problem.num_devices(), 0);
    if (best == kImpossible) {
      CHECK_THROWS(make_plan(find_planner("piper"), problem));
      continue;
    }
    ++possible;
    CHECK(make_plan(find_planner("piper"), problem).claimed_ns == doctest::Approx(1e9 * best).epsilon(1e-12));
  }
  CHECK(possible > 30);
}

TEST_CASE("a stage of piper fits into exactly its bytes, with the fastest variant or only with the leanest one") {
  PlanProblem problem;
  VariantGraph graph;
  graph.before.resize(1);
  graph.after.resize(1);
  graph.id = {0};
  graph.label = {"n0"};
  graph.variants = {
      {{1, "vanilla", 0.001, 0, 700, 100, {}, {}}, {1, "activation recomp", 0.0015, 0, 200, 300, {}, {}}}};
  problem.network.layers.nodes.push_back({.id = "0", .name = "n0"});
  problem.network.variants = graph;
  problem.levels = {{1, 1e6}};
  problem.microbatches = 4;
  const auto claim = [&](std::int64_t bytes) {
    problem.memory_bytes = bytes;
    try {
      return make_plan(find_planner("piper"), problem).claimed_ns;
    } catch (const Error&) {
      return kImpossible;
    }
  };
  CHECK(claim(801) == doctest::Approx(1e6));
  CHECK(claim(800) == doctest::Approx(1e6));
  CHECK(claim(799) == doctest::Approx(1.5e6));
  CHECK(claim(500) == doctest::Approx(1.5e6));
  CHECK(claim(499) == kImpossible);
  CHECK(claim(0) == doctest::Approx(1e6));  // no limit
}

TEST_CASE("piper's times for BERT-32 on hundreds of devices are those of its released program, bit for bit") {
  CHECK(make_plan(find_planner("piper"), bert(256, std::int64_t{80} << 30)).claimed_ns == 1e9 * 0.004629580187487603);
  CHECK(make_plan(find_planner("piper"), bert(512, std::int64_t{16} << 30)).claimed_ns == 1e9 * 0.002652205967760086);
}

TEST_SUITE_END();
