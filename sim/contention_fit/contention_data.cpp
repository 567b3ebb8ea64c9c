#include "sim/contention_fit/contention_data.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace plumb {
namespace {

/// Largest share of its time that an action which counts as alone overlaps with others.
constexpr double kAlmostAlone = 0.01;

bool is_alone(const OverlappedAction& action, const std::vector<OverlapInterval>& intervals) {
  double with_others = 0;
  for (std::size_t s = action.first; s != action.end; ++s) with_others += intervals[s].alone() ? 0 : intervals[s].ns;
  return with_others <= kAlmostAlone * action.ns;
}

/// Returns the group of `action`, a new one where there is none.
std::size_t group_of(const OverlappedAction& action, std::vector<AloneGroup>& groups) {
  const auto found = std::ranges::find_if(groups, [&](const AloneGroup& group) {
    return group.time.device == action.device && group.time.stage == action.stage && group.time.kind == action.kind;
  });
  const auto at = static_cast<std::size_t>(found - groups.begin());
  if (found == groups.end()) {
    groups.emplace_back().time = {.device = action.device, .stage = action.stage, .kind = action.kind};
  }
  return at;
}

}  // namespace

ContentionData::ContentionData(std::span<const Timeline> timelines, std::int64_t first_update)
    : block_begin{0}, step_begin{0} {
  for (const Timeline& timeline : timelines) add(timeline, first_update);
  for (std::size_t a = 0; a < actions.size(); ++a) {
    if (!is_alone(actions[a].overlapped, intervals)) continue;
    AloneGroup& group = groups[actions[a].group];
    group.ns.push_back(actions[a].overlapped.ns);
    group.fallen_ns.push_back(0);
    group.blocks.push_back(actions[a].block);
    group.actions.push_back(a);
  }
  for (AloneGroup& group : groups) {
    group.time.median_ns = median_of(group.ns);
    group.time.count = static_cast<std::int64_t>(group.ns.size());
  }
}

/// Adds a timeline: actions from `first_update` on, in a block for each update. Blocks are what a bootstrap draws.
void ContentionData::add(const Timeline& timeline, std::int64_t first_update) {
  const Overlap overlap = overlap_of(timeline);
  const std::size_t blocks = block_begin.back();
  std::size_t end = blocks;
  for (OverlappedAction action : overlap.actions) {
    if (action.update < first_update) continue;
    const std::size_t block = blocks + static_cast<std::size_t>(action.update - first_update);
    end = std::max(end, block + 1);
    const std::size_t first = intervals.size();
    for (std::size_t s = action.first; s != action.end; ++s) {
      intervals.push_back(overlap.intervals[s]);
      intervals.back().step += step_begin.back();
    }
    action.first = first;
    action.end = intervals.size();
    actions.push_back({action, group_of(action, groups), block});
  }
  steps.insert(steps.end(), overlap.steps.begin(), overlap.steps.end());
  step_begin.push_back(steps.size());
  block_begin.push_back(end);
}

/// Computes how far a clock of this shape has fallen in every step, and in the time of every action alone.
void ContentionData::follow(const ClockShape& shape) {
  fallen.clear();
  for (std::size_t t = 0; t + 1 < step_begin.size(); ++t) {
    const std::size_t count = step_begin[t + 1] - step_begin[t];
    const std::vector<double> response = clock_response(std::span(steps).subspan(step_begin[t], count), shape);
    fallen.insert(fallen.end(), response.begin(), response.end());
  }
  for (AloneGroup& group : groups) {
    for (std::size_t k = 0; k < group.actions.size(); ++k) {
      const OverlappedAction& action = actions[group.actions[k]].overlapped;
      group.fallen_ns[k] = 0;
      for (std::size_t s = action.first; s != action.end; ++s) {
        group.fallen_ns[k] += intervals[s].ns * fallen_in(intervals[s]);
      }
    }
  }
}

/// Returns the median work of each group, of times that a clock falling by `fall` would take away, over the drawn
/// blocks.
std::vector<double> ContentionData::work(double fall, std::span<const double> weight) const {
  std::vector<double> work;
  for (const AloneGroup& group : groups) {
    std::vector<double> drawn;
    for (std::size_t k = 0; k < group.ns.size(); ++k) {
      drawn.insert(drawn.end(), static_cast<std::size_t>(weight[group.blocks[k]]),
                   group.ns[k] - fall * group.fallen_ns[k]);
    }
    work.push_back(drawn.empty() ? group.time.median_ns : median_of(std::move(drawn)));
  }
  return work;
}

/// Draws as many updates of every timeline as it has, with repetition.
std::vector<double> ContentionData::drawn_blocks(std::mt19937_64& random) const {
  std::vector<double> weight(block_begin.back(), 0);
  for (std::size_t t = 0; t + 1 < block_begin.size(); ++t) {
    const std::size_t count = block_begin[t + 1] - block_begin[t];
    for (std::size_t k = 0; k < count; ++k) ++weight[block_begin[t] + random() % count];
  }
  return weight;
}

std::vector<double> ContentionData::exposure(const ContentionCurves& curves, const SeenAction& action) const {
  std::vector<double> exposure(curves.size(), 0);
  std::vector<ContentionCurves::PartOf> parts;
  const double alone = groups[action.group].time.median_ns;
  for (std::size_t s = action.overlapped.first; s != action.overlapped.end; ++s) {
    curves.parts(static_cast<std::size_t>(action.overlapped.kind), intervals[s], fallen_in(intervals[s]), parts);
    for (const auto& part : parts) exposure[part.unknown] += part.weight * intervals[s].ns / alone;
  }
  return exposure;
}

double ContentionData::share_unknown(const ContentionCurves& curves, const SeenAction& action,
                                     const std::vector<bool>& absorbed) const {
  const auto of = static_cast<std::size_t>(action.overlapped.kind);
  double ns = 0;
  for (std::size_t s = action.overlapped.first; s != action.overlapped.end; ++s) {
    for (std::size_t by = 0; by < kComputeLoads; ++by) {
      if (intervals[s].others[by] == 0 || curves.knows(of, by) || absorbed[of * kComputeLoads + by]) continue;
      ns += intervals[s].ns;
      break;
    }
  }
  return ns / action.overlapped.ns;
}

}  // namespace plumb
