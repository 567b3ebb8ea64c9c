#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include "models/ground/error.hpp"
#include "sim/planners/chain_stages.hpp"
#include "sim/planners/numbers.hpp"
#include "sim/planners/planner.hpp"

namespace plumb {
namespace {

constexpr std::array kHetpipeOptions{
    NamedOption{"policy",
                {"node", "equal"},
                "equal with several nodes, otherwise node",
                "devices of a virtual worker: those of a node, or one of every node"},
    NamedOption{"concurrent", number_form("N", 0, kMostPlannerNumber), "the devices of a worker",
                "minibatches whose outputs count as memory"}};

constexpr std::size_t kMostTables = 20'000'000;

/// Devices of one speed in a virtual worker.
struct DeviceKind {
  double speed = 1;
  std::vector<std::int32_t> devices;
};

/// Cuts a chain over the devices of one virtual worker, in whatever order is best: used[k] devices of each kind.
class WorkerSearch {
 public:
  WorkerSearch(const PlanProblem& problem, const LayerChain& chain, std::vector<DeviceKind> kinds, bool one_node)
      : problem_(problem), chain_(chain), kinds_(std::move(kinds)) {
    for (const DeviceKind& kind : kinds_) {
      strides_.push_back(rows_);
      rows_ *= kind.devices.size() + 1;
      devices_ += kind.devices.size();
    }
    rate_ = devices_ == 1 ? kNever : one_node ? problem.levels.front().bytes_per_s : problem.levels.back().bytes_per_s;
    if (rows_ * (chain.size() + 1) > kMostTables) throw Error("hetpipe: too many kinds of devices in a virtual worker");
  }

  Plan solve() {
    const std::size_t n = chain_.size();
    value_.assign(rows_ * (n + 1), kNever);
    from_.assign(value_.size(), {});
    value_[0] = 0;
    for (std::size_t row = 0; row < rows_; ++row) {
      for (std::size_t kind = 0; kind < kinds_.size(); ++kind) {
        if (used(row, kind) < kinds_[kind].devices.size()) add_device(row, kind);
      }
    }
    std::size_t best = 0;
    for (std::size_t row = 0; row < rows_; ++row) {
      if (value_[row * (n + 1) + n] < value_[best * (n + 1) + n]) best = row;
    }
    return plan(best);
  }

 private:
  struct Step {
    std::size_t begin = 0;
    std::size_t kind = 0;
  };

  std::size_t used(std::size_t row, std::size_t kind) const {
    return row / strides_[kind] % (kinds_[kind].devices.size() + 1);
  }

  std::size_t used(std::size_t row) const {
    std::size_t sum = 0;
    for (std::size_t kind = 0; kind < kinds_.size(); ++kind) sum += used(row, kind);
    return sum;
  }

  double load(std::size_t begin, std::size_t end, std::size_t kind) const {
    const double transfer = 2e9 * static_cast<double>(chain_.cut_bytes[begin]) / rate_;
    return static_cast<double>(chain_.total(begin, end)) / kinds_[kind].speed + transfer;
  }

  /// Weights, gradients, and what the concurrent minibatches keep.
  bool fits(std::size_t begin, std::size_t end) const {
    if (problem_.memory_bytes == 0) return true;
    const double in_flight =
        OptionReader(kHetpipeOptions, problem_.options).number("concurrent", static_cast<double>(devices_));
    const double bytes = 2 * static_cast<double>(chain_.parameters(begin, end)) +
                         in_flight * static_cast<double>(chain_.activations(begin, end));
    return bytes <= static_cast<double>(problem_.memory_bytes);
  }

  void add_device(std::size_t row, std::size_t kind) {
    const std::size_t n = chain_.size();
    const std::size_t next = row + strides_[kind];
    for (std::size_t begin = 0; begin < n; ++begin) {
      problem_.stop.check();
      const double before = value_[row * (n + 1) + begin];
      if (before == kNever) continue;
      for (std::size_t end = begin + 1; end <= n && fits(begin, end); ++end) {
        const double slowest = std::max(before, load(begin, end, kind));
        double& value = value_[next * (n + 1) + end];
        if (slowest >= value) continue;
        value = slowest;
        from_[next * (n + 1) + end] = {begin, kind};
      }
    }
  }

  Plan plan(std::size_t row) const {
    const std::size_t n = chain_.size();
    Plan plan;
    plan.claimed_ns = plan.lower_bound_ns = value_[row * (n + 1) + n];
    if (plan.claimed_ns == kNever) throw Error("hetpipe: the network does not fit into the memory of a virtual worker");
    plan.states = static_cast<std::int64_t>(n * rows_);
    for (std::size_t end = n; end > 0;) {
      const Step step = from_[row * (n + 1) + end];
      PlanStage stage = chain_stage(chain_, step.begin, end, 1);
      stage.load_ns = load(step.begin, end, step.kind);
      row -= strides_[step.kind];
      stage.devices = {kinds_[step.kind].devices[used(row, step.kind)]};
      plan.stages.push_back(std::move(stage));
      end = step.begin;
    }
    std::reverse(plan.stages.begin(), plan.stages.end());
    return plan;
  }

  const PlanProblem& problem_;
  const LayerChain& chain_;
  std::vector<DeviceKind> kinds_;
  std::vector<std::size_t> strides_;
  std::size_t rows_ = 1;
  std::size_t devices_ = 0;
  double rate_ = 0;
  std::vector<double> value_;  ///< by row and end
  std::vector<Step> from_;
};

std::vector<DeviceKind> kinds_of(const PlanProblem& problem, const std::vector<std::int32_t>& devices) {
  std::map<double, DeviceKind> kinds;
  for (const std::int32_t device : devices) {
    DeviceKind& kind = kinds[problem.speed_of(device)];
    kind.speed = problem.speed_of(device);
    kind.devices.push_back(device);
  }
  std::vector<DeviceKind> list;
  for (auto& [speed, kind] : kinds) list.push_back(std::move(kind));
  return list;
}

/// HetPipe's partition (ATC 2020): devices are grouped into virtual workers, by `policy` `node` (the devices of a node)
/// or `equal` (one device of every node; the default where there are nodes); in each, a chain is cut over unlike
/// devices so that the largest forward + backward + transfer is least, within memory for `concurrent` minibatches. The
/// plan is that of the slowest worker.
Plan plan_hetpipe(const PlanProblem& problem) {
  const LayerChain chain = chain_of(problem.network.layers);
  const std::int32_t per_node = problem.levels.front().count;
  const std::int32_t nodes = problem.num_devices() / per_node;
  const std::string* policy = OptionReader(kHetpipeOptions, problem.options).text("policy");
  const bool by_node = policy != nullptr ? *policy == "node" : nodes <= 1;
  Plan slowest;
  for (std::int32_t worker = 0; worker < (by_node ? nodes : per_node); ++worker) {
    std::vector<std::int32_t> devices;
    for (std::int32_t k = 0; k < (by_node ? per_node : nodes); ++k) {
      devices.push_back(by_node ? worker * per_node + k : k * per_node + worker);
    }
    Plan plan = WorkerSearch(problem, chain, kinds_of(problem, devices), by_node).solve();
    if (plan.claimed_ns > slowest.claimed_ns) slowest = std::move(plan);
  }
  slowest.pipelines = by_node ? nodes : per_node;
  if (slowest.pipelines > 1)
    slowest.remarks.push_back("the slowest of " + std::to_string(slowest.pipelines) + " virtual workers");
  return slowest;
}

}  // namespace

Planner hetpipe_planner() {
  return {
      .name = "hetpipe",
      .paper = "Park et al., ATC 2020",
      .year = 2020,
      .minimises = "largest stage of a virtual worker on unlike devices",
      .options = kHetpipeOptions,
      .uncertain =
          "the paper uses another solver; memory counts weights, gradients and the outputs of concurrent minibatches",
      .plan = plan_hetpipe};
}

}  // namespace plumb
