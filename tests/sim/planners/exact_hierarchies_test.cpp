#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "models/graphs/layer_chain.hpp"
#include "models/ground/error.hpp"
#include "sim/planners/planner.hpp"
#include "sim/planners/step_time.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/random_layers.hpp"

TEST_SUITE_BEGIN("sim");

// The planners of machines in levels and of strategies by layer, against all that there is to choose from.

namespace plumb::testing {
namespace {

constexpr double kNothing = std::numeric_limits<double>::infinity();

double real(std::int64_t number) { return static_cast<double>(number); }

double claim_or_nothing(const char* method, const PlanProblem& problem) {
  try {
    return make_plan(find_planner(method), problem).claimed_ns;
  } catch (const Error&) {
    return kNothing;
  }
}

void check_claim(double claim, double best) {
  CHECK((claim == kNothing) == (best == kNothing));
  if (claim != kNothing) CHECK(claim == doctest::Approx(best));
}

/// PipeDream's released program on a chain, in its own words: level by level, the last stage of a part behind a cut.
struct PlainProgram {
  const PlanProblem& problem;
  const LayerChain& chain;
  double memory = 0;
  double compression = 0;
  bool straight = false;
  bool fewer = false;

  double compute(std::size_t level, std::size_t begin, std::size_t end) const {
    if (level == 0) return real(chain.total(begin, end));
    return best(level - 1, begin, end, problem.levels[level - 1].count);
  }
  double sync(std::size_t level, std::size_t begin, std::size_t end, std::int32_t q) const {
    return 4e9 * (q - 1) / q * real(chain.parameters(begin, end)) / problem.levels[level].bytes_per_s;
  }
  bool too_large(std::size_t level, std::size_t begin, std::size_t end, std::int32_t q, std::int32_t own) const {
    const double bytes = real(chain.activations(begin, end) + chain.parameters(begin, end));
    return memory > 0 && std::ceil(real(problem.levels[level].count - q) / own) * bytes > memory;
  }
  double best(std::size_t level, std::size_t begin, std::size_t end, std::int32_t q) const {
    double least = kNothing;
    if (!(straight && q > 1) && !too_large(level, begin, end, q, q)) {
      const double within = level > 0 ? problem.levels[level - 1].count : 1;
      least = (compute(level, begin, end) + sync(level, begin, end, q) / within) / q;
    }
    for (std::size_t cut = begin + 1; cut < end; ++cut) {
      for (std::int32_t own = 1; own < q; ++own) {
        if ((straight && own > 1) || too_large(level, cut, end, q, own)) continue;
        double last = (compute(level, cut, end) + sync(level, cut, end, own)) / own;
        if (compression > 0) {
          const double scale = 2e9 / (problem.levels[level].bytes_per_s * own) / compression;
          last = std::max(last, scale * real(chain.cut_bytes[cut]));
          last = std::max(last, scale * real(chain.cut_bytes[end]));
        }
        least = std::min(least, std::max(last, best(level, begin, cut, q - own)));
      }
    }
    return fewer && q > 1 ? std::min(least, best(level, begin, end, q - 1)) : least;
  }
};

}  // namespace

TEST_CASE("pipedream's released program is its recursion, with every option, on one level and on two") {
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    for (const bool nodes : {false, true}) {
      PlanProblem problem = flat_problem(random_layers(seed, 5), 3, 4e9);
      if (nodes) problem.levels.push_back({2, 1e9});
      const LayerChain chain = chain_of(problem.network.layers);
      for (const std::string option : {"", "straight", "fewer", "compression", "memory", "all"}) {
        CAPTURE(seed);
        CAPTURE(nodes);
        CAPTURE(option);
        PlainProgram plain{problem, chain};
        plain.straight = option == "straight";
        plain.fewer = option == "fewer" || option == "all";
        if (option == "compression" || option == "all") plain.compression = 0.05;
        if (option == "memory" || option == "all")
          plain.memory = 0.75 * real(chain.parameters(0, 5) + chain.activations(0, 5));
        problem.options.clear();
        if (plain.straight) problem.options["straight"] = "1";
        if (plain.fewer) problem.options["fewer"] = "1";
        if (plain.compression > 0) problem.options["compression"] = "0.05";
        if (plain.memory > 0) problem.options["memory"] = std::to_string(plain.memory);
        const std::size_t top = problem.levels.size() - 1;
        check_claim(claim_or_nothing("pipedream-program", problem), plain.best(top, 0, 5, problem.levels[top].count));
        problem.options["cuts"] = "all";  // of a chain there are no others
        check_claim(claim_or_nothing("pipedream-program", problem), plain.best(top, 0, 5, problem.levels[top].count));
      }
    }
  }
  PlanProblem problem = flat_problem(random_layers(1, 3), 2);
  problem.options["cuts"] = "some";
  CHECK(error_message([&] { make_plan(find_planner("pipedream-program"), problem); }).ends_with("all, found 'some'"));
}

TEST_CASE("the stages of pipedream's plans take what they claim, of one level and of two") {
  for (std::uint32_t seed = 1; seed <= 10; ++seed) {
    for (const std::string option : {"", "fewer", "straight", "compression"}) {
      CAPTURE(seed);
      CAPTURE(option);
      PlanProblem problem = flat_problem(random_layers(seed, 7), 4, 2e9);
      const LayerChain chain = chain_of(problem.network.layers);
      if (!option.empty()) problem.options[option] = option == "compression" ? "0.125" : "1";
      const Plan plan = make_plan(find_planner("pipedream-program"), problem);
      double slowest = 0;
      std::size_t begin = 0;
      std::int32_t machines = 0;
      for (const PlanStage& stage : plan.stages) {
        const std::size_t end = begin + stage.layers.size();
        const std::int32_t q = stage.replicas;
        double time = (real(chain.total(begin, end)) + 2.0 * (q - 1) / q * real(chain.parameters(begin, end))) / q;
        if (option == "compression") {
          time = std::max(
              {time, 8 * real(chain.cut_bytes[begin]) / q, begin == 0 ? 0 : 8 * real(chain.cut_bytes[end]) / q});
        }
        CHECK(stage.load_ns == doctest::Approx(time));
        if (option == "straight") CHECK(q == 1);
        slowest = std::max(slowest, time);
        machines += q;
        begin = end;
      }
      CHECK(begin == 7);
      CHECK((option == "fewer" ? machines <= 4 : machines == 4));
      CHECK(plan.claimed_ns == doctest::Approx(slowest));
    }
  }
}

TEST_CASE("pipedream's paper has transfers and sums on two levels: the best cut inside is the compute of a part") {
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    CAPTURE(seed);
    PlanProblem problem = flat_problem(random_layers(seed, 5), 2, 4e9);
    problem.levels.push_back({3, 1e9});
    const LayerChain chain = chain_of(problem.network.layers);
    using Best = std::function<double(std::size_t, std::size_t, std::int32_t)>;
    const auto level = [&](double rate, const Best& inside) {
      const auto whole = [&chain, rate, inside](std::size_t begin, std::size_t end, std::int32_t m) {
        const double sync = 2e9 * (m - 1) * real(chain.parameters(begin, end)) / rate;
        return m == 1 ? inside(begin, end, 1) : std::max(inside(begin, end, 1), sync) / m;
      };
      const auto best = [&chain, rate, whole](std::size_t begin, std::size_t end, std::int32_t m,
                                              const auto& self) -> double {
        double least = whole(begin, end, m);
        for (std::size_t cut = begin + 1; cut < end; ++cut) {
          for (std::int32_t own = 1; own < m; ++own) {
            const double transfer = 2e9 * real(chain.cut_bytes[cut]) / rate;
            least = std::min(least, std::max({self(begin, cut, m - own, self), transfer, whole(cut, end, own)}));
          }
        }
        return least;
      };
      return [best](std::size_t begin, std::size_t end, std::int32_t m) { return best(begin, end, m, best); };
    };
    const Best compute = [&](std::size_t begin, std::size_t end, std::int32_t) {
      return real(chain.total(begin, end));
    };
    const auto node = level(4e9, compute);
    const Best inner = [&](std::size_t begin, std::size_t end, std::int32_t) { return node(begin, end, 2); };
    CHECK(claim_or_nothing("pipedream", problem) == doctest::Approx(level(1e9, inner)(0, 5, 3)));
  }
}

TEST_CASE("dapple's two stages are the best of all cuts, device counts and its three ways to place the first stage") {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    for (const std::int32_t machines : {1, 2, 3}) {
      CAPTURE(seed);
      CAPTURE(machines);
      constexpr std::int32_t kPerMachine = 3;
      PlanProblem problem = flat_problem(random_layers(seed, 2), kPerMachine, 4e9);
      if (machines > 1) problem.levels.push_back({machines, seed % 2 == 0 ? 5e8 : 3e9});
      problem.microbatches = 1 + seed % 9;
      const double outside = problem.levels.back().bytes_per_s;
      const LayerChain chain = chain_of(problem.network.layers);
      const std::int32_t all = machines * kPerMachine;
      const auto stage = [&](std::size_t begin, std::size_t end, const std::set<std::int32_t>& devices) {
        std::set<std::int32_t> on;
        for (const std::int32_t d : devices) on.insert(d / kPerMachine);
        const auto n = static_cast<double>(devices.size());
        const double ring = 2e9 * real(chain.parameters(begin, end)) * (n - 1) / n / (on.size() > 1 ? outside : 4e9);
        return PipelineStages::Stage{real(chain.forward(begin, end)) / n, real(chain.backward(begin, end)) / n,
                                     n > 1 ? ring : 0};
      };
      std::set<std::int32_t> every;
      for (std::int32_t d = 0; d < all; ++d) every.insert(d);
      double best = pivot_latency({{stage(0, 2, every)}}, problem.microbatches).latency_ns;
      for (std::int32_t count = 1; count < all; ++count) {
        for (const bool scattered : {false, true}) {  // fresh and append are one where nothing is in use
          std::set<std::int32_t> first;
          for (std::int32_t k = 0; k < count; ++k) {
            first.insert(scattered ? k % machines * kPerMachine + k / machines : k);
          }
          std::set<std::int32_t> rest;
          std::ranges::set_difference(every, first, std::inserter(rest, rest.begin()));
          std::set<std::int32_t> on;
          for (const std::int32_t d : every) on.insert(d / kPerMachine);
          const double transfer = 1e9 * real(chain.cut_bytes[1]) / (on.size() > 1 ? outside : 4e9);
          const PipelineStages two{{stage(0, 1, first), {transfer, transfer, 0}, stage(1, 2, rest)}};
          best = std::min(best, pivot_latency(two, problem.microbatches).latency_ns);
        }
      }
      const Plan plan = make_plan(find_planner("dapple"), problem);
      CHECK(plan.claimed_ns == doctest::Approx(best));
      std::set<std::int32_t> used;
      for (const PlanStage& one : plan.stages) {
        used.insert(one.devices.begin(), one.devices.end());
        CHECK(one.replicas == std::ssize(one.devices));
      }
      CHECK(used == every);
    }
  }
}

namespace {

using OnMachines = std::vector<std::int32_t>;  ///< devices, by machine

/// So many of the devices that `used` leaves: of machines that nothing is on first (`way` 0), of those in use first
/// (1), or of all machines in turn.
OnMachines dapple_places(const OnMachines& used, std::int32_t per_machine, std::int32_t count, int way) {
  std::vector<std::size_t> order;  // machines of the devices that are left, in the order in which they are taken
  const auto add = [&](bool in_use) {
    for (std::size_t m = 0; m < used.size(); ++m) {
      if ((used[m] > 0) == in_use) order.insert(order.end(), static_cast<std::size_t>(per_machine - used[m]), m);
    }
  };
  if (way < 2) {
    add(way == 1);
    add(way != 1);
  }
  for (std::int32_t turn = 0; way == 2 && turn < per_machine; ++turn) {
    for (std::size_t m = 0; m < used.size(); ++m) {
      if (turn < per_machine - used[m]) order.push_back(m);
    }
  }
  OnMachines own(used.size(), 0);
  for (std::int32_t k = 0; k < count; ++k) ++own[order[static_cast<std::size_t>(k)]];
  return own;
}

/// The least latency of all ways to go on behind `begin`, by the definition.
struct PlainDapple {
  const PlanProblem& problem;
  const LayerChain& chain;
  std::int32_t per_machine = 1;

  double rate(const OnMachines& one, const OnMachines& other) const {
    int machines = 0;
    for (std::size_t m = 0; m < one.size(); ++m) machines += one[m] + other[m] > 0 ? 1 : 0;
    return machines > 1 ? problem.levels.back().bytes_per_s : problem.levels.front().bytes_per_s;
  }

  void add(PipelineStages& stages, std::size_t begin, std::size_t end, const OnMachines& own,
           const OnMachines& before) const {
    if (begin > 0) {
      const double transfer = 1e9 * real(chain.cut_bytes[begin]) / rate(before, own);
      stages.stages.push_back({transfer, transfer, 0});
    }
    const double n = std::accumulate(own.begin(), own.end(), 0);
    const double ring = 2e9 * real(chain.parameters(begin, end)) * (n - 1) / n / rate(own, own);
    stages.stages.push_back(
        {real(chain.forward(begin, end)) / n, real(chain.backward(begin, end)) / n, n > 1 ? ring : 0});
  }

  double least(const PipelineStages& known, std::size_t begin, const OnMachines& used, const OnMachines& before) const {
    OnMachines rest(used.size());
    for (std::size_t m = 0; m < used.size(); ++m) rest[m] = per_machine - used[m];
    PipelineStages closed = known;
    const std::size_t layers = problem.network.layers.nodes.size();
    add(closed, begin, layers, rest, before);
    double best = pivot_latency(closed, problem.microbatches).latency_ns;
    const std::int32_t left = std::accumulate(rest.begin(), rest.end(), 0);
    for (std::size_t cut = begin + 1; cut < layers; ++cut) {
      for (std::int32_t count = 1; count < left; ++count) {
        for (const int way : {0, 1, 2}) {
          const OnMachines own = dapple_places(used, per_machine, count, way);
          PipelineStages longer = known;
          add(longer, begin, cut, own, before);
          OnMachines together = used;
          for (std::size_t m = 0; m < used.size(); ++m) together[m] += own[m];
          best = std::min(best, least(longer, cut, together, own));
        }
      }
    }
    return best;
  }
};

}  // namespace

TEST_CASE("dapple's stages on machines that are partly in use are the best of its three ways to place them, too") {
  // In the last three, of six hundred, a stage that is partly on a machine in use is best, but not one device of each.
  for (const std::uint32_t seed : {1U, 2U, 3U, 4U, 5U, 6U, 7U, 8U, 125U, 465U, 597U}) {
    CAPTURE(seed);
    const std::int32_t machines = seed % 2 == 0 ? 2 : 3;
    const std::int32_t per_machine = machines == 2 ? 4 : 3;
    PlanProblem problem = flat_problem(random_layers(seed, 3), per_machine, 4e9);
    problem.levels.push_back({machines, 5e8});
    problem.microbatches = 1 + seed % 5;
    const LayerChain chain = chain_of(problem.network.layers);
    const OnMachines none(static_cast<std::size_t>(machines), 0);
    const PlainDapple plain{problem, chain, per_machine};
    CHECK(make_plan(find_planner("dapple"), problem).claimed_ns == doctest::Approx(plain.least({}, 0, none, none)));
  }
}

namespace {

/// Galvatron's costs of one layer, from its definition.
struct PlainStrategy {
  std::int32_t data = 1;
  std::int32_t tensor = 1;
  bool sharded = false;
  bool recompute = false;
};

std::vector<PlainStrategy> all_strategies(std::int32_t devices) {
  std::vector<PlainStrategy> all;
  for (const std::int32_t tensor : {1, 2, 4}) {
    if (tensor > devices) continue;
    for (const bool sharded : {false, true}) {
      for (const bool recompute : {false, true}) {
        if (!sharded || devices > tensor) all.push_back({devices / tensor, tensor, sharded, recompute});
      }
    }
  }
  return all;
}

double sum_over(double bytes, std::int32_t ranks) { return ranks == 1 ? 0 : 2e9 * bytes * (ranks - 1) / ranks / 2e9; }

struct PlainGalvatron {
  const PlanProblem& problem;
  const LayerChain& chain;
  std::int32_t devices;
  double in_flight;

  double time(std::size_t layer, const PlainStrategy& how) const {
    const double forward = real(chain.forward(layer, layer + 1));
    const double total = real(chain.total(layer, layer + 1));
    const double compute = (total + (how.recompute ? forward : 0)) / devices;
    const double sums = (how.recompute ? 3 : 2) * sum_over(real(chain.cut_bytes[layer + 1]) / how.data, how.tensor);
    const double reduce = sum_over(real(chain.parameters(layer, layer + 1)) / how.tensor, how.data);
    const double beside = reduce / real(problem.microbatches) + (how.sharded ? reduce : 0);
    const double backward = compute * (total - forward) / total;
    return compute + sums + std::max(0.0, beside - backward) + 0.3 * std::min(backward, beside);
  }
  std::int64_t memory(std::size_t layer, const PlainStrategy& how) const {
    if (problem.memory_bytes == 0) return 0;
    const double state = 4 * real(chain.parameters(layer, layer + 1)) / how.tensor / (how.sharded ? how.data : 1);
    const double kept =
        how.recompute ? real(chain.cut_bytes[layer]) : real(chain.activations(layer, layer + 1)) / how.tensor;
    return static_cast<std::int64_t>(
        std::ceil((state + in_flight * kept / how.data) / real(problem.memory_bytes) * 64));
  }
  double best(std::size_t layer, std::size_t end, std::int64_t left, const PlainStrategy* before) const {
    if (layer == end) return 0;
    double least = kNothing;
    for (const PlainStrategy& how : all_strategies(devices)) {
      const std::int64_t need = memory(layer, how);
      if (need > left) continue;
      double own = time(layer, how);
      if (before != nullptr && before->tensor != how.tensor) {
        own += sum_over(real(chain.cut_bytes[layer]) / std::min(before->data, how.data),
                        std::max(before->tensor, how.tensor));
      }
      least = std::min(least, own + best(layer + 1, end, left - need, &how));
    }
    return least;
  }
};

}  // namespace

TEST_CASE("galvatron's strategies are the best of all, layer by layer, in 64 steps of memory") {
  int refused = 0;
  int mixed = 0;
  for (std::uint32_t seed = 1; seed <= 24; ++seed) {
    CAPTURE(seed);
    PlanProblem problem = flat_problem(random_layers(seed, 4), 4, 2e9);
    problem.microbatches = 1 + seed % 6;
    const LayerChain chain = chain_of(problem.network.layers);
    if (seed % 4 > 0) problem.memory_bytes = chain.parameters(0, 4) * (1 + seed % 4) / 2 + chain.activations(0, 4);
    double best = kNothing;
    for (const std::size_t length : {1U, 2U, 4U}) {
      // The cut with the least largest stage; ties are rare in random layers.
      std::vector<std::size_t> bounds(length + 1, 0);
      std::iota(bounds.begin(), bounds.end(), 0);
      bounds.back() = 4;
      if (length == 2) {
        for (const std::size_t cut : {1U, 2U, 3U}) {
          const auto largest = [&](std::size_t c) { return std::max(chain.total(0, c), chain.total(c, 4)); };
          if (largest(cut) < largest(bounds[1])) bounds[1] = cut;
        }
      }
      double sum = 0;
      double slowest = 0;
      for (std::size_t s = 0; s < length; ++s) {
        const auto in_flight = std::min<std::int64_t>(static_cast<std::int64_t>(length - s), problem.microbatches);
        const PlainGalvatron plain{problem, chain, static_cast<std::int32_t>(4 / length), real(in_flight)};
        const double time = plain.best(bounds[s], bounds[s + 1], 64, nullptr);
        sum += time;
        slowest = std::max(slowest, time);
      }
      best = std::min(best, sum + real(problem.microbatches - 1) * slowest);
    }
    const double claim = claim_or_nothing("galvatron", problem);
    check_claim(claim, best);
    refused += claim == kNothing ? 1 : 0;
    if (claim == kNothing) continue;
    const Plan plan = make_plan(find_planner("galvatron"), problem);
    CHECK(plan.states == 3);
    CHECK(plan.num_devices() == 4);
    mixed += plan.remarks.empty() ? 0 : 1;
    double sum = 0;
    double slowest = 0;
    for (const PlanStage& stage : plan.stages) {
      sum += stage.load_ns;
      slowest = std::max(slowest, stage.load_ns);
    }
    CHECK(plan.claimed_ns == doctest::Approx(sum + real(problem.microbatches - 1) * slowest));
  }
  CHECK(refused < 12);
  CHECK(mixed > 2);
}

TEST_CASE("dynapipe's groups keep to memory: no group holds more than fits, and more room is never slower") {
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    CAPTURE(seed);
    PlanProblem problem = flat_problem(random_layers(seed, 5), 3);
    problem.microbatches = 6;
    problem.options["lengths"] = "4,1,2.5,1,8,2";
    const LayerChain chain = chain_of(problem.network.layers);
    const double unit = [&] {
      double longest = 0;
      for (const PlanStage& stage : make_plan(find_planner("dynapipe"), problem).stages)
        longest = std::max(longest, stage.load_ns);
      return longest;
    }();
    const std::vector<double> lengths{1, 1, 2, 2.5, 4, 8};
    for (const double room : {7.9, 8.0, 8.1, 9.9, 10.1, 16.1, 48.0}) {
      CAPTURE(room);
      const double weights = 2 * real(chain.parameters(0, 5)) / 3;
      problem.memory_bytes = static_cast<std::int64_t>(std::ceil(weights + room * real(chain.activations(0, 5))));
      double best = kNothing;
      for (unsigned ends = 0; ends < 32; ++ends) {  // bit k: a group ends after sample k
        double sum = 0;
        double longest = 0;
        double most = 0;
        std::size_t begin = 0;
        for (std::size_t k = 0; k < 6; ++k) {
          if (k < 5 && (ends >> k & 1U) == 0) continue;
          const double padded = real(static_cast<std::int64_t>(k + 1 - begin)) * lengths[k];
          sum += unit * padded;
          longest = std::max(longest, unit * padded);
          most = std::max(most, padded);
          begin = k + 1;
        }
        if (weights + most * real(chain.activations(0, 5)) <= real(problem.memory_bytes)) {
          best = std::min(best, 2 * longest + sum);
        }
      }
      check_claim(claim_or_nothing("dynapipe", problem), best);
    }
  }
  PlanProblem even = flat_problem(random_layers(1, 5), 3);
  even.microbatches = 4;
  const Plan plan = make_plan(find_planner("dynapipe"), even);  // all samples as profiled
  CHECK(plan.microbatches == 4);
  CHECK(plan.remarks.empty());
  even.options["lengths"] = "2,1";
  CHECK(make_plan(find_planner("dynapipe"), even).remarks.size() == 1);
}

}  // namespace plumb::testing

TEST_SUITE_END();
