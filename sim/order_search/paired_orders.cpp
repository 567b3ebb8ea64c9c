#include "sim/order_search/paired_orders.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "sim/order_search/pair_savings.hpp"

namespace plumb {
namespace {

bool is_pass_or_recompute(const Action& action) { return action.op <= Op::kR; }

/// A list of forwards and whole backwards.
struct PassesOfList {
  std::vector<Action> forwards;
  std::vector<Action> backwards;
  std::vector<Action> others;  ///< behind all passes
  std::int64_t before = 0;     ///< forwards before the first backward, and before the pair that it is in
};

/// Nothing for a list of another kind.
std::optional<PassesOfList> passes_of_list(const DeviceList& list) {
  PassesOfList passes;
  for (Action action : expand(list)) {
    const bool in_pair = action.overlaps_next != 0;
    action.overlaps_next = 0;
    if (!is_pass_or_recompute(action)) {
      passes.others.push_back(action);
    } else if (!passes.others.empty() || action.merged != 0) {
      return std::nullopt;
    } else if (action.op == Op::kF) {
      if (passes.backwards.empty() && !in_pair) ++passes.before;
      passes.forwards.push_back(action);
    } else if (action.op == Op::kB) {
      passes.backwards.push_back(action);
    } else {
      return std::nullopt;
    }
  }
  if (passes.forwards.size() != passes.backwards.size()) return std::nullopt;
  return passes;
}

/// Forwards, then each next forward with the next backward, then backwards.
std::vector<Action> in_pairs(const PassesOfList& passes, std::int64_t before) {
  std::vector<Action> list(passes.forwards.begin(), passes.forwards.begin() + before);
  auto backward = passes.backwards.begin();
  for (auto forward = passes.forwards.begin() + before; forward != passes.forwards.end(); ++forward, ++backward) {
    list.push_back(*forward);
    list.back().overlaps_next = forward->microbatch != backward->microbatch ? 1 : 0;
    list.push_back(*backward);
  }
  list.insert(list.end(), backward, passes.backwards.end());
  return list;
}

/// Forwards, then each next backward before the next forward, then backwards.
std::vector<Action> in_turn(const PassesOfList& passes, std::int64_t before) {
  std::vector<Action> list(passes.forwards.begin(), passes.forwards.begin() + before);
  auto backward = passes.backwards.begin();
  for (auto forward = passes.forwards.begin() + before; forward != passes.forwards.end(); ++forward, ++backward) {
    list.push_back(*backward);
    list.push_back(*forward);
  }
  list.insert(list.end(), backward, passes.backwards.end());
  return list;
}

/// Of the device with this number.
std::vector<Action> written(const PassesOfList& passes, const BeforePairs& wanted, std::int64_t device) {
  const std::int64_t before =
      std::min<std::int64_t>(std::ssize(passes.forwards), wanted.twice ? 2 * passes.before - 1 : passes.before);
  const bool has_pairs = before < std::ssize(passes.forwards);
  std::vector<Action> list;
  if (wanted.most == 0 || (has_pairs ? before < wanted.most : before <= wanted.most)) {
    list = in_pairs(passes, before);
  } else if (wanted.plain) {
    list = in_turn(passes, wanted.most);
  } else {  // a pair of two devices that have begun as many would wait for each other
    list = in_pairs(passes, std::max<std::int64_t>(1, std::min(before, wanted.most - 1 - device)));
  }
  list.insert(list.end(), passes.others.begin(), passes.others.end());
  return list;
}

using FitsInPairs = std::function<bool(const std::string&, const Schedule&)>;

void try_pairs_behind(const Schedule& schedule, const std::string& name, bool twice, const FitsInPairs& fits) {
  const std::int64_t before = most_before_backwards(schedule);
  if (before == 0) return;
  const auto try_one = [&](std::int64_t most, bool plain) {
    std::string named = name + " in pairs";
    if (twice) named += ", twice the warm-up";
    const std::string number = std::to_string(most);
    if (most > 0) named += plain ? ", none where more than " + number + " are kept" : ", at most " + number + " kept";
    return fits(named, with_pairs_behind(schedule, {.twice = twice, .most = most, .plain = plain}));
  };
  if (try_one(0, false)) return;
  std::int64_t fit = 1;
  std::int64_t too_many = twice ? 2 * before : before + 1;
  while (too_many - fit > 1) {
    const std::int64_t middle = fit + (too_many - fit) / 2;
    (try_one(middle, true) ? fit : too_many) = middle;
  }
  for (std::int64_t most = fit; most >= std::max<std::int64_t>(1, fit - 2); --most) {
    try_one(most, false);
    try_one(most, true);
  }
}

}  // namespace

std::optional<Schedule> with_paired_neighbours(const Schedule& schedule, const StageCosts& costs) {
  Schedule paired = schedule;
  bool any = false;
  for (DeviceList& list : paired.devices) {
    list = {.actions = expand(list), .repeats = {}};
    for (std::size_t at = 0; at + 1 < list.actions.size(); ++at) {
      Action& one = list.actions[at];
      const Action& other = list.actions[at + 1];
      if (one.overlaps_next != 0) {
        ++at;
        continue;
      }
      const bool free = is_pass_or_recompute(one) && is_pass_or_recompute(other) &&
                        one.microbatch != other.microbatch && other.overlaps_next == 0 && one.merged == 0 &&
                        other.merged == 0;
      if (!free || saved_by_pair(costs, one, other) <= 0) continue;
      one.overlaps_next = 1;
      any = true;
      ++at;
    }
  }
  return any ? std::optional(std::move(paired)) : std::nullopt;
}

std::int64_t most_before_backwards(const Schedule& schedule) {
  std::int64_t most = 0;
  for (const DeviceList& list : schedule.devices) {
    const std::optional<PassesOfList> passes = passes_of_list(list);
    if (!passes) return 0;
    most = std::max(most, passes->before);
  }
  return most;
}

Schedule with_pairs_behind(const Schedule& schedule, const BeforePairs& before) {
  Schedule paired = schedule;
  for (DeviceList& list : paired.devices) {
    const std::optional<PassesOfList> passes = passes_of_list(list);
    if (!passes || passes->forwards.empty()) continue;
    list = {.actions = written(*passes, before, &list - paired.devices.data()), .repeats = {}};
  }
  return paired;
}

void try_in_pairs(const Schedule& schedule, const std::string& name, const StageCosts& costs, const FitsInPairs& fits) {
  if (has_overlapped_pairs(schedule)) return try_pairs_behind(schedule, name, false, fits);
  const std::optional<Schedule> paired = with_paired_neighbours(schedule, costs);
  if (!paired) return;
  fits("pairs in " + name, *paired);
  for (const bool twice : {false, true}) try_pairs_behind(schedule, name, twice, fits);
}

}  // namespace plumb
