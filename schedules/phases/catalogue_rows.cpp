#include <algorithm>
#include <deque>
#include <string>

#include "models/ground/error.hpp"
#include "schedules/catalogue/generate_as.hpp"
#include "schedules/catalogue/post_validation.hpp"
#include "schedules/catalogue/recompute_option.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/catalogue/slice_lengths.hpp"
#include "schedules/document/weights.hpp"
#include "schedules/phases/phase_rules.hpp"
#include "schedules/phases/written_schedules.hpp"

namespace plumb {

namespace {

const std::deque<CatalogueRules>& all_catalogue_rules() {
  static const std::deque<CatalogueRules> all(written_schedules().begin(), written_schedules().end());
  return all;
}

NamedOption named_option_of(const PhaseOption& option) {
  NamedOption row;
  row.name = option.name;
  row.meaning = option.meaning;
  if (option.words.empty()) {
    row.values = count_form(option.form, static_cast<double>(option.least));
  } else {
    for (const std::string& word : option.words) row.values.forms.at(row.values.size++) = word.c_str();
  }
  const bool number = option.told.find_first_not_of("0123456789") == std::string::npos;
  row.otherwise = number ? OptionDefault(std::stoi(option.told)) : OptionDefault(option.told.c_str());
  return row;
}

/// The first policy that the rules name.
std::string_view weights_of(const PhaseRules& rules) {
  if (rules.weights.empty()) return kWeightPolicyNames.front();
  const std::string_view text = rules.weights.front().text;
  return text.substr(0, text.find(' '));
}

std::string_view placement_of(const PhaseRules& rules) {
  return rules.card.placement.empty() ? "linear" : std::string_view(rules.card.placement);
}

const NamedOption& offered_option(const PhaseRules& rules, const PhaseOffer& offer) {
  if (offer.name == kValidationOption.name) return kValidationOption;
  if (offer.name == kRecomputeOption.name) return rules.only_backward ? kBackwardRecomputeOption : kRecomputeOption;
  throw Error(rules.card.name + ": offers '" + offer.name + "', expected recompute or validation");
}

ScheduleSpec row_of(const CatalogueRules& read) {
  const PhaseRules& rules = read.said_once;
  ScheduleSpec row;
  row.name = rules.card.name;
  row.summary = rules.card.summary;
  row.year = rules.card.year;
  row.source = rules.card.source;
  row.needs = rules.card.needs;
  row.weights = weights_of(rules);
  row.synchronous = row.weights == kWeightPolicyNames.front();
  row.inference = rules.forward_only;
  row.placement = placement_of(rules);
  row.alias_of = rules.same_as.text;
  row.copies = rules.card.copies;
  row.rules = &read;
  row.rules_text = read.written.text;
  for (const PhaseOption& option : rules.options) row.options.push_back(named_option_of(option));
  for (auto offer = rules.offers.rbegin(); offer != rules.offers.rend(); ++offer) {
    row.options.insert(row.options.begin() + static_cast<std::ptrdiff_t>(offer->behind), offered_option(rules, *offer));
  }
  if (rules.slices_vary) {
    const std::vector<NamedOption> of_slices = slice_options(std::stoi(rules.slices.expression.text()));
    row.options.insert(row.options.begin(), of_slices.begin(), of_slices.end());
  }
  return row;
}

/// The row of rules before which a generator stands: it has options of its own, or others of the same name.
ScheduleSpec joined_row(const CatalogueRules& read, const ScheduleSpec& generator) {
  ScheduleSpec row = row_of(read);
  row.make = generator.make;
  std::erase_if(row.options, [&](const NamedOption& one) { return generator.has_option(one.name); });
  row.options.insert(row.options.end(), generator.options.begin(), generator.options.end());
  return row;
}

/// The rows of a group.
class GroupRows {
 public:
  explicit GroupRows(std::span<const ScheduleSpec> generators) : rows_(generators.begin(), generators.end()) {}

  std::vector<ScheduleSpec> with(std::string_view group) {
    std::vector<const CatalogueRules*> left;
    for (const CatalogueRules& one : all_catalogue_rules()) {
      if (one.written.group == group) left.push_back(&one);
    }
    for (const CatalogueRules* one : left) take_generator(one->said_once.card.name);
    while (!left.empty()) {
      if (std::erase_if(left, [&](const CatalogueRules* one) { return put(*one); }) > 0) continue;
      const PhaseCard& card = left.front()->said_once.card;
      throw Error(card.name + ": after " + card.after + ", expected a schedule of the same group");
    }
    return std::move(rows_);
  }

 private:
  void take_generator(std::string_view name) {
    const auto found = std::ranges::find(rows_, name, &ScheduleSpec::name);
    if (found == rows_.end()) return;
    before_rules_.push_back(std::move(*found));
    rows_.erase(found);
  }

  /// Puts the row behind that which it names; false where that is not there yet.
  bool put(const CatalogueRules& read) {
    const std::string& after = read.said_once.card.after;
    const auto before = std::ranges::find(rows_, after, &ScheduleSpec::name);
    const bool first = after == "nothing";
    if (!after.empty() && !first && before == rows_.end()) return false;
    const auto generator = std::ranges::find(before_rules_, read.said_once.card.name, &ScheduleSpec::name);
    ScheduleSpec row = generator == before_rules_.end() ? row_of(read) : joined_row(read, *generator);
    rows_.insert(first ? rows_.begin() : after.empty() ? rows_.end() : before + 1, std::move(row));
    return true;
  }

  std::vector<ScheduleSpec> rows_;
  std::vector<ScheduleSpec> before_rules_;
};

}  // namespace

std::vector<ScheduleSpec> with_rules(std::string_view group, std::span<const ScheduleSpec> generators) {
  return GroupRows(generators).with(group);
}

Schedule generate_by_rules(const ScheduleSpec& spec, const ScheduleParams& params) {
  return schedule_from_rules(spec.rules->whole(), spec.name, params, {});
}

}  // namespace plumb
