#include "schedules/weight_versions.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>

#include "models/error.hpp"
#include "schedules/schedule_io.hpp"

namespace plumb {
namespace {

constexpr bool reads_weights(Op op) { return op == Op::kF || is_backward(op) || op == Op::kR; }

constexpr bool delays(WeightPolicy policy) {
  return policy == WeightPolicy::kDelay || policy == WeightPolicy::kDoubleBuffer;
}

/// What every stage does, by stage, so that the policy is looked up once.
struct Rule {
  WeightPolicy policy{};
  std::int64_t delay = 0;  ///< of the delay policies
  std::int64_t per_update = 1;
};

class Versions {
 public:
  Versions(const Schedule& schedule, const Program& program)
      : schedule_(schedule),
        program_(program),
        forward_(static_cast<std::size_t>(schedule.num_stages * schedule.num_microbatches), 0) {
    for (std::int32_t stage = 0; stage < schedule.num_stages; ++stage) {
      Rule rule{schedule.policy_of(StageId{stage}), 0, schedule.per_update(StageId{stage})};
      if (rule.policy == WeightPolicy::kDelay) rule.delay = schedule.weights.delay;
      if (rule.policy == WeightPolicy::kDoubleBuffer) rule.delay = 1;
      rules_.push_back(rule);
    }
  }

  WeightVersions compute() {
    read_latest();
    apply_policies();
    keep();
    return std::move(result_);
  }

 private:
  std::int32_t& forward(const Action& action) {
    return forward_[index(action.stage) * static_cast<std::size_t>(schedule_.num_microbatches) +
                    index(action.microbatch)];
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
      for (std::int32_t i = 0; i <= action.merged; ++i) forward(nth(action, i)) = latest;
    }
  }

  static Action nth(Action action, std::int32_t i) {
    action.microbatch = MicrobatchId{static_cast<std::int32_t>(action.microbatch) + i};
    return action;
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
    const Rule& rule = rules_[index(action.stage)];
    switch (rule.policy) {
      case WeightPolicy::kStash:
        return action.op == Op::kF ? latest : forward(action);
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

  /// The version that stage 0 read; where stages update at their own pace, the one made of the same microbatches.
  std::int32_t vertical(Action action, const Rule& rule) {
    action.stage = StageId{0};
    return static_cast<std::int32_t>(forward(action) * rules_[0].per_update / rule.per_update);
  }

  [[noreturn]] void throw_missing(const Action& action, std::int32_t wanted, std::int32_t latest) const {
    std::string message = "schedule '" + schedule_.name + "': " + to_string(action) + " reads version " +
                          std::to_string(wanted) + ", but only version " + std::to_string(latest) + " exists there";
    if (const auto delay = smallest_delay()) message += "; the smallest legal delay is " + std::to_string(*delay);
    throw Error(message);
  }

  /// Largest lag of any reader of a stage with a delay policy.
  std::optional<std::int64_t> smallest_delay() const {
    std::vector<std::int32_t> updates(program_.holders.size(), 0);
    std::optional<std::int64_t> smallest;
    for (InstrIndex at = 0; at < program_.size(); ++at) {
      const Action& action = program_.instrs[at].action;
      std::int32_t& latest = updates[program_.rows[program_.instrs[at].row].holder];
      if (action.op == Op::kU) ++latest;
      const Rule& rule = rules_[index(action.stage)];
      if (!reads_weights(action.op) || !delays(rule.policy)) continue;
      const std::int64_t lag = static_cast<std::int64_t>(action.microbatch) / rule.per_update - latest;
      smallest = std::max(smallest.value_or(0), lag);
    }
    return smallest;
  }

  /// An old version lives from the update that replaces it to the end of its last reader.
  void keep() {
    std::vector<std::vector<KeptVersion>> by_holder(program_.holders.size());
    for (InstrIndex at = 0; at < program_.size(); ++at) {
      const std::uint32_t holder = program_.rows[program_.instrs[at].row].holder;
      std::vector<KeptVersion>& replaced = by_holder[holder];
      if (program_.instrs[at].action.op == Op::kU) {
        replaced.push_back({holder, static_cast<std::int32_t>(replaced.size()), at, at});
        continue;
      }
      const std::int32_t read = result_.read[at];
      if (read >= 0 && static_cast<std::size_t>(read) < replaced.size()) {
        replaced[static_cast<std::size_t>(read)].last_reader = at;
      }
    }
    for (const auto& versions : by_holder) {
      for (const KeptVersion& version : versions) {
        if (version.last_reader != version.replaced_by) result_.kept.push_back(version);
      }
    }
  }

  const Schedule& schedule_;
  const Program& program_;
  std::vector<Rule> rules_;
  std::vector<std::int32_t> forward_;  ///< by stage and microbatch: the version its F reads
  WeightVersions result_;
};

}  // namespace

WeightVersions weight_versions(const Schedule& schedule, const Program& program) {
  return Versions(schedule, program).compute();
}

}  // namespace plumb
