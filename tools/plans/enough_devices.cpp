#include "tools/plans/enough_devices.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include "models/cluster/cluster_io.hpp"
#include "models/ground/error.hpp"
#include "sim/plan_search/plan_search.hpp"
#include "tools/options/plan_question.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

constexpr std::int64_t kMostTried = 16'384;  // devices
/// Of a search on one number of devices; it ends with the first plan that fits.
constexpr std::int64_t kFewSimulations = 200;

/// The built-in cluster without its size; empty: it is none.
std::string built_in_name(const std::string& name) {
  std::string found;
  for (const std::string_view known : builtin_clusters()) {
    const bool same = name == known || name.starts_with(std::string(known) + "-");
    if (same && known.size() > found.size()) found = known;
  }
  return found;
}

bool some_plan_fits(PlanSearchArguments arguments, const std::string& cluster, const std::function<bool()>& stop) {
  arguments.cluster = cluster;
  arguments.devices.reset();
  arguments.first_devices.reset();
  bool found = false;
  try {
    const PlanQuestion question = plan_question(arguments);
    PlanEffort effort{.most_simulations = kFewSimulations, .keep = 1};
    effort.stop = [&] { return found || stop(); };
    effort.progress = [&](const PlanProgress& so_far) { found = found || so_far.best_ns > 0; };
    return !search_plan(question.job, question.ranges, effort).best.empty();
  } catch (const Error&) {  // no degrees for this number of devices
    return false;
  }
}

}  // namespace

std::string enough_devices_text(const PlanSearchArguments& arguments, const PlanQuestion& question,
                                const std::function<bool()>& stop) {
  const std::string base = built_in_name(question.cluster.name);
  const std::int64_t per_node = question.cluster.devices_per_node;
  if (base.empty() || arguments.first_devices) return {};
  const auto fits = [&](std::int64_t nodes) {
    return some_plan_fits(arguments, base + "-" + std::to_string(nodes) + "x" + std::to_string(per_node), stop);
  };
  const auto all = std::ssize(question.cluster.devices);
  std::int64_t none = std::max<std::int64_t>(1, all / per_node);
  std::optional<std::int64_t> enough;
  for (std::int64_t nodes = 2 * none; nodes * per_node <= kMostTried && !enough; nodes *= 2) {
    if (stop()) return {};
    if (fits(nodes)) {
      enough = nodes;
    } else {
      none = nodes;
    }
  }
  if (!enough) return {};
  while (*enough - none > 1 && !stop()) {
    const std::int64_t nodes = none + (*enough - none) / 2;
    if (fits(nodes)) {
      enough = nodes;
    } else {
      none = nodes;
    }
  }
  const std::string devices = std::to_string(*enough * per_node);
  return "needs more devices: a plan fits on " + devices + " (--cluster " + shell_word(base) + " --devices " + devices +
         "); on " + std::to_string(none * per_node) + " none was found\n";
}

}  // namespace plumb
