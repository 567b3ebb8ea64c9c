#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "models/ground/error.hpp"
#include "sim/planners/numbers.hpp"
#include "sim/planners/operators/favourite_children.hpp"
#include "sim/planners/planner.hpp"

namespace plumb {
namespace {

constexpr std::array kBaechiOptions{NamedOption{"etf", switch_form(), 0, "whether m-ETF replaces m-TOPO"},
                                    NamedOption{"sct", switch_form(), 0, "whether m-SCT replaces m-TOPO"}};

/// Operators that run on devices, each when its inputs have arrived. A device sends one output at a time.
class OperatorRun {
 public:
  explicit OperatorRun(const PlanProblem& problem)
      : problem_(problem), graph_(problem.network.layers), near_(neighbours(graph_)) {
    devices_ = at(problem.num_devices());
    device_free_.assign(devices_, 0);
    sender_free_.assign(devices_, 0);
    room_.assign(devices_, problem.memory_bytes > 0 ? static_cast<double>(problem.memory_bytes) : kNever);
    last_.assign(devices_, graph_.size());
    end_.assign(graph_.size(), 0);
    device_.assign(graph_.size(), devices_);
    missing_.assign(graph_.size(), 0);
    for (std::size_t op = 0; op < graph_.size(); ++op) missing_[op] = near_.before[op].size();
  }

  std::size_t devices() const { return devices_; }
  const std::vector<std::size_t>& device() const { return device_; }
  bool is_ready(std::size_t op) const { return device_[op] == devices_ && missing_[op] == 0; }
  bool has_room(std::size_t op, std::size_t device) const { return memory(op) <= room_[device]; }

  /// Weights, gradients, moments, and what the backward needs.
  double memory(std::size_t op) const {
    const LayerNode& node = graph_.nodes[op];
    if (node.loads_data) return 0;
    return kStateCopies * static_cast<double>(node.parameter_bytes) + static_cast<double>(node.stash_bytes);
  }

  std::size_t last_on(std::size_t device) const { return last_[device]; }

  /// When all inputs of `op` could be on every device.
  double urgent_from(std::size_t op) const {
    double latest = 0;
    for (std::size_t device = 0; device < devices_; ++device) latest = std::max(latest, arrival(op, device));
    return latest;
  }

  /// When `op` could start on `device`.
  double start(std::size_t op, std::size_t device) const { return std::max(device_free_[device], arrival(op, device)); }

  void place(std::size_t op, std::size_t device) {
    const double begin = start(op, device);
    for (const std::int32_t from : near_.before[op]) {
      const std::size_t sender = device_[at(from)];
      if (sender != device) sender_free_[sender] = std::max(end_[at(from)], sender_free_[sender]) + transfer(from);
    }
    device_[op] = device;
    room_[device] -= memory(op);
    const LayerNode& node = graph_.nodes[op];
    const double speed = problem_.speed_of(static_cast<std::int32_t>(device));
    end_[op] = begin + (node.loads_data ? 0 : static_cast<double>(node.total_ns()) / speed);
    device_free_[device] = end_[op];
    last_[device] = op;
    for (const std::int32_t to : near_.after[op]) --missing_[at(to)];
  }

  double makespan() const { return *std::max_element(end_.begin(), end_.end()); }

  double transfer(std::int32_t from) const {
    const double bytes_per_s = problem_.bytes_per_s_between(static_cast<std::int32_t>(devices_));
    return static_cast<double>(graph_.nodes[at(from)].output_bytes) / bytes_per_s * 1e9;
  }

 private:
  /// When all inputs of `op` are on `device`.
  double arrival(std::size_t op, std::size_t device) const {
    double latest = 0;
    for (const std::int32_t from : near_.before[op]) {
      const double sends = std::max(end_[at(from)], sender_free_[device_[at(from)]]);
      latest = std::max(latest, device_[at(from)] == device ? end_[at(from)] : sends + transfer(from));
    }
    return latest;
  }

  const PlanProblem& problem_;
  const LayerGraph& graph_;
  Neighbours near_;
  std::size_t devices_ = 0;
  std::vector<double> device_free_;
  std::vector<double> sender_free_;
  std::vector<double> room_;
  std::vector<std::size_t> last_;     ///< operator by device; as many as there are operators: none
  std::vector<double> end_;           ///< by operator
  std::vector<std::size_t> device_;   ///< by operator; `devices_`: not placed
  std::vector<std::size_t> missing_;  ///< inputs that are not placed
};

[[noreturn]] void refuse_operator(const LayerGraph& graph, std::size_t op) {
  throw Error("baechi: layer '" + graph.nodes[op].id + "' fits on no device");
}

/// Fills device after device in topological order, each up to an equal share of the memory and the largest operator.
void place_by_topology(const LayerGraph& graph, OperatorRun& run) {
  double sum = 0;
  double largest = 0;
  for (std::size_t op = 0; op < graph.size(); ++op) {
    sum += run.memory(op);
    largest = std::max(largest, run.memory(op));
  }
  const double cap = std::floor(sum / static_cast<double>(run.devices())) + largest;
  std::size_t device = 0;
  double used = 0;
  for (std::size_t op = 0; op < graph.size(); ++op) {
    if (used + run.memory(op) > cap && device + 1 < run.devices()) {
      ++device;
      used = 0;
    }
    if (!run.has_room(op, device)) refuse_operator(graph, op);
    run.place(op, device);
    used += run.memory(op);
  }
}

FavouriteChildren favourites_of(const PlanProblem& problem, const OperatorRun& run) {
  const LayerGraph& graph = problem.network.layers;
  DelayedWork work;
  for (const LayerNode& node : graph.nodes) {
    work.times.push_back(node.loads_data ? 0 : static_cast<double>(node.total_ns()));
  }
  for (const LayerEdge& edge : graph.edges) {
    work.edges.push_back({at(edge.from), at(edge.to), run.transfer(edge.from)});
  }
  return favourite_children(work, problem.stop);
}

/// Whether `device` keeps itself free for the favourite child of what it has just run, in place of `op`: it is ready,
/// and this is where it could start first. Operators that could start at the same time on every device come before it.
bool is_reserved(const OperatorRun& run, const FavouriteChildren& children, std::size_t op, std::size_t device) {
  const std::size_t last = run.last_on(device);
  if (last >= children.favourite.size()) return false;
  const std::size_t child = children.favourite[last];
  if (child >= children.favourite.size() || child == op || !run.is_ready(child) || !run.has_room(child, device)) {
    return false;
  }
  const double here = run.start(child, device);
  for (std::size_t other = 0; other < run.devices(); ++other) {
    if (run.has_room(child, other) && run.start(child, other) < here) return false;
  }
  return run.urgent_from(op) > run.start(op, device);
}

/// Of all operators that are ready and devices with room (and, with `children`, not reserved), the pair that can start
/// earliest, again and again.
void place_by_earliest_start(const LayerGraph& graph, OperatorRun& run, const FavouriteChildren& children,
                             const StopSign& stop) {
  for (std::size_t placed = 0; placed < graph.size(); ++placed) {
    stop.check();
    double earliest = kNever;
    std::size_t best_op = 0;
    std::size_t best_device = 0;
    std::size_t first_ready = graph.size();
    for (std::size_t op = 0; op < graph.size(); ++op) {
      if (!run.is_ready(op)) continue;
      first_ready = std::min(first_ready, op);
      for (std::size_t device = 0; device < run.devices(); ++device) {
        if (!run.has_room(op, device) || run.start(op, device) >= earliest) continue;
        if (is_reserved(run, children, op, device)) continue;
        earliest = run.start(op, device);
        best_op = op;
        best_device = device;
      }
    }
    if (earliest == kNever) refuse_operator(graph, first_ready);
    run.place(best_op, best_device);
  }
}

/// Baechi (Jeon et al., SoCC 2020): operators on devices with memory, placed in one pass. m-TOPO fills devices in
/// topological order; m-ETF (option `etf`) takes the earliest start over all ready operators and devices; m-SCT (option
/// `sct`) is m-ETF in which a device waits for the favourite child of what it has just run (`favourite_children`).
/// Its linear programme is a lower bound of every placement, on devices of equal speed.
/// Times are those of forward and backward together, each output is sent once to every reader on another device.
Plan plan_baechi(const PlanProblem& problem) {
  problem.stop.check();
  const LayerGraph& graph = problem.network.layers;
  OperatorRun run(problem);
  Plan plan;
  const OptionReader options(kBaechiOptions, problem.options);
  const bool sct = options.is_on("sct");
  if (sct && options.is_on("etf")) throw Error("baechi: options etf and sct, expected one of them");
  if (sct || options.is_on("etf")) {
    const FavouriteChildren children = sct ? favourites_of(problem, run) : FavouriteChildren{};
    place_by_earliest_start(graph, run, children, problem.stop);
    if (problem.speed.empty()) plan.lower_bound_ns = children.makespan;
  } else {
    place_by_topology(graph, run);
  }
  plan.claimed_ns = run.makespan();
  plan.microbatches = 1;
  plan.states = static_cast<std::int64_t>(graph.size());
  for (std::size_t device = 0; device < run.devices(); ++device) {
    PlanStage stage;
    stage.devices = {static_cast<std::int32_t>(device)};
    for (std::size_t op = 0; op < graph.size(); ++op) {
      if (run.device()[op] != device || graph.nodes[op].loads_data) continue;
      stage.layers.push_back(static_cast<std::int32_t>(op));
      stage.load_ns += static_cast<double>(graph.nodes[op].total_ns()) / problem.speed_of(stage.devices[0]);
    }
    if (!stage.layers.empty()) plan.stages.push_back(std::move(stage));
  }
  return plan;
}

}  // namespace

Planner baechi_planner() {
  return {.name = "baechi",
          .paper = "Jeon et al., SoCC 2020",
          .year = 2020,
          .minimises = "time of operators on devices, placed in one pass",
          .options = kBaechiOptions,
          .uncertain =
              "m-TOPO, with the option etf m-ETF, with sct m-SCT, whose linear program may have several "
              "solutions; temporary memory is that of the stash",
          .plan = plan_baechi};
}

}  // namespace plumb
