#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "models/ground/error.hpp"
#include "sim/planners/antichain_states.hpp"
#include "sim/planners/numbers.hpp"
#include "sim/planners/pipedream_flat.hpp"
#include "sim/planners/planner.hpp"

namespace plumb {
namespace {

constexpr std::array kProgramOptions{
    NamedOption{"straight", switch_form(), 0, "whether no stage is replicated"},
    NamedOption{"memory", number_form("BYTES", 0, kMostPlannerNumber), 0, "memory of a machine", "0: no limit"},
    NamedOption{"compression", number_form("X", 0, kMostPlannerNumber), 0, "share of its size that a transfer takes",
                "0: transfers are free"},
    NamedOption{"fewer", switch_form(), 0, "whether machines may be left unused"},
    NamedOption{"cuts", {"all"}, "those that the program reaches", "cuts of the graph that are looked at"}};

constexpr std::size_t kMostStates = 60'000;
constexpr std::size_t kMostCuts = 500'000;
/// Bytes of a level's tables: more is refused.
constexpr double kMostTableBytes = 3.5e9;

/// What all levels work on.
struct ProgramInput {
  const AntichainStates& states;
  const std::vector<NodeSet>& before;
  const ProgramOptions& options;
};

/// A value of the states between two of them; `from` -1 is the beginning.
double between(const std::vector<double>& sums, std::int32_t from, std::size_t to) {
  return sums[to] - (from < 0 ? 0 : sums[static_cast<std::size_t>(from)]);
}

/// One level of the program's hierarchy. Starts are states, or -1 for the beginning of the network.
class ProgramLevel {
 public:
  struct Cut {
    std::int32_t at = -1;
    std::int32_t machines = 0;  ///< of the last stage; 0: no cut
    bool one_less = false;      ///< as with one machine less
  };

  ProgramLevel(const ProgramInput& input, MachineLevel machine, const ProgramLevel* inner, bool all_starts)
      : states_(input.states),
        before_(input.before),
        machine_(machine),
        inner_(inner),
        options_(input.options),
        n_(input.states.size()) {
    const std::size_t starts = all_starts ? n_ + 1 : 1;
    const double bytes =
        static_cast<double>(starts) * static_cast<double>(n_ * machines()) * (sizeof(double) + sizeof(Cut));
    const double tables = bytes + static_cast<double>(n_ * n_ * machines()) * sizeof(double);
    if (tables > kMostTableBytes) {
      throw Error("the graph has " + std::to_string(n_) + " states, too many for several levels or a memory limit; " +
                  "expected fewer");
    }
    best_.assign(starts * n_ * machines(), kNever);
    from_.assign(best_.size(), {});
    fill_last();
    for (std::size_t start = 0; start < starts; ++start) fill(static_cast<std::int32_t>(start) - 1);
  }

  std::size_t machines() const { return static_cast<std::size_t>(machine_.count); }
  double best(std::int32_t start, std::size_t end, std::size_t q) const { return best_[place(start, end, q)]; }

  void append(std::int32_t start, std::size_t end, std::size_t q, std::int32_t copies, Plan& plan) const {
    Cut cut = from_[place(start, end, q)];
    while (cut.one_less) cut = from_[place(start, end, --q)];
    std::size_t last_machines = q;
    if (cut.machines > 0) {
      last_machines = static_cast<std::size_t>(cut.machines);
      append(start, static_cast<std::size_t>(cut.at), q - last_machines, copies, plan);
      start = cut.at;
    }
    const std::int32_t replicas = copies * static_cast<std::int32_t>(last_machines);
    if (inner_ != nullptr) return inner_->append(start, end, inner_->machines(), replicas, plan);
    PlanStage stage;
    stage.replicas = replicas;
    NodeSet own = states_.layers[end];
    if (start >= 0) own -= states_.layers[static_cast<std::size_t>(start)];
    own.for_each([&](std::size_t k) { stage.layers.push_back(static_cast<std::int32_t>(k)); });
    stage.load_ns = last(start, end, last_machines) / copies;
    plan.stages.push_back(std::move(stage));
  }

 private:
  std::size_t place(std::int32_t start, std::size_t end, std::size_t q) const {
    return (static_cast<std::size_t>(start + 1) * n_ + end) * machines() + q - 1;
  }

  double inside(std::int32_t start, std::size_t end) const {
    return inner_ != nullptr ? inner_->best(start, end, inner_->machines()) : between(states_.compute_ns, start, end);
  }

  double sync(std::int32_t start, std::size_t end, std::size_t q) const {
    if (q == 1) return 0;
    const auto machines = static_cast<double>(q);
    return 4e9 * (machines - 1) * between(states_.parameter_bytes, start, end) / (machine_.bytes_per_s * machines);
  }

  bool too_large(std::int32_t start, std::size_t end, std::size_t q, std::size_t own) const {
    if (options_.memory_bytes <= 0) return false;
    const double bytes = between(states_.activation_bytes, start, end) + between(states_.parameter_bytes, start, end);
    const double behind = static_cast<double>(machines() - q);
    return std::ceil(behind / static_cast<double>(own)) * bytes > options_.memory_bytes;
  }

  /// A single stage on q machines: synchronisation is divided by the devices of a machine, here only.
  double single(std::int32_t start, std::size_t end, std::size_t q) const {
    if ((options_.straight && q > 1) || too_large(start, end, q, q)) return kNever;
    const double within = inner_ != nullptr ? static_cast<double>(inner_->machines()) : 1;
    return (inside(start, end) + sync(start, end, q) / within) / static_cast<double>(q);
  }

  double last(std::int32_t start, std::size_t end, std::size_t q) const {
    return (inside(start, end) + sync(start, end, q)) / static_cast<double>(q);
  }

  /// A stage after a cut, on each number of machines, with its transfers.
  void fill_last() {
    last_.assign(machines() > 1 ? n_ * n_ * machines() : 0, kNever);
    if (last_.empty()) return;
    const std::size_t most = options_.straight ? 1 : machines() - 1;
    for (std::size_t end = 0; end < n_; ++end) {
      options_.stop.check();
      before_[end].for_each([&](std::size_t cut) {
        const auto start = static_cast<std::int32_t>(cut);
        for (std::size_t own = 1; own <= most; ++own) {
          double value = last(start, end, own);
          if (options_.compression > 0) {
            const double scale = 2e9 / (machine_.bytes_per_s * static_cast<double>(own) * options_.compression);
            value = std::max(value, scale * states_.output_bytes[cut]);
            if (end + 1 < n_) value = std::max(value, scale * states_.output_bytes[end]);
          }
          last_[(end * n_ + cut) * machines() + own] = value;
        }
      });
    }
  }

  void fill(std::int32_t start) {
    for (std::size_t end = start < 0 ? 0 : static_cast<std::size_t>(start) + 1; end < n_; ++end) {
      options_.stop.check();
      const auto behind_start = [&](std::size_t k) {
        return start < 0 || before_[k].has(static_cast<std::size_t>(start));
      };
      if (!behind_start(end)) continue;
      for (std::size_t q = 1; q <= machines(); ++q) best_[place(start, end, q)] = single(start, end, q);
      if (machines() > 1) {
        before_[end].for_each([&](std::size_t cut) {
          if (behind_start(cut)) improve(start, cut, end);
        });
      }
      if (options_.fewer) use_fewer(start, end);
    }
  }

  void improve(std::int32_t start, std::size_t cut, std::size_t end) {
    const double* front = &best_[place(start, cut, 1)];
    const double* own_time = &last_[(end * n_ + cut) * machines()];
    double* best = &best_[place(start, end, 1)];
    for (std::size_t q = 2; q <= machines(); ++q) {
      for (std::size_t own = 1; own < q; ++own) {
        const double slowest = std::max(front[q - own - 1], own_time[own]);
        if (slowest >= best[q - 1]) continue;
        if (too_large(static_cast<std::int32_t>(cut), end, q, own)) continue;
        best[q - 1] = slowest;
        from_[place(start, end, q)] = {static_cast<std::int32_t>(cut), static_cast<std::int32_t>(own), false};
      }
    }
  }

  void use_fewer(std::int32_t start, std::size_t end) {
    for (std::size_t q = 2; q <= machines(); ++q) {
      if (best_[place(start, end, q - 1)] > best_[place(start, end, q)]) continue;
      best_[place(start, end, q)] = best_[place(start, end, q - 1)];
      from_[place(start, end, q)] = {-1, 0, true};
    }
  }

  const AntichainStates& states_;
  const std::vector<NodeSet>& before_;
  MachineLevel machine_;
  const ProgramLevel* inner_;
  ProgramOptions options_;
  std::size_t n_;
  std::vector<double> best_;
  std::vector<Cut> from_;
  std::vector<double> last_;  ///< by end, cut and machines of the last stage
};

/// Layers that the program leaves out go where what they read is, or to the first stage.
void place_the_rest(const LayerGraph& graph, Plan& plan) {
  std::vector<std::int32_t> stage(graph.size(), -1);
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    for (const std::int32_t k : plan.stages[s].layers)
      stage[static_cast<std::size_t>(k)] = static_cast<std::int32_t>(s);
  }
  const Neighbours around = neighbours(graph);
  for (std::size_t k = 0; k < graph.size(); ++k) {
    if (graph.nodes[k].loads_data || stage[k] >= 0) continue;
    stage[k] = 0;
    for (const std::int32_t before : around.before[k]) {
      stage[k] = std::max(stage[k], stage[static_cast<std::size_t>(before)]);
    }
    std::vector<std::int32_t>& layers = plan.stages[static_cast<std::size_t>(stage[k])].layers;
    layers.insert(std::lower_bound(layers.begin(), layers.end(), static_cast<std::int32_t>(k)),
                  static_cast<std::int32_t>(k));
  }
}

Plan plan_levels(const PlanProblem& problem, const AntichainStates& states, const ProgramOptions& options) {
  const std::vector<NodeSet> before = states_before(states);
  std::vector<ProgramLevel> levels;
  levels.reserve(problem.levels.size());
  for (std::size_t k = 0; k < problem.levels.size(); ++k) {
    const bool all_starts = k + 1 < problem.levels.size();
    levels.emplace_back(ProgramInput{states, before, options}, problem.levels[k], k == 0 ? nullptr : &levels[k - 1],
                        all_starts);
  }
  const ProgramLevel& top = levels.back();
  Plan plan;
  plan.claimed_ns = top.best(-1, states.size() - 1, top.machines());
  if (plan.claimed_ns == kNever) throw Error("pipedream-program: no plan satisfies the options (memory, straight)");
  top.append(-1, states.size() - 1, top.machines(), 1, plan);
  return plan;
}

/// What PipeDream's released program computes, on the antichains of the graph (`antichain_states.hpp`). Of q machines
/// of a level, with C, P the time and parameter bytes of the states between and g the devices in a machine,
///
///     one stage        ( C + 4 (q - 1) P / (B q) / g ) / q
///     cut at k         max( best(i..k, q - q'), ( C' + 4 (q' - 1) P' / (B q') ) / q' )
///
/// where the best of the level below is the compute time C. Transfers count only with `compression` (1: as they are).
/// `cuts=all` looks at all cuts instead of those that the program reaches.
Plan plan_pipedream_program(const PlanProblem& problem) {
  const OptionReader asked(kProgramOptions, problem.options);
  const LayerGraph& layers = problem.network.layers;
  const AntichainStates states =
      asked.has("cuts") ? ideal_states(layers, kMostCuts) : antichain_states(layers, kMostStates);
  const ProgramOptions options{.memory_bytes = asked.number("memory"),
                               .compression = asked.number("compression"),
                               .straight = asked.is_on("straight"),
                               .fewer = asked.is_on("fewer"),
                               .stop = problem.stop};
  const bool flat = problem.levels.size() == 1 && problem.num_devices() <= kMostFlatMachines;
  Plan plan = flat && options.memory_bytes == 0 ? plan_flat_program(problem, states, options)
                                                : plan_levels(problem, states, options);
  plan.lower_bound_ns = plan.claimed_ns;
  plan.states = static_cast<std::int64_t>(states.size());
  place_the_rest(problem.network.layers, plan);
  return plan;
}

}  // namespace

Planner pipedream_program_planner() {
  return {.name = "pipedream-program",
          .paper = "its released program",
          .year = 2019,
          .minimises = "time of the slowest stage, synchronisation added",
          .options = kProgramOptions,
          .plan = plan_pipedream_program};
}

}  // namespace plumb
