#include <algorithm>
#include <string>

#include "models/ground/error.hpp"
#include "sim/planners/chain_stages.hpp"
#include "sim/planners/numbers.hpp"
#include "sim/planners/ordered_stages.hpp"
#include "sim/planners/planner.hpp"

namespace plumb {
namespace {

/// W(l, r, i): the least largest load of the first l layers on the first i devices, the last stage on r of them.
class SppSearch {
 public:
  SppSearch(const PlanProblem& problem, const LayerChain& chain)
      : problem_(problem), chain_(chain), n_(chain.size()), devices_(problem.num_devices()) {
    load_.assign((n_ + 1) * at(devices_ + 1) * at(devices_ + 1), kNever);
    from_.assign(load_.size(), {});
    for (std::size_t end = 1; end <= n_; ++end) fill(end);
  }

  OrderedCut solve() const {
    std::int32_t copies = 1;
    std::int32_t used = 1;
    for (std::int32_t i = 1; i <= devices_; ++i) {
      for (std::int32_t r = 1; r <= i; ++r) {
        if (load_[place(n_, r, i)] >= load_[place(n_, copies, used)]) continue;
        copies = r;
        used = i;
      }
    }
    OrderedCut cut{load_[place(n_, copies, used)], {}};
    for (std::size_t end = n_; end > 0;) {
      const Before before = from_[place(end, copies, used)];
      cut.stages.push_back({before.layer, end, used - copies, copies});
      end = before.layer;
      used -= copies;
      copies = before.copies;
    }
    std::reverse(cut.stages.begin(), cut.stages.end());
    return cut;
  }

  /// All microbatches on a stage, each on one of its devices, and its all-reduce.
  double stage_ns(const DeviceRun& run) const {
    const double compute = static_cast<double>(problem_.microbatches) *
                           static_cast<double>(chain_.total(run.begin, run.end)) / run.count / speed_of(problem_, run);
    return compute + ring_ns(static_cast<double>(chain_.parameters(run.begin, run.end)), run.count,
                             bytes_per_s_inside(problem_, run));
  }

 private:
  struct Before {
    std::size_t layer = 0;
    std::int32_t copies = 0;
  };

  std::size_t place(std::size_t layer, std::int32_t copies, std::int32_t used) const {
    return (layer * at(devices_ + 1) + at(copies)) * at(devices_ + 1) + at(used);
  }

  /// Both ways, over as many links side by side as the smaller stage has devices.
  double transfer_ns(std::size_t layer, std::int32_t device, std::int32_t links) const {
    return 2e9 * static_cast<double>(problem_.microbatches) * static_cast<double>(chain_.cut_bytes[layer]) / links /
           bytes_per_s_before(problem_, device);
  }

  void fill(std::size_t end) {
    for (std::int32_t used = 1; used <= devices_; ++used) {
      for (std::int32_t copies = 1; copies <= used; ++copies) {
        problem_.stop.check();
        if (copies == used) take(end, copies, used, stage_ns({0, end, 0, copies}), {});
        for (std::size_t layer = 1; layer < end && copies < used; ++layer) {
          const double own = stage_ns({layer, end, used - copies, copies});
          for (std::int32_t before = 1; before <= used - copies; ++before) {
            const double rest = load_[place(layer, before, used - copies)];
            if (rest == kNever) continue;
            const double transfer = transfer_ns(layer, used - copies, std::min(before, copies));
            take(end, copies, used, std::max({rest, transfer, own}), {layer, before});
          }
        }
      }
    }
  }

  void take(std::size_t end, std::int32_t copies, std::int32_t used, double load, Before before) {
    const std::size_t at_place = place(end, copies, used);
    if (load >= load_[at_place]) return;
    load_[at_place] = load;
    from_[at_place] = before;
  }

  const PlanProblem& problem_;
  const LayerChain& chain_;
  std::size_t n_;
  std::int32_t devices_;
  std::vector<double> load_;
  std::vector<Before> from_;
};

/// SPP's partition and mapping (INFOCOM 2022): devices in a row, tightly linked ones adjacent, and a dynamic program
///
///     W(l, r, i) = min over l', r' of max( W(l', r', i - r), M transfer(l', r', r), M (F + B)(l'..l) / r + AR )
///
/// over the layers l placed on the first i devices, the last stage on r of them: the least load of a step of M
/// microbatches on the fullest stage or link.
Plan plan_spp(const PlanProblem& problem) {
  const LayerChain chain = chain_of(problem.network.layers);
  const SppSearch search(problem, chain);
  const OrderedCut cut = search.solve();
  const OrderedCosts costs{[&](const DeviceRun& run) { return search.stage_ns(run); }, {}, problem.num_devices()};
  Plan plan;
  plan.claimed_ns = plan.lower_bound_ns = cut.largest;
  plan.microbatches = problem.microbatches;
  plan.states = static_cast<std::int64_t>(chain.size()) * problem.num_devices() * problem.num_devices();
  plan.stages = plan_stages(chain, cut, costs);
  return plan;
}

}  // namespace

Planner spp_planner() {
  return {.name = "spp",
          .paper = "Luo et al., INFOCOM 2022",
          .year = 2022,
          .minimises = "load of a step on the fullest stage or link",
          .uncertain =
              "names and recurrence are unconfirmed; devices are in the order of the cluster, which keeps "
              "nodes together as its recursive minimum cut does; its list schedule is not made",
          .asked_up_to = {.layers = 200, .devices = 16},
          .plan = plan_spp};
}

}  // namespace plumb
