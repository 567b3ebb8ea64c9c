#include "sim/campaign/layout_forecast.hpp"

#include <algorithm>
#include <set>

namespace plumb {
namespace {

/// Returns the layouts that are the best of some number of nodes, and the current one.
std::vector<JobLayout> layouts_to_compare(LayoutBook& book, std::int32_t most, JobLayout current) {
  std::set<JobLayout> layouts;
  if (current.nodes() > 0) layouts.insert(current);
  for (std::int32_t nodes = 1; nodes <= most; ++nodes) {
    if (const auto best = book.best(nodes)) layouts.insert(*best);
  }
  return {layouts.begin(), layouts.end()};
}

struct LayoutChange {
  JobLayout from;  ///< in the interval before
  JobLayout to;
};

/// Expected samples of one interval after a change.
double interval_samples(LayoutBook& book, const LayoutChange& change, const std::vector<IntervalNodes>& nodes,
                        std::size_t at, const LookAhead& look) {
  const auto& [from, to] = change;
  const std::int32_t before = at > 0 ? nodes[at - 1].ready : 0;
  const std::int32_t went = std::min(nodes[at].went, before);
  const double kept = from == to ? spared(before, to.nodes(), went) : 0.0;
  const auto pause = static_cast<double>(change_ns(book, to, before - went, look.otherwise));
  const double trains = std::max(0.0, static_cast<double>(look.interval_ns) - (1 - kept) * pause);
  return book.step(to)->samples_per_s() * trains / 1e9;
}

}  // namespace

std::vector<IntervalNodes> intervals_ahead(const CampaignProblem& problem, std::int64_t interval_ns) {
  std::vector<IntervalNodes> intervals(static_cast<std::size_t>(problem.until_ns / interval_ns) + 2);
  std::vector<std::int64_t> ready_at(problem.trace.names.size(), -1);
  std::vector<std::int64_t> changes(intervals.size() + 1, 0);
  const auto first_after = [&](std::int64_t at) {
    const std::int64_t interval = (at + interval_ns - 1) / interval_ns;
    return std::min(static_cast<std::size_t>(interval), intervals.size());
  };
  for (const NodeEvent& event : problem.trace.events) {
    const auto node = static_cast<std::size_t>(event.node);
    if (event.kind == NodeEventKind::kAdd) {
      ready_at[node] = event.at_ns + problem.ready_ns;
      ++changes[first_after(ready_at[node])];
    } else if (event.kind == NodeEventKind::kRemove) {
      const bool was_ready = event.at_ns >= ready_at[node];
      const std::size_t gone = first_after(event.at_ns);
      --changes[was_ready ? gone : first_after(ready_at[node])];
      if (was_ready && gone < intervals.size()) ++intervals[gone].went;
    }
  }
  std::int64_t ready = 0;
  for (std::size_t at = 0; at < intervals.size(); ++at) {
    ready += changes[at];
    intervals[at].ready = static_cast<std::int32_t>(ready);
  }
  return intervals;
}

std::int64_t change_ns(LayoutBook& book, JobLayout to, std::int32_t survivors, const LayoutRestart& otherwise) {
  const LayoutRestart costs = book.source().restart(to).value_or(otherwise);
  const std::int64_t copied = costs.load_ns / std::max(1, to.stages);  // stages are copied beside each other
  return (to.nodes() > survivors ? costs.added_ns : costs.removed_ns) + copied;
}

double spared(std::int32_t all, std::int32_t used, std::int32_t went) {
  double probability = 1;
  for (std::int32_t gone = 0; gone < went; ++gone) {
    probability *= static_cast<double>(std::max(0, all - used - gone)) / std::max(1, all - gone);
  }
  return probability;
}

std::optional<JobLayout> layout_ahead(LayoutBook& book, const std::vector<IntervalNodes>& nodes, std::size_t now,
                                      JobLayout current, const LookAhead& look) {
  const std::size_t end = std::min(nodes.size(), now + std::max<std::size_t>(1, look.intervals));
  std::int32_t most = 0;
  for (std::size_t at = now; at < end; ++at) most = std::max(most, nodes[at].ready);
  const std::vector<JobLayout> layouts = layouts_to_compare(book, most, current);
  // From the end: the most samples from interval `at` on, by the layout of the interval before.
  std::vector<double> best(layouts.size(), 0);
  std::optional<JobLayout> chosen;
  for (std::size_t at = end; at-- > now;) {
    std::vector<double> sums(layouts.size(), 0);
    const std::size_t froms = at == now ? 1 : layouts.size();
    for (std::size_t from = 0; from < froms; ++from) {
      for (std::size_t to = 0; to < layouts.size(); ++to) {
        if (layouts[to].nodes() > nodes[at].ready) continue;
        const JobLayout before = at == now ? current : layouts[from];
        const double sum = interval_samples(book, {before, layouts[to]}, nodes, at, look) + best[to];
        if (sum <= sums[from]) continue;
        sums[from] = sum;
        if (at == now) chosen = layouts[to];
      }
    }
    best = std::move(sums);
  }
  return chosen;
}

}  // namespace plumb
