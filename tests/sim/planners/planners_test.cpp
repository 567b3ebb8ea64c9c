#include <algorithm>
#include <functional>
#include <limits>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "models/graphs/layer_chain.hpp"
#include "models/ground/text_file.hpp"
#include "sim/planners/antichain_states.hpp"
#include "sim/planners/planner.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/random_layers.hpp"
#include "tests/support/source_directory.hpp"

TEST_SUITE_BEGIN("sim");

namespace {

using namespace plumb;
using namespace plumb::testing;

PublishedNetwork published(const std::string& tail) {
  const std::string path = in_source("results/planners/inputs/" + tail);
  return published_network(read_text_file(path), path);
}

PlanProblem published_problem(const std::string& tail, std::vector<MachineLevel> levels) {
  PlanProblem problem;
  problem.network = published(tail);
  problem.levels = std::move(levels);
  return problem;
}

using StageCost = std::function<double(std::size_t begin, std::size_t end, std::int32_t machines)>;

/// The smallest largest stage over all cuts of a chain and all shares of exactly `machines`.
double cheapest(std::size_t begin, std::size_t end, std::int32_t machines, const StageCost& cost) {
  double best = cost(begin, end, machines);
  for (std::size_t cut = begin + 1; cut < end; ++cut) {
    for (std::int32_t own = 1; own < machines; ++own) {
      best = std::min(best, std::max(cost(begin, cut, own), cheapest(cut, end, machines - own, cost)));
    }
  }
  return best;
}

/// All layers in exactly one stage, every stage closed against what comes later.
void check_covers(const PlanProblem& problem, const Plan& plan) {
  std::vector<int> stage(problem.network.layers.size(), -1);
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    for (const std::int32_t k : plan.stages[s].layers) {
      CHECK(stage[static_cast<std::size_t>(k)] == -1);
      stage[static_cast<std::size_t>(k)] = static_cast<int>(s);
    }
  }
  for (std::size_t k = 0; k < stage.size(); ++k) CHECK((stage[k] >= 0) != problem.network.layers.nodes[k].loads_data);
  for (const LayerEdge& edge : problem.network.layers.edges) {
    CHECK(stage[static_cast<std::size_t>(edge.from)] <= stage[static_cast<std::size_t>(edge.to)]);
  }
}

}  // namespace

TEST_CASE("every planner covers the network, keeps to its devices, and says what it minimises") {
  for (const Planner& planner : planners()) {
    CAPTURE(planner.name);
    CHECK_FALSE(planner.minimises.empty());
    CHECK_FALSE(planner.paper.empty());
    for (std::uint32_t seed = 1; seed <= 3; ++seed) {
      PlanProblem problem = flat_problem(random_layers(seed, 9, seed == 3 ? 4 : 0), 4);
      const Plan plan = make_plan(planner, problem);
      check_covers(problem, plan);
      CHECK(plan.num_devices() <= 4);
      CHECK(plan.num_devices() >= 1);
      CHECK(plan.claimed_ns > 0);
      CHECK(plan.lower_bound_ns <= plan.claimed_ns * (1 + 1e-9));
      CHECK(make_plan(planner, problem) == plan);
    }
  }
}

TEST_CASE("with times and links twice as slow every planner makes the same plan, and claims twice the time") {
  for (std::uint32_t seed = 1; seed <= 4; ++seed) {
    PlanProblem problem = flat_problem(random_layers(seed, 7), 2, 3e9);
    problem.levels.push_back({2, 1e9});
    problem.memory_bytes = seed % 2 == 0 ? std::int64_t{1} << 30 : 0;
    PlanProblem slow = problem;
    for (LayerNode& node : slow.network.layers.nodes) {
      node.forward_ns *= 2;
      node.backward_ns *= 2;
    }
    for (MachineLevel& level : slow.levels) level.bytes_per_s /= 2;
    for (const Planner& planner : planners()) {
      CAPTURE(planner.name);
      CAPTURE(seed);
      const Plan plan = make_plan(planner, problem);
      const Plan twice = make_plan(planner, slow);
      const double off = planner.name == "helix" ? 1e-6 : 1e-9;  // its flows are whole numbers
      CHECK(twice.claimed_ns == doctest::Approx(2 * plan.claimed_ns).epsilon(off));
      CHECK(twice.lower_bound_ns == doctest::Approx(2 * plan.lower_bound_ns).epsilon(off));
      CHECK(plan.lower_bound_ns <= plan.claimed_ns * (1 + 1e-9));
      CHECK(twice.states == plan.states);
      CHECK(twice.remarks.size() == plan.remarks.size());
      if (planner.name != "dapple" && planner.name != "diffusionpipe")
        CHECK(twice.remarks == plan.remarks);  // they tell times
      CHECK(twice.pipelines == plan.pipelines);
      CHECK(twice.shares == plan.shares);
      REQUIRE(twice.stages.size() == plan.stages.size());
      for (std::size_t s = 0; s < plan.stages.size(); ++s) {
        PlanStage expected = plan.stages[s];
        CHECK(twice.stages[s].load_ns == doctest::Approx(2 * expected.load_ns).epsilon(off));
        expected.load_ns = twice.stages[s].load_ns;
        CHECK(twice.stages[s] == expected);
      }
    }
  }
}

TEST_CASE("unknown planners and options are refused with the nearest name") {
  CHECK(error_message([] { find_planner("pipdream"); }) == "unknown planner 'pipdream' (did you mean 'pipedream'?)");
  PlanProblem problem = flat_problem(random_layers(1, 3), 2);
  problem.options["straigt"] = "1";
  CHECK(error_message([&] { make_plan(find_planner("pipedream-program"), problem); }) ==
        "unknown option of pipedream-program 'straigt' (did you mean 'straight'?)");
}

TEST_CASE("pipedream's flat plans are the best of all cuts and replications") {
  for (std::uint32_t seed = 1; seed <= 8; ++seed) {
    CAPTURE(seed);
    const PlanProblem problem = flat_problem(random_layers(seed, 6), 4);
    const LayerChain chain = chain_of(problem.network.layers);
    const StageCost paper = [&](std::size_t begin, std::size_t end, std::int32_t m) {
      const double sync = 2e9 * (m - 1) * static_cast<double>(chain.parameters(begin, end)) / 1e9;
      const double stage = std::max(static_cast<double>(chain.total(begin, end)), sync) / m;
      return std::max(stage, 2 * static_cast<double>(chain.cut_bytes[begin]));
    };
    CHECK(make_plan(find_planner("pipedream"), problem).claimed_ns == doctest::Approx(cheapest(0, 6, 4, paper)));
    const StageCost program = [&](std::size_t begin, std::size_t end, std::int32_t q) {
      return (static_cast<double>(chain.total(begin, end)) +
              4.0 * (q - 1) / q * static_cast<double>(chain.parameters(begin, end))) /
             q;
    };
    CHECK(make_plan(find_planner("pipedream-program"), problem).claimed_ns ==
          doctest::Approx(cheapest(0, 6, 4, program)));
  }
}

TEST_CASE("pipedream's levels: the best of the cuts inside is the compute of a part") {
  const LayerGraph graph = random_layers(7, 6);
  PlanProblem problem = flat_problem(graph, 2, 4e9);
  problem.levels.push_back({2, 1e9});
  const LayerChain chain = chain_of(graph);
  const auto level = [&](double rate, const StageCost& inside) {
    return [&chain, rate, inside](std::size_t begin, std::size_t end, std::int32_t m) {
      const double sync = 2e9 * (m - 1) * static_cast<double>(chain.parameters(begin, end)) / rate;
      const double transfer = 2e9 * static_cast<double>(chain.cut_bytes[begin]) / rate;
      return std::max(m == 1 ? inside(begin, end, 1) : std::max(inside(begin, end, 1), sync) / m, transfer);
    };
  };
  const StageCost compute = [&](std::size_t b, std::size_t e, std::int32_t) {
    return static_cast<double>(chain.total(b, e));
  };
  const StageCost inner_stage = level(4e9, compute);
  // Inside a part the first stage has no transfer of this level.
  const StageCost inner = [&](std::size_t b, std::size_t e, std::int32_t) {
    const StageCost first_free = [&](std::size_t begin, std::size_t end, std::int32_t m) {
      if (begin != b) return inner_stage(begin, end, m);
      const double sync = 2e9 * (m - 1) * static_cast<double>(chain.parameters(begin, end)) / 4e9;
      return m == 1 ? compute(begin, end, 1) : std::max(compute(begin, end, 1), sync) / m;
    };
    return cheapest(b, e, 2, first_free);
  };
  CHECK(make_plan(find_planner("pipedream"), problem).claimed_ns ==
        doctest::Approx(cheapest(0, 6, 2, level(1e9, inner))));
}

TEST_CASE("the released program's states are as many as the program finds") {
  struct Known {
    const char* name;
    std::size_t states;
  };
  for (const Known& known :
       {Known{"alexnet", 22}, Known{"vgg16", 40}, Known{"resnet18", 100}, Known{"squeezenet1_0", 99},
        Known{"resnet50", 240}, Known{"densenet121", 430}, Known{"gnmt", 99}}) {
    CAPTURE(known.name);
    CHECK(antichain_states(published("pipedream/" + std::string(known.name) + "/graph.txt").layers, 2000).size() ==
          known.states);
  }
}

TEST_CASE("graphs for which the released program's tables would take more than 3.5 GB are refused before any is made") {
  PlanProblem problem = flat_problem(random_layers(1, 500), 1800);
  CHECK(error_message([&] { make_plan(find_planner("pipedream-program"), problem); }) ==
        "the graph has 500 states, too many for several levels or a memory limit; expected fewer");
}

TEST_CASE("the released program's options: straight, memory, fewer machines, counted transfers") {
  PlanProblem problem = published_problem("pipedream/vgg16/graph.txt", {{4, 1e9}});
  const auto plan_with = [&](std::map<std::string, std::string> options) {
    problem.options = std::move(options);
    return make_plan(find_planner("pipedream-program"), problem);
  };
  const Plan free = plan_with({});
  const Plan straight = plan_with({{"straight", "1"}});
  CHECK(straight.stages.size() == 4);
  for (const PlanStage& stage : straight.stages) CHECK(stage.replicas == 1);
  CHECK(straight.claimed_ns >= free.claimed_ns);
  CHECK(plan_with({{"compression", "1"}}).claimed_ns > free.claimed_ns);
  CHECK(plan_with({{"fewer", "1"}}).claimed_ns <= free.claimed_ns);
  CHECK(plan_with({{"memory", "8e9"}}).claimed_ns >= free.claimed_ns);
}

TEST_CASE("dnn-partitioning's published optima") {
  const auto optimum_ms = [](const std::string& name) {
    PlanProblem problem = published_problem("dnn-partitioning/LayerGraphs/" + name + ".json", {{6, 1e9}});
    problem.memory_bytes = problem.network.placement->accelerator_bytes;
    const Plan plan = make_plan(find_planner("dnn-partitioning"), problem);
    check_covers(problem, plan);
    return plan.claimed_ns / 1e6;
  };
  CHECK(optimum_ms("bert24_training") == doctest::Approx(41.746).epsilon(1e-5));
  CHECK(optimum_ms("resnet50_training") == doctest::Approx(78.632).epsilon(1e-5));
}

TEST_CASE("dnn-partitioning's chains are no worse than those of its released program") {
  struct Released {
    const char* name;
    double load_ms;  // its option -linearize, as printed
  };
  for (const Released& released :
       {Released{"LayerGraphs/bert24_inference", 17.7899}, Released{"LayerGraphs/bert24_training", 41.7458},
        Released{"LayerGraphs/gnmt_inference", 33.0326}, Released{"LayerGraphs/gnmt_training", 107.004},
        Released{"LayerGraphs/inceptionv3_inference", 51.5519}, Released{"LayerGraphs/inceptionv3_training", 123.93},
        Released{"LayerGraphs/resnet50_inference", 33.7747}, Released{"LayerGraphs/resnet50_training", 78.6498},
        Released{"OperatorGraphs/bert_L-12_training", 437.998}, Released{"OperatorGraphs/bert_l-12_inference", 147.478},
        Released{"OperatorGraphs/bert_l-3_inference", 27.9186}, Released{"OperatorGraphs/bert_l-3_training", 65.3031},
        Released{"OperatorGraphs/bert_l-6_inference", 29.5795}, Released{"OperatorGraphs/bert_l-6_training", 72.865},
        Released{"OperatorGraphs/resnet50_inference", 124.349},
        Released{"OperatorGraphs/resnet50_training", 255.194}}) {
    CAPTURE(released.name);
    PlanProblem problem = published_problem(std::string("dnn-partitioning/") + released.name + ".json", {});
    problem.levels = {{problem.network.placement->accelerators, 1e9}};
    problem.memory_bytes = problem.network.placement->accelerator_bytes;
    problem.options["linear"] = "1";
    const Plan plan = make_plan(find_planner("dnn-partitioning"), problem);
    check_covers(problem, plan);
    CHECK(plan.claimed_ns / 1e6 <= released.load_ms * (1 + 5e-6));
  }
}

TEST_CASE("dnn-partitioning's plans are the best of all contiguous placements") {
  for (std::uint32_t seed = 1; seed <= 9; ++seed) {
    CAPTURE(seed);
    const std::int32_t devices = 1 + static_cast<std::int32_t>(seed % 3);
    const PlanProblem problem = flat_problem(random_layers(seed, 7, 3), devices, 5e8);
    const LayerGraph& graph = problem.network.layers;
    const auto load = [&](unsigned set) {
      double sum = 0;
      for (std::size_t k = 0; k < graph.size(); ++k) {
        const bool own = (set >> k & 1U) != 0;
        bool crosses = false;
        for (const LayerEdge& edge : graph.edges) {
          if (edge.from == static_cast<std::int32_t>(k)) crosses = crosses || ((set >> edge.to & 1U) != 0) != own;
        }
        if (own) sum += static_cast<double>(graph.nodes[k].total_ns());
        if (crosses) sum += 4 * static_cast<double>(graph.nodes[k].output_bytes);
      }
      return sum;
    };
    const auto is_ideal = [&](unsigned set) {
      return std::all_of(graph.edges.begin(), graph.edges.end(), [&](const LayerEdge& edge) {
        return (set >> edge.to & 1U) == 0 || (set >> edge.from & 1U) != 0;
      });
    };
    double best = std::numeric_limits<double>::infinity();
    const unsigned all = (1U << graph.size()) - 1;
    for (unsigned a = 0; a <= all; ++a) {
      if (!is_ideal(a) || (devices < 3 && a != 0)) continue;
      for (unsigned b = a; b <= all; ++b) {
        if ((a & ~b) != 0 || !is_ideal(b) || (devices < 2 && b != all)) continue;
        best = std::min(best, std::max({load(a), load(b & ~a), load(all & ~b)}));
      }
    }
    CHECK(make_plan(find_planner("dnn-partitioning"), problem).claimed_ns == doctest::Approx(best).epsilon(1e-6));
  }
}

TEST_CASE("piper's plans are the best of all cuts and replications of a chain") {
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    CAPTURE(seed);
    PlanProblem problem = flat_problem(random_layers(seed, 5), 4);
    problem.microbatches = 12;
    const LayerChain chain = chain_of(problem.network.layers);
    const StageCost cost = [&](std::size_t begin, std::size_t end, std::int32_t d) {
      const double edges = static_cast<double>(chain.cut_bytes[begin] + chain.cut_bytes[end]);
      const double sync = 4.0 * (d - 1) / d / 12 * static_cast<double>(chain.parameters(begin, end));
      return static_cast<double>(chain.total(begin, end)) / d + 2.0 / d * edges + sync;
    };
    double best = std::numeric_limits<double>::infinity();
    for (std::int32_t used = 1; used <= 4; ++used) best = std::min(best, cheapest(0, 5, used, cost));
    CHECK(make_plan(find_planner("piper"), problem).claimed_ns == doctest::Approx(best));
  }
}

TEST_CASE("a planner that is told to stop says so at the next question") {
  for (const Planner& planner : planners()) {
    if (planner.name == "gpipe" || planner.name == "pipedream-2bw" || planner.name == "varuna") continue;  // short ones
    CAPTURE(planner.name);
    PlanProblem problem = flat_problem(random_layers(1, 60), 8);
    int asked = 0;
    problem.stop.asked = [&] { return ++asked > 0; };
    CHECK_THROWS_WITH_AS(make_plan(planner, problem), "plan: stopped before the planner had an answer", Error);
    CHECK(asked == 1);
  }
}

TEST_CASE("piper keeps to the memory of a device by recomputing, and says when nothing fits") {
  PlanProblem problem = published_problem("piper/bert32a100.json", {{8, 26843545600.0}});
  problem.microbatches = 480;
  problem.memory_bytes = std::int64_t{80} << 30;
  const Plan roomy = make_plan(find_planner("piper"), problem);
  problem.memory_bytes = std::int64_t{8} << 30;
  const Plan tight = make_plan(find_planner("piper"), problem);
  CHECK(tight.claimed_ns > roomy.claimed_ns);
  CHECK(std::any_of(tight.stages.begin(), tight.stages.end(), [](const PlanStage& stage) { return stage.recompute; }));
  problem.memory_bytes = 1 << 20;
  CHECK(error_message([&] { make_plan(find_planner("piper"), problem); }) ==
        "piper: the network does not fit into the memory of the devices");
}

TEST_CASE("a planner's year is the one that its paper is cited with") {
  int cited = 0;
  for (const Planner& planner : planners()) {
    CAPTURE(planner.name);
    const std::string paper(planner.paper);
    const std::size_t year = paper.find(" 20");
    if (year == std::string::npos) continue;
    CHECK(paper.substr(year + 1, 4) == std::to_string(planner.year));
    ++cited;
  }
  CHECK(cited >= 25);
  CHECK(find_planner("ravnest").year == 2024);  // arXiv 2401.01728
}
