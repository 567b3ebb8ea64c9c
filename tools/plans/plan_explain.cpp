#include "tools/plans/plan_explain.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "sim/plan_search/plan_search.hpp"
#include "sim/simulate.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/text_table.hpp"

namespace plumb {
namespace {

constexpr double kBetter = 1.1;
constexpr double kMoreMemory = 1.25;

using Change = std::function<void(Cluster&)>;

/// Rates that kernel tables know are shares of peaks, so a better peak is a better device.
std::vector<std::pair<std::string, Change>> changes_of(const Cluster& cluster) {
  std::vector<std::pair<std::string, Change>> changes;
  std::set<std::string> names;
  for (const DeviceSpec& device : cluster.devices) names.insert(device.name);
  for (const std::string& name : names) {
    const auto each = [name](Cluster& changed, auto change) {
      for (DeviceSpec& device : changed.devices) {
        if (device.name == name) change(device);
      }
    };
    changes.emplace_back(name + " computes 10 % faster",
                         [each](Cluster& c) { each(c, [](DeviceSpec& device) { device.flops_per_s *= kBetter; }); });
    changes.emplace_back("memory of " + name + " is 10 % faster", [each](Cluster& c) {
      each(c, [](DeviceSpec& device) { device.memory_bytes_per_s *= kBetter; });
    });
  }
  if (cluster.devices_per_node > 1) {
    changes.emplace_back("links inside nodes have 10 % more bandwidth",
                         [](Cluster& c) { c.intra_node.bytes_per_s *= kBetter; });
  }
  if (cluster.devices.size() > static_cast<std::size_t>(cluster.devices_per_node)) {
    changes.emplace_back("links between nodes have 10 % more bandwidth",
                         [](Cluster& c) { c.inter_node.bytes_per_s *= kBetter; });
    changes.emplace_back("links between nodes have 10 % less latency", [](Cluster& c) {
      c.inter_node.latency_ns = std::llround(static_cast<double>(c.inter_node.latency_ns) / kBetter);
    });
  }
  return changes;
}

/// Every stage as long as the mean of all, by the speed of its device.
std::int64_t balanced_step(const SimulatedPlan& best) {
  PricedStages stages = best.stages;
  std::vector<StageTimes>& times = stages.costs.times;
  const auto& placement = best.schedule.placement[0];
  const auto speed = [&](std::size_t s) {
    double sum = 0;
    for (const DeviceId device : placement[s]) sum += stages.pipeline.devices[index(device)].speed;
    return sum;
  };
  double together = 0;
  for (std::size_t s = 0; s < times.size(); ++s) together += speed(s);
  for (Ticks StageTimes::*member : {&StageTimes::f, &StageTimes::b, &StageTimes::i, &StageTimes::w, &StageTimes::r}) {
    double sum = 0;
    for (const StageTimes& stage : times) sum += static_cast<double>(stage.*member);
    for (std::size_t s = 0; s < times.size(); ++s) times[s].*member = std::llround(sum * speed(s) / together);
  }
  return run_placed_plan(best.score.plan, stages, best.schedule).score.step_ns;
}

}  // namespace

std::vector<PlanSensitivity> plan_sensitivities(const PlanQuestion& question, const SimulatedPlan& best,
                                                const PlanEffort& effort) {
  std::vector<PlanSensitivity> all;
  for (const auto& [what, change] : changes_of(question.cluster)) {
    Cluster better = question.cluster;
    change(better);
    better.finish();
    const PlanJob job = question.job_on(better, question.limits);
    all.push_back({what, simulate_plan(best.score.plan, job.price).score.step_ns});
  }
  if (best.schedule.placement.size() == 1) all.push_back({"all stages take the same time", balanced_step(best)});
  Cluster larger = question.cluster;
  const auto more = [](std::int64_t bytes) { return std::llround(static_cast<double>(bytes) * kMoreMemory); };
  for (DeviceSpec& device : larger.devices) device.memory_bytes = more(device.memory_bytes);
  PricingLimits limits = question.limits;
  limits.memory_bytes = more(limits.memory_bytes);
  const PlanAnswer roomy = search_plan(question.job_on(larger, limits), question.ranges, effort, {best.score.plan});
  if (!roomy.best.empty()) all.push_back({"devices have 25 % more memory", roomy.best.front().step_ns, true});
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.step_ns < b.step_ns; });
  return all;
}

std::string sensitivities_text(const std::vector<PlanSensitivity>& sensitivities, std::int64_t step_ns) {
  TextTable table({{"what would help"}, {"step time", '>'}, {"change", '>'}});
  for (const PlanSensitivity& one : sensitivities) {
    const double share = static_cast<double>(one.step_ns - step_ns) / static_cast<double>(step_ns);
    table.add_row({one.what + (one.searched ? " (searched again)" : ""), time_text(one.step_ns),
                   fixed_text(100 * share, 2) + " %"});
  }
  return table.to_string();
}

}  // namespace plumb
