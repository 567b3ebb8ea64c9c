#include "schedules/phases/phase_frame.hpp"

#include <algorithm>
#include <utility>

#include "models/ground/error.hpp"
#include "schedules/catalogue/generator.hpp"
#include "schedules/catalogue/slice_lengths.hpp"
#include "schedules/catalogue/v_placement.hpp"
#include "schedules/document/methods.hpp"

namespace plumb {
namespace {

constexpr std::int64_t kMostCopiesOfModel = 1024;
constexpr std::int64_t kMostSlicesOfRules = 32767;
constexpr std::int64_t kMostPlaces = 1 << 20;
constexpr std::int64_t kMostWantedUpdates = 1'000'000'000'000;

std::int64_t value_of(const PlacedExpression& placed, const WholeNames& names) {
  return placed.expression.value(names, placed.where);
}

std::int64_t value_within(const PlacedExpression& placed, const WholeNames& names, std::int64_t least,
                          std::int64_t most) {
  const std::int64_t value = value_of(placed, names);
  if (value >= least && value <= most) return value;
  throw Error(placed.where + ": " + placed.expression.text() + " is " + std::to_string(value) + ", expected " +
              std::to_string(least) + " to " + std::to_string(most));
}

/// A part of a text that is an expression.
std::int64_t part_within(const PlacedText& said, std::string_view part, const WholeNames& names, std::int64_t least,
                         std::int64_t most) {
  NameTable table = names.table();
  return value_within({said.where, WholeExpression(part, table)}, names, least, most);
}

class FrameReader {
 public:
  FrameReader(const PhaseRules& rules, std::string_view file, const ScheduleParams& params)
      : rules_(rules), file_(file), params_(params) {}

  PhaseFrame read() {
    frame_.devices = params_.num_devices;
    check_chunks(rules_, file_, params_);
    frame_.chunks = params_.chunks > 0 ? params_.chunks : std::max(1, rules_.chunks);
    frame_.forward_only = rules_.forward_only;
    frame_.names = WholeNames(rules_.names);
    set(RuleName::kP, params_.num_devices);
    set(RuleName::kM, params_.num_microbatches);
    set(RuleName::kV, frame_.chunks);
    read_options();
    read_slices();
    check_needs(rules_, file_, frame_.names);
    read_updates();
    if (rules_.copies)
      frame_.copies = static_cast<std::int32_t>(value_within(rules_.copies, frame_.names, 1, kMostCopiesOfModel));
    read_stages();
    read_shares();
    return std::move(frame_);
  }

 private:
  void set(RuleName name, std::int64_t value) { frame_.names.set(index(name), value); }

  void read_options() {
    for (const auto& given : params_.options) {
      const std::string& name = given.first;
      const bool known = std::ranges::any_of(rules_.options, [&](const PhaseOption& one) { return one.name == name; });
      if (known || offers_option(rules_, name)) continue;
      const std::vector<NamedOption> of_slices = slice_options(1);
      if (rules_.slices_vary && find_option(of_slices, name) != nullptr) continue;
      std::string all;
      for (const PhaseOption& one : rules_.options) all += (all.empty() ? "" : ", ") + one.name;
      for (const PhaseOffer& one : rules_.offers) all += (all.empty() ? "" : ", ") + one.name;
      throw Error(file_ + ": option '" + name + "', expected " +
                  (all.empty() ? "no --opt, because these rules have no options" : "one of " + all));
    }
    for (const PhaseOption& option : rules_.options) {
      if (frame_.names.find(option.number) != nullptr) {
        throw Error(option.otherwise.where + ": '" + option.name + "' is taken, expected another name of an option");
      }
      if (!option.words.empty()) {
        set_word(option);
        continue;
      }
      const std::int64_t otherwise = value_of(option.otherwise, frame_.names);
      frame_.names.set(option.number, whole_number(file_, params_, option.name, otherwise, option.least));
    }
  }

  [[noreturn]] void refuse_word(const PhaseOption& option, const std::string& found) const {
    std::string expected;
    for (const std::string& word : option.words) expected += (expected.empty() ? "" : " or ") + word;
    throw Error(file_ + ": option " + option.name + ": expected " + expected + ", found '" + found + "'");
  }

  void set_word(const PhaseOption& option) {
    const auto given = params_.options.find(option.name);
    const auto chosen =
        given == params_.options.end() ? option.words.begin() : std::ranges::find(option.words, given->second);
    if (chosen == option.words.end()) refuse_word(option, given->second);
    frame_.names.set(option.number, chosen - option.words.begin());
    for (std::size_t word = 0; word < option.words.size(); ++word) {
      frame_.names.set(option.chosen[word], option.words[word] == *chosen ? 1 : 0);
    }
  }

  void read_slices() {
    if (!rules_.slices) return;
    frame_.slices = value_within(rules_.slices, frame_.names, 1, kMostSlicesOfRules);
    if (rules_.slices_vary) {
      frame_.lengths = slice_lengths(file_, params_, frame_.slices);
      frame_.slices = std::ssize(frame_.lengths);
      set(RuleName::kSlices, frame_.slices);
    }
    frame_.sliced =
        frame_.slices > 1 || std::ranges::find(rules_.records, "slices", &PhaseRecord::name) != rules_.records.end();
  }

  void read_updates() {
    frame_.whole = static_cast<bool>(rules_.updates);
    if (params_.updates > 0) {
      frame_.updates = params_.updates;
    } else if (frame_.whole) {
      const std::int64_t wanted = value_within(rules_.updates, frame_.names, 1, kMostWantedUpdates);
      frame_.updates = std::clamp<std::int64_t>(kMostMicrobatches / params_.num_microbatches, 1, wanted);
    }
    set(RuleName::kU, frame_.updates);
    if (rules_.update_every)
      frame_.update_every = value_within(rules_.update_every, frame_.names, 1, kMostMicrobatches);
  }

  void read_stages() {
    const std::int64_t p = frame_.devices;
    if (p * frame_.chunks * frame_.copies > kMostPlaces) {
      throw Error(file_ + ": " + std::to_string(p * frame_.chunks) + " stages of " + std::to_string(frame_.copies) +
                  " copies, expected at most " + std::to_string(kMostPlaces) + " in all");
    }
    frame_.stages.reserve(static_cast<std::size_t>(p * frame_.chunks * frame_.copies));
    WholeNames names = frame_.names;
    for (std::int32_t r = 0; r < frame_.copies; ++r) {
      names.set(index(RuleName::kR), r);
      for (std::int32_t c = 0; c < frame_.chunks; ++c) {
        for (std::int32_t d = 0; d < frame_.devices; ++d) {
          if (!rules_.stage) {
            frame_.stages.push_back(rules_.in_v ? static_cast<std::int32_t>(v_stage(frame_.devices, c, d))
                                                : c * frame_.devices + d);
            continue;
          }
          names.set(index(RuleName::kC), c);
          names.set(index(RuleName::kD), d);
          frame_.stages.push_back(
              static_cast<std::int32_t>(value_within(rules_.stage, names, -1, p * frame_.chunks - 1)));
        }
      }
    }
  }

  void read_shares() {
    const std::int64_t all = params_.num_microbatches * (frame_.whole ? frame_.updates : 1);
    WholeNames names = frame_.names;
    std::int64_t sum = 0;
    for (std::int32_t r = 0; r < frame_.copies; ++r) {
      names.set(index(RuleName::kR), r);
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
    if (!frame_.item) return;
    names.set(index(RuleName::kI), 0);
    for (std::int32_t r = 0; r < frame_.copies; ++r) {
      names.set(index(RuleName::kR), r);
      const auto stride = frame_.item.expression.slope(names, frame_.item.where, index(RuleName::kI));
      frame_.stride = r == 0 || frame_.stride == stride ? stride : std::nullopt;
    }
    if (!frame_.stride) return;
    for (std::int32_t r = 0; r < frame_.copies; ++r) read_first(r, names);
  }

  /// Checks the last microbatch, too.
  void read_first(std::int32_t r, WholeNames& names) {
    const std::int64_t all = params_.num_microbatches * (frame_.whole ? frame_.updates : 1);
    names.set(index(RuleName::kR), r);
    for (const std::int64_t i : {std::int64_t{0}, frame_.real[static_cast<std::size_t>(r)] - 1}) {
      names.set(index(RuleName::kI), std::max<std::int64_t>(i, 0));
      const std::int64_t microbatch = value_of(frame_.item, names);
      if (frame_.first.size() == static_cast<std::size_t>(r)) frame_.first.push_back(microbatch);
      if (frame_.real[static_cast<std::size_t>(r)] == 0 || (microbatch >= 0 && microbatch < all)) continue;
      throw Error(frame_.item.where + ": " + frame_.item.expression.text() + " is " + std::to_string(microbatch) +
                  " for r " + std::to_string(r) + ", i " + std::to_string(i) + ", expected 0 to " +
                  std::to_string(all - 1));
    }
  }

  const PhaseRules& rules_;
  std::string file_;
  const ScheduleParams& params_;
  PhaseFrame frame_;
};

void place_stages(const PhaseRules& rules, const PhaseFrame& frame, Schedule& schedule) {
  schedule.num_stages = 1 + *std::ranges::max_element(frame.stages);
  if (!rules.stage && !rules.in_v && frame.copies == 1) return;  // as looped_schedule places them
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

/// One policy, or one for each chunk; "delay by N" with how many updates.
void set_policies(const PlacedText& said, const PhaseFrame& frame, Schedule& schedule) {
  const std::size_t by = said.text.find(" by ");
  if (by != std::string::npos) {
    const std::int64_t delay = part_within(said, said.text.substr(by + 4), frame.names, 1, kMostMicrobatches);
    schedule.weights.delay = static_cast<std::int32_t>(delay);
  }
  const std::string text = said.text.substr(0, by);
  std::vector<WeightPolicy> policies;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    if (end > 0) policies.push_back(policy_named(rest.substr(0, end), said.where));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  schedule.weights.policy = policies.front();
  if (policies.size() == 1) return;
  if (policies.size() != static_cast<std::size_t>(frame.chunks)) {
    throw Error(said.where + ": " + std::to_string(policies.size()) + " policies, expected one or " +
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

/// "FIRST..LAST", or "segments of N", of which only the first stage keeps its input.
std::vector<Recompute> recompute_of(const PlacedText& said, const PhaseFrame& frame, std::int32_t stages) {
  std::vector<Recompute> rules;
  constexpr std::string_view kSegments = "segments of ";
  if (said.text.starts_with(kSegments)) {
    const auto each =
        static_cast<std::int32_t>(part_within(said, said.text.substr(kSegments.size()), frame.names, 1, stages));
    for (std::int32_t first = 0; first < stages; first += each) {
      rules.push_back({.first_stage = first, .last_stage = std::min(first + each, stages) - 1, .segment = true});
    }
    return rules;
  }
  const std::size_t dots = said.text.find("..");
  if (dots == std::string::npos) throw Error(said.where + ": expected recompute FIRST..LAST or segments of N");
  const auto part = [&](const std::string& text, std::int32_t least) {
    return static_cast<std::int32_t>(part_within(said, text, frame.names, least, stages - 1));
  };
  Recompute rule;
  rule.first_stage = part(said.text.substr(0, dots), 0);
  rule.last_stage = part(said.text.substr(dots + 2), rule.first_stage);
  return {rule};
}

/// Options that are not what holds without them, and what is recorded in any case.
void record_parameters(const PhaseRules& rules, const PhaseFrame& frame, const ScheduleParams& params,
                       Schedule& schedule) {
  if (frame.update_every > 0) schedule.parameters["updates"] = frame.updates;
  if (rules.slices_vary && frame.sliced) schedule.parameters["slices"] = frame.slices;
  for (const PhaseOption& option : rules.options) {
    const auto record = std::ranges::find(rules.records, option.name, &PhaseRecord::name);
    const bool named = record != rules.records.end();
    if (named && record->never) continue;
    const auto given = params.options.find(option.name);
    if (!option.words.empty()) {
      const std::string& word = given == params.options.end() ? option.words.front() : given->second;
      if (named || word != option.words.front()) schedule.parameters[option.name] = word;
    } else {
      const std::int64_t value = *frame.names.find(option.number);
      const bool usual = given == params.options.end() || value == value_of(option.otherwise, frame.names);
      if (named || !usual) schedule.parameters[option.name] = value;
    }
  }
  for (const PhaseRecord& record : rules.records) {
    if (!record.text.empty()) schedule.parameters[record.name] = record.text;
  }
}

}  // namespace

PhaseFrame phase_frame(const PhaseRules& rules, std::string_view file_name, const ScheduleParams& params) {
  return FrameReader(rules, file_name, params).read();
}

const PlacedText* chosen_text(const PlacedTexts& texts, const WholeNames& names) {
  const PlacedText* chosen = nullptr;
  for (const PlacedText& one : texts) {
    if (one.only_if.empty() || one.only_if.value(names, one.where) != 0) chosen = &one;
  }
  return chosen;
}

std::string said_of_need(const PhaseStatement& need, std::string_view file_name, const WholeNames& names) {
  if (need.name.empty()) return need.where + ": needs " + need.value.text();
  std::string said(file_name);
  said += ": ";
  for (std::string_view rest = need.name; !rest.empty();) {
    const std::size_t open = std::min(rest.find('{'), rest.size());
    said += rest.substr(0, open);
    rest.remove_prefix(open);
    if (rest.empty()) break;
    const std::size_t close = std::min(rest.find('}'), rest.size());
    said += std::to_string(whole_value(rest.substr(1, close - 1), names, need.where));
    rest.remove_prefix(std::min(close + 1, rest.size()));
  }
  return said;
}

void check_needs(const PhaseRules& rules, std::string_view file_name, const WholeNames& names) {
  for (const PhaseStatement& need : rules.needs) {
    if (need.value.value(names, need.where) == 0) throw Error(said_of_need(need, file_name, names));
  }
}

void check_chunks(const PhaseRules& rules, std::string_view file_name, const ScheduleParams& params) {
  if (rules.chunks == 0 || rules.chunks_vary || params.chunks == 0 || rules.chunks == params.chunks) return;
  throw Error(std::string(file_name) + ": chunks per device (" + std::to_string(params.chunks) + ") must be " +
              std::to_string(rules.chunks) + (rules.chunks == 1 ? "; see 'interleaved'" : "") +
              (rules.chunks_remark.empty() ? "" : ", " + rules.chunks_remark));
}

Schedule framed_schedule(const PhaseRules& rules, PhaseFrame& frame, std::string_view name,
                         const ScheduleParams& params) {
  Schedule schedule = looped_schedule(name, params, frame.chunks, frame.updates);
  record_parameters(rules, frame, params, schedule);
  if (offers_option(rules, kRecomputeOption.name)) {
    frame.recompute = rules.only_backward ? recompute_choice(name, params, schedule, {"never", "always", "except-last"})
                                          : recompute_choice(name, params, schedule);
    if (rules.only_backward) frame.recompute = {};
  }
  place_stages(rules, frame, schedule);
  schedule.forward_only = rules.forward_only;
  if (frame.sliced) {
    const std::vector<std::int64_t> equal(static_cast<std::size_t>(frame.slices), 1);
    schedule.slices = Slices{rules.axis, {frame.lengths.empty() ? equal : frame.lengths}};
  }
  if (const PlacedText* said = chosen_text(rules.weights, frame.names)) set_policies(*said, frame, schedule);
  if (const PlacedText* said = chosen_text(rules.recompute, frame.names)) {
    schedule.recompute = recompute_of(*said, frame, schedule.num_stages);
  }
  if (rules.flushed) {
    const std::int64_t first = value_within(rules.flushed, frame.names, 0, kMostMicrobatches);
    if (first > 0) schedule.weights.phases = {{std::min(first, frame.updates), WeightPolicy::kFlush}};
  }
  const PlacedText* methods = chosen_text(rules.methods, frame.names);
  if (methods != nullptr) return with_methods(std::move(schedule), methods->text);
  return schedule;
}

}  // namespace plumb
