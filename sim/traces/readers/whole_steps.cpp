#include "sim/traces/readers/whole_steps.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "models/ground/error.hpp"
#include "schedules/document/action_text.hpp"

namespace plumb {
namespace {

enum class CutSide : std::uint8_t { kBegin, kEnd };

constexpr std::vector<TracedAction> RankRun::*kActionLists[] = {&RankRun::work, &RankRun::messages, &RankRun::others};

/// When the occurrences of one action began.
struct Occurrences {
  Action action;
  std::vector<std::int64_t> begin_ns;

  std::int32_t count() const { return static_cast<std::int32_t>(begin_ns.size()); }
};

using ByAction = std::map<std::string, Occurrences>;

std::string name_of(const Action& action) {
  std::string text;
  append_text(text, action);
  return text;
}

ByAction occurrences_of(const RankRun& run) {
  ByAction found;
  for (const auto list : kActionLists) {
    for (const TracedAction& one : run.*list) {
      Occurrences& entry = found[name_of(one.action)];
      entry.action = one.action;
      entry.begin_ns.push_back(one.begin_ns);
    }
  }
  return found;
}

/// Place of an op among those of its stage and microbatch; those of equal place may come in any order. Nothing for ops
/// that have no fixed place.
std::optional<int> place_of(Op op) {
  switch (op) {
    case Op::kRecvF:
      return 0;
    case Op::kF:
      return 1;
    case Op::kSendF:
      return 2;
    case Op::kRecvB:
      return 3;
    case Op::kB:
    case Op::kI:
      return 4;
    case Op::kSendB:
    case Op::kW:
      return 5;
    default:
      return std::nullopt;
  }
}

/// Returns whether every step runs `one` before `other`.
bool comes_before(const Action& one, const Action& other) {
  if (one.stage != other.stage) return false;
  if (one.op == Op::kUnshard) return is_compute(other.op);
  if (other.op == Op::kReduceGrad) return is_compute(one.op);
  if (one.microbatch != other.microbatch || !place_of(one.op) || !place_of(other.op)) return false;
  return *place_of(one.op) < *place_of(other.op);
}

/// The rank's counts, and where its trace was cut.
class StepCounter {
 public:
  explicit StepCounter(const RankRun& run) : run_(run), actions_(occurrences_of(run)) {
    least_ = std::numeric_limits<std::int32_t>::max();
    for (const auto& [name, one] : actions_) {
      least_ = std::min(least_, one.count());
      most_ = std::max(most_, one.count());
    }
  }

  bool is_whole() const { return least_ == most_; }
  std::int32_t least() const { return least_; }
  std::int32_t most() const { return most_; }

  /// Returns nothing where actions of whole microbatches are there once more, so that only another rank can tell.
  /// Throws `Error` where no cut explains the counts.
  std::optional<CutSide> cut() const {
    bool begin = false;
    bool end = false;
    for (const auto& [name, extra] : actions_) {
      if (extra.count() != most_) continue;
      for (const auto& [other, lacking] : actions_) {
        if (lacking.count() == most_) continue;
        begin |= comes_before(lacking.action, extra.action);
        end |= comes_before(extra.action, lacking.action);
      }
    }
    if (most_ > least_ + 1 || (begin && end) || (begin && !stands_at(CutSide::kBegin)) ||
        (end && !stands_at(CutSide::kEnd)))
      fail();
    if (!begin && !end) return std::nullopt;
    return begin ? CutSide::kBegin : CutSide::kEnd;
  }

  [[noreturn]] void fail() const {
    const auto by_count = [](const auto& entry) { return entry.second.count(); };
    const auto least = std::ranges::min_element(actions_, {}, by_count);
    throw Error(run_.file + ": " + least->first + " occurs " + std::to_string(least_) + " times, but other actions " +
                std::to_string(most_) + " times; expected whole steps: trace from one step's begin to another's end");
  }

 private:
  /// Returns whether the work that is there once too often is the first (last) work of the trace.
  bool stands_at(CutSide side) const {
    std::vector<std::int64_t> extra;
    std::vector<std::int64_t> other;
    for (const auto& [name, one] : actions_) {
      if (!is_compute(one.action.op)) continue;
      const auto [first, last] = std::ranges::minmax(one.begin_ns);
      (one.count() == most_ ? extra : other).push_back(side == CutSide::kBegin ? first : last);
    }
    if (extra.empty() || other.empty()) return true;
    if (side == CutSide::kBegin) return std::ranges::max(extra) < std::ranges::min(other);
    return std::ranges::min(extra) > std::ranges::max(other);
  }

  const RankRun& run_;
  ByAction actions_;
  std::int32_t least_ = 0;
  std::int32_t most_ = 0;
};

/// Keeps the last (first) `steps` occurrences of every action, and numbers them.
void keep_steps(RankRun& run, std::int32_t steps, CutSide side) {
  const ByAction all = occurrences_of(run);
  for (const auto list : kActionLists) {
    for (TracedAction& one : run.*list) {
      if (side == CutSide::kBegin) one.step -= all.at(name_of(one.action)).count() - steps;
    }
    std::erase_if(run.*list, [&](const TracedAction& one) { return one.step < 0 || one.step >= steps; });
  }
  run.steps = steps;
}

void count_occurrences(const std::vector<RankRun*>& runs) {
  std::int32_t whole = std::numeric_limits<std::int32_t>::max();
  std::optional<CutSide> side;
  const RankRun* cut = nullptr;
  bool told = true;
  for (const RankRun* run : runs) {
    const StepCounter counter(*run);
    whole = std::min(whole, counter.least());
    if (counter.is_whole()) continue;
    const std::optional<CutSide> here = counter.cut();
    if (cut != nullptr && here && side && *here != *side) counter.fail();
    if (cut == nullptr || !side) cut = run;
    if (here) side = here;
    told = told && here;
  }
  if (cut != nullptr && !side) StepCounter(*cut).fail();
  for (RankRun* run : runs) {
    const StepCounter counter(*run);
    run->steps = counter.most();
    // A rank that was idle when the trace began has this step whole, but others have not.
    if (cut != nullptr && counter.most() <= whole + 1) keep_steps(*run, whole, *side);
  }
  if (cut == nullptr) return;
  runs.front()->left_out.push_back(std::string("The traces ") + (*side == CutSide::kBegin ? "begin" : "end") +
                                   " in the middle of a step (" + cut->file +
                                   "), which is left out: " + std::to_string(whole) + " whole " +
                                   (whole == 1 ? "step is" : "steps are") + " read.");
}

/// Returns how often each action occurs in a range `ProfilerStep#n`, by n.
std::map<std::int64_t, std::map<std::string, std::int32_t>> counts_by_range(const RankRun& run) {
  std::map<std::int64_t, std::map<std::string, std::int32_t>> counts;
  for (const auto list : kActionLists) {
    for (const TracedAction& one : run.*list) {
      if (one.profiler_step >= 0) ++counts[one.profiler_step][name_of(one.action)];
    }
  }
  return counts;
}

/// Returns the ranges that have all actions of the rank equally often, with how often that is; nothing in others.
std::map<std::int64_t, std::int32_t> whole_ranges(const RankRun& run) {
  const auto counts = counts_by_range(run);
  std::set<std::string> all;
  for (const auto& [n, actions] : counts) {
    for (const auto& [name, count] : actions) all.insert(name);
  }
  std::map<std::int64_t, std::int32_t> whole;
  for (const auto& [n, actions] : counts) {
    const std::int32_t often = actions.begin()->second;
    const auto same = [often](const auto& action) { return action.second == often; };
    if (actions.size() == all.size() && std::ranges::all_of(actions, same)) whole.emplace(n, often);
  }
  return whole;
}

/// Numbers what is in the ranges `kept` (n, and how many steps each has), and drops the rest.
void keep_ranges(RankRun& run, const std::map<std::int64_t, std::int32_t>& kept) {
  std::map<std::int64_t, std::int32_t> first;
  run.steps = 0;
  for (const auto& [n, often] : kept) {
    first[n] = run.steps;
    run.steps += often;
  }
  for (const auto list : kActionLists) {
    std::erase_if(run.*list, [&](const TracedAction& one) { return !kept.contains(one.profiler_step); });
    std::map<std::pair<std::int64_t, std::string>, std::int32_t> seen;
    for (TracedAction& one : run.*list) {
      one.step = first[one.profiler_step] + seen[{one.profiler_step, name_of(one.action)}]++;
    }
  }
}

void count_ranges(const std::vector<RankRun*>& runs) {
  std::map<std::int64_t, std::int32_t> kept = whole_ranges(*runs.front());
  std::set<std::int64_t> all;
  bool outside = false;
  for (const RankRun* run : runs) {
    const auto here = whole_ranges(*run);
    std::erase_if(kept, [&](const auto& range) {
      const auto found = here.find(range.first);
      return found == here.end() || found->second != range.second;
    });
    for (const auto& [n, actions] : counts_by_range(*run)) all.insert(n);
    outside |= std::ranges::any_of(run->work, [](const TracedAction& one) { return one.profiler_step < 0; });
  }
  if (kept.empty()) {
    throw Error(runs.front()->file +
                ": no range ProfilerStep#n has all actions of a step on every rank; expected at least one whole step");
  }
  std::string names;
  for (const std::int64_t n : all) {
    if (!kept.contains(n)) names += (names.empty() ? "ProfilerStep#" : ", ProfilerStep#") + std::to_string(n);
  }
  for (RankRun* run : runs) keep_ranges(*run, kept);
  std::vector<std::string>& said = runs.front()->left_out;
  if (!names.empty()) said.push_back("Left out, because not every rank has all of the step: " + names + ".");
  if (outside) said.emplace_back("What ran outside of the ranges ProfilerStep#n is left out.");
}

}  // namespace

void keep_whole_steps(std::vector<RankRun>& runs) {
  std::vector<RankRun*> uncounted;
  for (RankRun& run : runs) {
    if (run.numbering == Numbering::kNamed && run.steps == 0) uncounted.push_back(&run);
  }
  if (uncounted.empty()) return;
  const auto in_ranges = [](const RankRun* run) {
    return std::ranges::any_of(run->work, [](const TracedAction& one) { return one.profiler_step >= 0; });
  };
  if (std::ranges::all_of(uncounted, in_ranges)) {
    count_ranges(uncounted);
  } else {
    count_occurrences(uncounted);
  }
}

}  // namespace plumb
