#include "schedules/versions/weight_versions.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "models/ground/error.hpp"
#include "schedules/document/first_stages.hpp"
#include "schedules/document/methods.hpp"
#include "schedules/document/schedule_io.hpp"

namespace plumb {
namespace {

constexpr bool reads_weights(Op op) { return op == Op::kF || is_backward(op) || op == Op::kR; }

constexpr bool delays(WeightPolicy policy) {
  return policy == WeightPolicy::kDelay || policy == WeightPolicy::kDoubleBuffer;
}

/// What a stage does, looked up once where there are no phases.
struct StageRule {
  WeightPolicy policy{};
  std::int64_t delay = 1;  ///< of the delay policies
  std::int64_t per_update = 1;
};

class Versions {
 public:
  Versions(const Schedule& schedule, const Program& program)
      : schedule_(schedule),
        program_(program),
        first_(first_stages(schedule)),
        slices_(program.parts.most_slices()),
        forward_(static_cast<std::size_t>(schedule.num_stages * schedule.num_microbatches) * slices_, 0) {
    for (std::int32_t stage = 0; stage < schedule.num_stages; ++stage) {
      rules_.push_back(rule_of(schedule.policy_of(StageId{stage}), StageId{stage}));
    }
  }

  WeightVersions compute() {
    read_latest();
    apply_policies();
    if (looks_back(schedule_)) look_back();
    keep();
    return std::move(result_);
  }

 private:
  StageRule rule_of(WeightPolicy policy, StageId stage) const {
    const bool double_buffer = policy == WeightPolicy::kDoubleBuffer;
    return {policy, double_buffer ? 1 : schedule_.weights.delay, schedule_.per_update(stage)};
  }

  /// That of the phase of the action's microbatch.
  StageRule rule_of(const Action& action) const {
    const StageRule& last = rules_[index(action.stage)];
    if (schedule_.weights.phases.empty()) return last;
    const std::int64_t update = static_cast<std::int64_t>(action.microbatch) / last.per_update;
    return rule_of(schedule_.policy_of(action.stage, update), action.stage);
  }

  std::int32_t& forward(StageId stage, std::size_t microbatch, std::size_t slice) {
    return forward_[(index(stage) * static_cast<std::size_t>(schedule_.num_microbatches) + microbatch) * slices_ +
                    slice];
  }

  /// The version that the forwards of everything that `action` names have read on `stage`.
  std::int32_t forward(const Action& action, StageId stage) {
    std::optional<std::int32_t> read;
    program_.parts.for_each(action, [&](std::size_t microbatch, std::size_t slice, std::size_t) {
      const std::int32_t version = forward(stage, microbatch, slice);
      if (read.value_or(version) != version) throw_mixed(action, *read, version);
      read = version;
    });
    return *read;
  }

  /// Every reader reads the latest version; notes those of the forwards.
  void read_latest() {
    std::vector<std::int32_t> updates(program_.holders.size(), 0);
    result_.read.assign(program_.size(), -1);
    for (InstrIndex at = 0; at < program_.size(); ++at) {
      const Action& action = program_.instrs[at].action;
      std::int32_t& latest = updates[program_.rows[program_.instrs[at].row].holder];
      if (action.op == Op::kU) ++latest;
      if (reads_weights(action.op)) result_.read[at] = latest;
      if (action.op != Op::kF) continue;
      program_.parts.for_each(action, [&](std::size_t microbatch, std::size_t slice, std::size_t) {
        forward(action.stage, microbatch, slice) = latest;
      });
    }
  }

  void apply_policies() {
    for (InstrIndex at = 0; at < program_.size(); ++at) {
      std::int32_t& read = result_.read[at];
      if (read < 0) continue;
      const std::int32_t wanted = wanted_version(program_.instrs[at].action, read);
      if (wanted > read) throw_missing(program_.instrs[at].action, wanted, read);
      read = wanted;
    }
  }

  std::int32_t wanted_version(const Action& action, std::int32_t latest) {
    const StageRule rule = rule_of(action);
    switch (rule.policy) {
      case WeightPolicy::kStash:
        return action.op == Op::kF ? latest : forward(action, action.stage);
      case WeightPolicy::kVerticalSync:
        return vertical(action, rule);
      case WeightPolicy::kDelay:
      case WeightPolicy::kDoubleBuffer: {
        const std::int64_t update = static_cast<std::int64_t>(action.microbatch) / rule.per_update;
        return static_cast<std::int32_t>(std::max<std::int64_t>(update - rule.delay, 0));
      }
      default:
        return latest;
    }
  }

  /// The version that the first stage read; where stages update at their own pace, the one made of the same
  /// microbatches.
  std::int32_t vertical(const Action& action, const StageRule& rule) {
    const StageId first = first_[index(action.stage)];
    return static_cast<std::int32_t>(forward(action, first) * rules_[index(first)].per_update / rule.per_update);
  }

  [[noreturn]] void throw_mixed(const Action& action, std::int32_t one, std::int32_t other) const {
    throw CannotRun("schedule '" + schedule_.name + "': " + to_string(action) + " would read versions " +
                    std::to_string(one) + " and " + std::to_string(other) +
                    ", as its forwards did; expected an action of its own for each");
  }

  [[noreturn]] void throw_missing(const Action& action, std::int32_t wanted, std::int32_t latest) const {
    std::string message = "schedule '" + schedule_.name + "': " + to_string(action) + " reads version " +
                          std::to_string(wanted) + ", but only version " + std::to_string(latest) + " exists there";
    if (const auto delay = smallest_delay()) message += "; the smallest legal delay is " + std::to_string(*delay);
    throw CannotRun(message);
  }

  /// Largest lag of any reader of a stage with a delay policy.
  std::optional<std::int64_t> smallest_delay() const {
    std::vector<std::int32_t> updates(program_.holders.size(), 0);
    std::optional<std::int64_t> smallest;
    for (InstrIndex at = 0; at < program_.size(); ++at) {
      const Action& action = program_.instrs[at].action;
      std::int32_t& latest = updates[program_.rows[program_.instrs[at].row].holder];
      if (action.op == Op::kU) ++latest;
      if (!reads_weights(action.op)) continue;
      const StageRule rule = rule_of(action);
      if (!delays(rule.policy)) continue;
      const std::int64_t lag = static_cast<std::int64_t>(action.microbatch) / rule.per_update - latest;
      smallest = std::max(smallest.value_or(0), lag);
    }
    return smallest;
  }

  /// An update that looks at the weights of its forwards wants them all to be of one version.
  void look_back() {
    std::vector<std::vector<std::int32_t>> forwards(program_.holders.size());  // by holder and microbatch
    for (auto& of : forwards) of.assign(static_cast<std::size_t>(schedule_.num_microbatches), -1);
    for (InstrIndex at = 0; at < program_.size(); ++at) {
      const Action& action = program_.instrs[at].action;
      std::vector<std::int32_t>& of_holder = forwards[program_.rows[program_.instrs[at].row].holder];
      if (action.op == Op::kF) {
        for (std::size_t i = 0; i <= action.merged; ++i) of_holder[index(action.microbatch) + i] = result_.read[at];
      }
      if (action.op != Op::kU) continue;
      const auto per_update = static_cast<std::size_t>(rules_[index(action.stage)].per_update);
      const std::size_t first = index(action.microbatch) * per_update;
      for (std::size_t k = first; k < std::min(first + per_update, of_holder.size()); ++k) {
        if (of_holder[k] < 0) continue;
        std::int32_t& of_update = result_.read[at];
        if (of_update >= 0 && of_update != of_holder[k]) throw_mixed(action, of_update, of_holder[k]);
        of_update = of_holder[k];
      }
    }
  }

  /// An old version lives from the update that replaces it to the end of its last reader.
  void keep() {
    std::vector<std::vector<KeptVersion>> by_holder(program_.holders.size());
    for (InstrIndex at = 0; at < program_.size(); ++at) {
      const std::uint32_t holder = program_.rows[program_.instrs[at].row].holder;
      std::vector<KeptVersion>& replaced = by_holder[holder];
      if (program_.instrs[at].action.op == Op::kU) {
        note_reader(replaced, at);
        replaced.push_back({holder, static_cast<std::int32_t>(replaced.size()), at, at});
        continue;
      }
      note_reader(replaced, at);
    }
    for (const auto& versions : by_holder) {
      for (const KeptVersion& version : versions) {
        if (version.last_reader != version.replaced_by) result_.kept.push_back(version);
      }
    }
  }

  void note_reader(std::vector<KeptVersion>& replaced, InstrIndex at) const {
    const std::int32_t read = result_.read[at];
    if (read < 0 || static_cast<std::size_t>(read) >= replaced.size()) return;
    replaced[static_cast<std::size_t>(read)].last_reader = at;
  }

  const Schedule& schedule_;
  const Program& program_;
  std::vector<StageRule> rules_;
  std::vector<StageId> first_;         ///< by stage: the one that its data comes in by
  std::size_t slices_;                 ///< most slices of a microbatch
  std::vector<std::int32_t> forward_;  ///< by stage, microbatch and slice: the version its F reads
  WeightVersions result_;
};

}  // namespace

WeightVersions weight_versions(const Schedule& schedule, const Program& program) {
  return Versions(schedule, program).compute();
}

std::vector<std::int32_t> forward_versions(const Program& program) {
  std::vector<std::int32_t> versions(program.size(), -1);
  std::vector<std::map<std::int64_t, std::int32_t>> read(program.holders.size());  // by microbatch
  for (InstrIndex at = 0; at < program.size(); ++at) {
    const Action& action = program.instrs[at].action;
    if (action.op > Op::kR) continue;
    auto& of_holder = read[program.rows[program.instrs[at].row].holder];
    const auto first = static_cast<std::int64_t>(action.microbatch);
    for (std::int64_t k = first; action.op == Op::kF && k <= first + action.merged; ++k) {
      of_holder[k] = program.version_read[at];
    }
    versions[at] = of_holder.at(first);
  }
  return versions;
}

}  // namespace plumb
