#include "sim/order_search/count_search.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "models/ground/error.hpp"

namespace plumb {
namespace {

constexpr std::size_t kRememberedCounts = 40;  ///< steps that late acceptance looks back
constexpr std::int64_t kTriesEach = 30;        ///< changes that are tried for every simulation: most expand to nothing
constexpr Ticks kNeverEnds = std::numeric_limits<Ticks>::max();
constexpr OrderScore kUnfit{.makespan = kNeverEnds, .ends = 0};

/// What is different from the rules as they are.
struct ChangedCounts {
  PhaseChanges counts;
  std::map<std::string, std::string> options;

  friend auto operator<=>(const ChangedCounts&, const ChangedCounts&) = default;
};

class CountSearch {
 public:
  CountSearch(const RulesForSizes& of, const OrderRun& run, std::uint64_t seed)
      : of_(of), run_(without_details(run)), random_(seed) {
    for (std::size_t at = 0; at < of.rules.statements.size(); ++at) {
      const PhaseStatement::Kind kind = of.rules.statements[at].kind;
      if (kind == PhaseStatement::Kind::kLet) lets_.push_back(at);
      if (kind == PhaseStatement::Kind::kPhase) phases_.push_back(at);
    }
    start_ = schedule_from_rules(of.rules, of.file, of.params, {});
  }

  VariedCounts search(std::int64_t simulations) {
    ChangedCounts here{.counts = {}, .options = of_.params.options};
    const OrderScore first = score(here).value_or(kUnfit);
    OrderScore now = first;
    OrderScore best = first;
    ChangedCounts best_changes = here;
    std::vector<OrderScore> remembered(kRememberedCounts, now);
    std::size_t step = 0;
    for (std::int64_t tries = 0; simulated_ < simulations && tries < kTriesEach * simulations; ++tries) {
      ChangedCounts next = here;
      if (!change(next)) continue;
      const std::optional<OrderScore> scored = score(next);
      if (!scored) continue;
      OrderScore& old = remembered[step++ % kRememberedCounts];
      if (*scored > now && *scored > old) continue;
      here = std::move(next);
      now = *scored;
      old = std::max(now, std::min(old, now));
      if (now >= best) continue;
      best = now;
      best_changes = here;
    }
    VariedCounts answer;
    if (best.makespan != kNeverEnds) best_changes = without_idle_options(std::move(best_changes), best);
    answer.simulations = simulated_;
    if (best.makespan == kNeverEnds) return answer;
    answer.schedule = *expanded(best_changes);
    answer.makespan = best.makespan;
    if (best.makespan < first.makespan) answer.changes = text_of(best_changes);
    return answer;
  }

 private:
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(random_() % count); }

  std::optional<Schedule> expanded(const ChangedCounts& changes) const {
    ScheduleParams params = of_.params;
    params.options = changes.options;
    try {
      Schedule schedule = schedule_from_rules(of_.rules, of_.file, params, changes.counts);
      if (schedule.placement == start_.placement) return schedule;
    } catch (const Error&) {  // passes are missing, or an option has no such value
    }
    return std::nullopt;
  }

  /// Each set of changes is simulated once. Nothing for what is no schedule; `kUnfit` for one that hangs or does not
  /// fit, which is a step only from another of these.
  std::optional<OrderScore> score(const ChangedCounts& changes) {
    const auto known = known_.find(changes);
    if (known != known_.end()) return known->second;
    std::optional<OrderScore> found;
    if (const std::optional<Schedule> schedule = expanded(changes)) {
      ++simulated_;
      found = score_order(*schedule, run_).value_or(kUnfit);
    }
    known_.emplace(changes, found);
    return found;
  }

  bool change(ChangedCounts& changes) {
    const std::size_t options = of_.rules.options.size();
    const std::size_t kinds = lets_.size() + phases_.size() + options;
    if (kinds == 0) return false;
    const std::size_t which = below(kinds);
    const std::int64_t by = below(2) == 0 ? 1 : -1;
    if (which < lets_.size()) {
      add(changes, lets_[which], devices(), by);
    } else if (which < lets_.size() + phases_.size()) {
      if (phases_.size() < 2) return false;
      const std::size_t from = which - lets_.size();
      const std::size_t to = (from + 1 + below(phases_.size() - 1)) % phases_.size();
      const std::pair<std::int32_t, std::int32_t> where = devices();
      add(changes, phases_[from], where, -by);
      add(changes, phases_[to], where, by);
    } else {
      return change_option(changes, of_.rules.options[which - lets_.size() - phases_.size()], by);
    }
    return true;
  }

  /// Without the options whose change makes the order no better: they would be told as if they mattered.
  ChangedCounts without_idle_options(ChangedCounts changes, const OrderScore& best) {
    for (const PhaseOption& option : of_.rules.options) {
      ChangedCounts plain = changes;
      plain.options.erase(option.name);
      const auto given = of_.params.options.find(option.name);
      if (given != of_.params.options.end()) plain.options.insert(*given);
      const std::optional<OrderScore> scored = score(plain);
      if (scored && *scored <= best) changes = std::move(plain);
    }
    return changes;
  }

  /// All devices, or one; first and last.
  std::pair<std::int32_t, std::int32_t> devices() {
    const std::int32_t p = of_.params.num_devices;
    if (below(3) == 0) return {0, p - 1};
    const auto one = static_cast<std::int32_t>(below(static_cast<std::size_t>(p)));
    return {one, one};
  }

  static void add(ChangedCounts& changes, std::size_t at, std::pair<std::int32_t, std::int32_t> where,
                  std::int64_t by) {
    for (std::int32_t device = where.first; device <= where.second; ++device) {
      std::int64_t& sum = changes.counts[{at, device}];
      sum += by;
      if (sum == 0) changes.counts.erase({at, device});
    }
  }

  bool change_option(ChangedCounts& changes, const PhaseOption& option, std::int64_t by) const {
    ScheduleParams params = of_.params;
    params.options = changes.options;
    try {
      const std::int64_t value = phase_frame(of_.rules, of_.file, params).names.at(option.name) + by;
      changes.options[option.name] = std::to_string(value);
      return value >= 1;
    } catch (const Error&) {
      return false;
    }
  }

  /// "warmup +1 on d0 d1, line 4 -1 on d2, k=3".
  std::string text_of(const ChangedCounts& changes) const {
    std::map<std::pair<std::size_t, std::int64_t>, std::string> by_line;
    for (const auto& [place, by] : changes.counts) by_line[{place.first, by}] += " d" + std::to_string(place.second);
    std::string text;
    for (const auto& [line, on] : by_line) {
      const PhaseStatement& statement = of_.rules.statements[line.first];
      const std::string number = statement.where.substr(statement.where.rfind(':') + 1);
      text += (text.empty() ? "" : ", ") + (statement.name.empty() ? "line " + number : statement.name);
      text += (line.second > 0 ? " +" : " ") + std::to_string(line.second) + " on" + on;
    }
    for (const auto& [name, value] : changes.options) {
      const auto given = of_.params.options.find(name);
      if (given != of_.params.options.end() && given->second == value) continue;
      text += (text.empty() ? "" : ", ") + name + "=" + value;
    }
    return text;
  }

  const RulesForSizes& of_;
  OrderRun run_;
  std::mt19937_64 random_;
  std::vector<std::size_t> lets_;
  std::vector<std::size_t> phases_;
  Schedule start_;
  std::map<ChangedCounts, std::optional<OrderScore>> known_;
  std::int64_t simulated_ = 0;
};

}  // namespace

VariedCounts vary_counts(const RulesForSizes& of, const OrderRun& run, std::int64_t simulations, std::uint64_t seed) {
  return CountSearch(of, run, seed).search(simulations);
}

}  // namespace plumb
