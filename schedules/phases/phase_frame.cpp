#include "schedules/phases/phase_frame.hpp"

#include <algorithm>
#include <utility>

#include "models/ground/error.hpp"
#include "schedules/catalogue/generator.hpp"
#include "schedules/catalogue/v_placement.hpp"
#include "schedules/document/methods.hpp"

namespace plumb {
namespace {

constexpr std::int64_t kMostCopiesOfModel = 1024;
constexpr std::int64_t kMostSlicesOfRules = 32767;
constexpr std::int64_t kMostPlaces = 1 << 20;

std::int64_t value_within(const PlacedText& text, const WholeNames& names, std::int64_t least, std::int64_t most) {
  const std::int64_t value = whole_value(text.text, names, text.where);
  if (value >= least && value <= most) return value;
  throw Error(text.where + ": " + text.text + " is " + std::to_string(value) + ", expected " + std::to_string(least) +
              " to " + std::to_string(most));
}

class FrameReader {
 public:
  FrameReader(const PhaseRules& rules, std::string_view file, const ScheduleParams& params)
      : rules_(rules), file_(file), params_(params) {}

  PhaseFrame read() {
    frame_.devices = params_.num_devices;
    if (rules_.chunks > 0 && params_.chunks > 0 && rules_.chunks != params_.chunks) {
      throw Error(file_ + ": has " + std::to_string(rules_.chunks) + " chunks per device, found " +
                  std::to_string(params_.chunks) + " asked for");
    }
    frame_.chunks = rules_.chunks > 0 ? rules_.chunks : std::max(1, params_.chunks);
    frame_.forward_only = rules_.forward_only;
    frame_.names = {{"p", params_.num_devices}, {"m", params_.num_microbatches}, {"v", frame_.chunks}};
    read_options();
    read_updates();
    if (rules_.slices) frame_.slices = value_within(rules_.slices, frame_.names, 1, kMostSlicesOfRules);
    if (rules_.copies)
      frame_.copies = static_cast<std::int32_t>(value_within(rules_.copies, frame_.names, 1, kMostCopiesOfModel));
    read_stages();
    read_shares();
    return std::move(frame_);
  }

 private:
  void read_options() {
    for (const auto& given : params_.options) {
      const std::string& name = given.first;
      const bool known = std::ranges::any_of(rules_.options, [&](const PhaseOption& one) { return one.name == name; });
      if (known) continue;
      std::string all;
      for (const PhaseOption& one : rules_.options) all += (all.empty() ? "" : ", ") + one.name;
      throw Error(file_ + ": option '" + name + "', expected " +
                  (all.empty() ? "no --opt, because these rules have no options" : "one of " + all));
    }
    for (const PhaseOption& option : rules_.options) {
      if (frame_.names.contains(option.name)) {
        throw Error(option.otherwise.where + ": '" + option.name + "' is taken, expected another name of an option");
      }
      const std::int64_t otherwise = whole_value(option.otherwise.text, frame_.names, option.otherwise.where);
      frame_.names[option.name] = whole_number(file_, params_, option.name, otherwise);
    }
  }

  void read_updates() {
    frame_.whole = static_cast<bool>(rules_.updates);
    if (params_.updates > 0) {
      frame_.updates = params_.updates;
    } else if (frame_.whole) {
      frame_.updates = value_within(rules_.updates, frame_.names, 1, kMostMicrobatches / params_.num_microbatches);
    }
    frame_.names["u"] = frame_.updates;
  }

  void read_stages() {
    const std::int64_t p = frame_.devices;
    if (p * frame_.chunks * frame_.copies > kMostPlaces) {
      throw Error(file_ + ": " + std::to_string(p * frame_.chunks) + " stages of " + std::to_string(frame_.copies) +
                  " copies, expected at most " + std::to_string(kMostPlaces) + " in all");
    }
    WholeNames names = frame_.names;
    for (std::int32_t r = 0; r < frame_.copies; ++r) {
      for (std::int32_t c = 0; c < frame_.chunks; ++c) {
        for (std::int32_t d = 0; d < frame_.devices; ++d) {
          names["r"] = r;
          names["c"] = c;
          names["d"] = d;
          const std::int64_t looped =
              rules_.in_v ? static_cast<std::int64_t>(v_stage(frame_.devices, c, d)) : c * p + d;
          const std::int64_t stage =
              rules_.stage ? value_within(rules_.stage, names, -1, p * frame_.chunks - 1) : looped;
          frame_.stages.push_back(static_cast<std::int32_t>(stage));
        }
      }
    }
  }

  void read_shares() {
    const std::int64_t all = params_.num_microbatches * (frame_.whole ? frame_.updates : 1);
    WholeNames names = frame_.names;
    std::int64_t sum = 0;
    for (std::int32_t r = 0; r < frame_.copies; ++r) {
      names["r"] = r;
      if (!rules_.share && frame_.copies > 1) {
        throw Error(rules_.copies.where +
                    ": which copy takes which microbatches is missing, expected share COUNT: ITEM");
      }
      const std::int64_t real = rules_.share ? value_within(rules_.share, names, 0, all) : all;
      frame_.real.push_back(real);
      frame_.written.push_back(rules_.padded ? value_within(rules_.padded, names, real, kMostMicrobatches) : real);
      sum += real;
    }
    if (sum != all) {
      throw Error(rules_.share.where + ": copies take " + std::to_string(sum) + " microbatches, expected " +
                  std::to_string(all));
    }
    frame_.item = rules_.share_item;
  }

  const PhaseRules& rules_;
  std::string file_;
  const ScheduleParams& params_;
  PhaseFrame frame_;
};

void place_stages(const PhaseRules& rules, const PhaseFrame& frame, Schedule& schedule) {
  schedule.num_stages = 1 + *std::ranges::max_element(frame.stages);
  schedule.placement.assign(static_cast<std::size_t>(frame.copies), {});
  for (std::int32_t r = 0; r < frame.copies; ++r) {
    auto& placement = schedule.placement[static_cast<std::size_t>(r)];
    placement.resize(static_cast<std::size_t>(schedule.num_stages));
    for (std::int32_t c = 0; c < frame.chunks; ++c) {
      for (std::int32_t d = 0; d < frame.devices; ++d) {
        const std::int32_t stage = frame.stage(r, c, d);
        if (stage >= 0) placement[static_cast<std::size_t>(stage)].push_back(DeviceId{d});
      }
    }
    for (std::size_t stage = 0; stage < placement.size(); ++stage) {
      if (placement[stage].size() == 1) continue;
      throw Error(rules.stage.where + ": stage " + std::to_string(stage) + " of copy " + std::to_string(r) + " is on " +
                  std::to_string(placement[stage].size()) + " devices, expected one");
    }
  }
}

WeightPolicy policy_named(std::string_view name, const std::string& where) {
  const auto found = std::ranges::find(kWeightPolicyNames, name);
  if (found != kWeightPolicyNames.end()) return static_cast<WeightPolicy>(found - kWeightPolicyNames.begin());
  std::string all;
  for (const std::string_view one : kWeightPolicyNames) all += (all.empty() ? "" : ", ") + std::string(one);
  throw Error(where + ": weights '" + std::string(name) + "', expected one of " + all);
}

/// One policy, or one for each chunk.
void set_policies(const PlacedText& text, const PhaseFrame& frame, Schedule& schedule) {
  std::vector<WeightPolicy> policies;
  std::string_view rest = text.text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    if (end > 0) policies.push_back(policy_named(rest.substr(0, end), text.where));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  schedule.weights.policy = policies.front();
  if (policies.size() == 1) return;
  if (policies.size() != static_cast<std::size_t>(frame.chunks)) {
    throw Error(text.where + ": " + std::to_string(policies.size()) + " policies, expected one or " +
                std::to_string(frame.chunks) + ", one for each chunk");
  }
  schedule.weights.per_stage.resize(static_cast<std::size_t>(schedule.num_stages));
  for (std::int32_t c = 0; c < frame.chunks; ++c) {
    for (std::int32_t d = 0; d < frame.devices; ++d) {
      const std::int32_t stage = frame.stage(0, c, d);
      if (stage < 0) continue;
      schedule.weights.per_stage[static_cast<std::size_t>(stage)] = policies[static_cast<std::size_t>(c)];
    }
  }
}

}  // namespace

PhaseFrame phase_frame(const PhaseRules& rules, std::string_view file_name, const ScheduleParams& params) {
  return FrameReader(rules, file_name, params).read();
}

Schedule framed_schedule(const PhaseRules& rules, const PhaseFrame& frame, std::string_view name,
                         const ScheduleParams& params) {
  Schedule schedule = looped_schedule(name, params, frame.chunks, frame.updates);
  for (const PhaseOption& option : rules.options) {
    if (params.options.contains(option.name)) schedule.parameters[option.name] = frame.names.at(option.name);
  }
  place_stages(rules, frame, schedule);
  schedule.forward_only = rules.forward_only;
  if (frame.slices > 1) {
    schedule.slices = Slices{rules.axis, {std::vector<std::int64_t>(static_cast<std::size_t>(frame.slices), 1)}};
  }
  if (rules.weights) set_policies(rules.weights, frame, schedule);
  if (rules.recompute_first) {
    Recompute rule;
    rule.first_stage =
        static_cast<std::int32_t>(value_within(rules.recompute_first, frame.names, 0, schedule.num_stages - 1));
    rule.last_stage = static_cast<std::int32_t>(
        value_within(rules.recompute_last, frame.names, rule.first_stage, schedule.num_stages - 1));
    schedule.recompute = {rule};
  }
  return rules.methods ? with_methods(std::move(schedule), rules.methods.text) : schedule;
}

}  // namespace plumb
