#include <algorithm>
#include <charconv>
#include <deque>
#include <numeric>
#include <utility>

#include "schedules/catalogue/generator.hpp"
#include "schedules/catalogue/run_time_rule.hpp"
#include "schedules/program/list_times.hpp"

namespace plumb {
namespace {

/// Sizes as the option gives them, over and over; empty when all are equal.
std::vector<std::int64_t> sizes_option(const ScheduleParams& params) {
  const auto option = params.options.find("sizes");
  if (option == params.options.end()) return {};
  std::vector<std::int64_t> given;
  for (const char* at = option->second.data(); at != nullptr;) {
    const char* end = option->second.data() + option->second.size();
    std::int64_t size = 0;
    const auto [after, error] = std::from_chars(at, end, size);
    require(error == std::errc{} && size >= 1 && (after == end || *after == ','), "dynapipe",
            "option sizes: expected whole numbers of at least 1 like 3,1,2, found '" + option->second + "'");
    given.push_back(size);
    at = after == end ? nullptr : after + 1;
  }
  std::vector<std::int64_t> sizes;
  for (std::int64_t k = 0; k < params.num_microbatches; ++k) {
    sizes.push_back(given[static_cast<std::size_t>(k) % given.size()]);
  }
  return sizes;
}

/// What a stage could do: filled in this cycle, taken in a later one.
struct CycleStage {
  std::deque<std::int64_t> forwards;
  std::deque<std::int64_t> backwards;
  std::int64_t kept = 0;
};

/// Plays the cycles: in each of them every device runs at most one backward, then at most one forward, of what earlier
/// cycles have left to it; no forward where `limit` microbatches are kept already.
std::vector<std::vector<Action>> cyclic_order(std::int32_t p, std::int64_t m, std::int64_t limit) {
  std::vector<std::vector<Action>> lists(static_cast<std::size_t>(p));
  std::vector<CycleStage> stages(lists.size());
  for (std::int64_t k = 0; k < m; ++k) stages[0].forwards.push_back(k);
  for (std::int64_t left = 2 * m * p; left > 0;) {
    std::vector<std::pair<std::int32_t, Action>> made;  // for the next cycle
    for (std::int32_t stage = 0; stage < p; ++stage) {
      CycleStage& at = stages[static_cast<std::size_t>(stage)];
      const auto run = [&](Op op, std::deque<std::int64_t>& queue) {
        lists[static_cast<std::size_t>(stage)].push_back(action_of(stage, op, queue.front()));
        queue.pop_front();
        at.kept += op == Op::kF ? 1 : -1;
        --left;
        return lists[static_cast<std::size_t>(stage)].back().microbatch;
      };
      if (!at.backwards.empty()) {
        const auto microbatch = static_cast<std::int64_t>(run(Op::kB, at.backwards));
        if (stage > 0) made.emplace_back(stage - 1, action_of(stage - 1, Op::kB, microbatch));
      }
      if (!at.forwards.empty() && at.kept < limit) {
        const auto microbatch = static_cast<std::int64_t>(run(Op::kF, at.forwards));
        const std::int32_t to = std::min(stage + 1, p - 1);
        made.emplace_back(to, action_of(to, stage + 1 < p ? Op::kF : Op::kB, microbatch));
      }
    }
    for (const auto& [stage, action] : made) {
      CycleStage& at = stages[static_cast<std::size_t>(stage)];
      (action.op == Op::kF ? at.forwards : at.backwards).push_back(static_cast<std::int64_t>(action.microbatch));
    }
  }
  return lists;
}

Schedule cyclic_schedule(const ScheduleParams& params, const std::vector<std::int64_t>& sizes, std::int64_t limit) {
  const std::int64_t updates = updates_or(params, 1);
  Schedule schedule = looped_schedule("dynapipe", params, 1, updates);
  if (limit < params.num_microbatches) schedule.parameters["limit"] = limit;
  for (std::int64_t update = 0; update < updates; ++update) {
    schedule.microbatch_sizes.insert(schedule.microbatch_sizes.end(), sizes.begin(), sizes.end());
  }
  const auto order = cyclic_order(params.num_devices, params.num_microbatches, limit);
  for (std::int32_t d = 0; d < params.num_devices; ++d) {
    schedule.devices.push_back(repeat_steps(params, updates, [&](ListBuilder& list) {
      list.add_all(order[static_cast<std::size_t>(d)]);
      list.add(StageId{d}, Op::kU, 0);
    }));
  }
  return schedule;
}

/// Time of one step in which costs grow with the sizes.
Ticks step_time(ScheduleParams params, const std::vector<std::int64_t>& sizes, std::int64_t limit) {
  params.updates = 1;
  const ChainTimes times = chain_times(params, params.num_devices);
  const auto duration = [&](const Action& action) {
    if (action.op == Op::kU) return Ticks{0};
    const auto& of = action.op == Op::kF ? times.forward : times.backward;
    return of[index(action.stage)] * sizes[index(action.microbatch)];
  };
  const std::int64_t largest = *std::max_element(sizes.begin(), sizes.end());
  return list_times(cyclic_schedule(params, sizes, limit), duration, times.transfer * largest).makespan;
}

/// Groups of similar size, smallest first.
class SizeGroups {
 public:
  explicit SizeGroups(std::vector<std::int64_t> sizes) : sizes_(std::move(sizes)) {
    std::sort(sizes_.begin(), sizes_.end());
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      const auto size = static_cast<double>(sizes_[i]);
      sums_.push_back(sums_.back() + size);
      squares_.push_back(squares_.back() + size * size);
      if (i > 0 && sizes_[i] != sizes_[i - 1]) begins_.push_back(i);
    }
  }

  /// Joins the two neighbours whose sizes spread least (squared distances from their mean) until `count` are left.
  std::vector<std::vector<std::int64_t>> joined(std::size_t count) && {
    while (begins_.size() > count) {
      std::size_t best = 1;
      for (std::size_t i = 2; i < begins_.size(); ++i) {
        if (cost_of_joining(i) < cost_of_joining(best)) best = i;
      }
      begins_.erase(begins_.begin() + static_cast<std::ptrdiff_t>(best));
    }
    std::vector<std::vector<std::int64_t>> groups;
    for (std::size_t i = 0; i < begins_.size(); ++i) {
      groups.emplace_back(sizes_.begin() + static_cast<std::ptrdiff_t>(begins_[i]),
                          sizes_.begin() + static_cast<std::ptrdiff_t>(end_of(i)));
    }
    return groups;
  }

 private:
  std::size_t end_of(std::size_t group) const {
    return group + 1 < begins_.size() ? begins_[group + 1] : sizes_.size();
  }
  double spread(std::size_t begin, std::size_t end) const {
    const double sum = sums_[end] - sums_[begin];
    return squares_[end] - squares_[begin] - sum * sum / static_cast<double>(end - begin);
  }
  double cost_of_joining(std::size_t group) const {
    const std::size_t end = end_of(group);
    return spread(begins_[group - 1], end) - spread(begins_[group - 1], begins_[group]) - spread(begins_[group], end);
  }

  std::vector<std::int64_t> sizes_;
  std::vector<double> sums_{0};  ///< of the first sizes
  std::vector<double> squares_{0};
  std::vector<std::size_t> begins_{0};  ///< where groups begin
};

/// The sizes with which a step is shortest among all orders of three groups of similar sizes.
std::vector<std::int64_t> best_order(const ScheduleParams& params, const std::vector<std::int64_t>& sizes,
                                     std::int64_t limit) {
  const auto groups = SizeGroups(sizes).joined(3);
  std::vector<std::size_t> order(groups.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<std::int64_t> best = sizes;
  Ticks shortest = step_time(params, best, limit);
  do {
    std::vector<std::int64_t> sorted;
    for (const std::size_t group : order) sorted.insert(sorted.end(), groups[group].begin(), groups[group].end());
    const Ticks time = step_time(params, sorted, limit);
    if (time >= shortest) continue;
    shortest = time;
    best = std::move(sorted);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

}  // namespace

/// Microbatches of different length. The order is cyclic: in every cycle a device runs at most one backward, then at
/// most one forward, of what earlier cycles have left to it, so that there is slack between a value and its use and a
/// long microbatch holds nobody up at once. `sizes=3,1,2` gives the lengths of the microbatches (over and over; all
/// equal without it), `limit=N` the microbatches that a device may keep, `order=search` sorts the microbatches into
/// three groups of similar length and takes the order of the groups with the shortest step for the given costs
/// (without: B = 2 F), if that is shorter than the given one. With equal microbatches and no limit the order is
/// DAPPLE's long warm-up, and device d keeps at most min(2(p - d) - 1, limit, m) activations. Any p and m. (Jiang et
/// al., DynaPipe, arXiv 2311.10418; released code; its planner of microbatches is not a schedule's matter)
///
///   p = 3, m = 4
///   d0: 0F0 0F1 0F2 0F3 0B0 0B1 0B2 0B3 0U0
///   d1: 1F0 1F1 1F2 1B0 1F3 1B1 1B2 1B3 1U0
///   d2: 2F0 2B0 2F1 2B1 2F2 2B2 2F3 2B3 2U0
Schedule dynapipe(const ScheduleParams& params) {
  require_one_chunk("dynapipe", params);
  require_playable("dynapipe", params.num_microbatches * params.num_devices);
  const std::int64_t limit = whole_number("dynapipe", params, "limit", params.num_microbatches);
  std::vector<std::int64_t> sizes = sizes_option(params);
  if (choice("dynapipe", params, "order", {"given", "search"}) == "search" && !sizes.empty()) {
    sizes = best_order(params, sizes, limit);
  }
  return cyclic_schedule(params, sizes, limit);
}

}  // namespace plumb
