#include "sim/order_search/catalogue_candidates.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include "models/ground/error.hpp"
#include "schedules/catalogue/registry.hpp"

namespace plumb {
namespace {

constexpr std::int64_t kAllNumbersUpTo = 64;
constexpr std::int64_t kMostParts = 256;  ///< smallest larger number: so many parts of the microbatches

/// A norm of all gradients, several devices for a stage, more copies of the model (whose weights abstract costs do not
/// count), microbatches of other lengths; branch and bound.
constexpr std::array<std::string_view, 5> kOtherQuestions{"validation", "replicas", "pipelines", "sizes", "proof"};

constexpr std::int64_t kMostPassesOfVariants = 1'000'000;  ///< of a schedule with so many chunks
constexpr std::int64_t kMostUnfolded = 4'194'304;          ///< stages times microbatches of lists without loops
constexpr std::size_t kMostCombinations = 2'000;

using OptionWords = std::map<std::string, std::string>;

bool is_candidate(const ScheduleSpec& spec) {
  return spec.searched && spec.synchronous && !spec.inference && spec.alias_of.empty() &&
         spec.placement != "replicated" && spec.placement != "data-parallel" && spec.placement != "copies" &&
         spec.placement != "divided";
}

/// Whether stashes are moved to other memories.
bool has_moves(const Schedule& schedule) {
  return std::ranges::any_of(schedule.devices, [](const DeviceList& list) {
    return std::ranges::any_of(list.actions, [](const Action& action) { return is_move(action.op); });
  });
}

bool is_plain(const Schedule& schedule) {
  return !has_moves(schedule) && !schedule.policy && !schedule.slices && schedule.microbatch_sizes.empty() &&
         schedule.extras.empty() && !schedule.vocabulary;
}

/// The variants of one schedule with one number of chunks.
class VariantMaker {
 public:
  VariantMaker(const ScheduleSpec& spec, const ScheduleParams& params,
               const std::function<void(CatalogueCandidate)>& use)
      : spec_(spec), params_(params), use_(use) {
    base_ = std::string(spec.name);
    if (params.chunks > 0) base_ += " v=" + std::to_string(params.chunks);
  }

  /// All variants, with searched schedules within the memory limit of the parameters.
  void make() {
    if (!add({})) return;
    std::vector<std::pair<std::string, std::vector<std::string>>> choices;
    std::size_t combinations = 1;
    for (const NamedOption& option : spec_.options) {
      const std::string key(option.name);
      std::vector<std::string> possible{""};  // not given
      for (const std::string& value : tried_values(option, params_.num_devices, params_.num_microbatches)) {
        if (add({{key, value}})) possible.push_back(value);
      }
      combinations *= std::min(possible.size(), kMostCombinations);
      choices.emplace_back(key, std::move(possible));
    }
    if (combinations > kMostCombinations) return;
    for (std::size_t number = 0; number < combinations; ++number) {
      OptionWords options;
      std::size_t left = number;
      for (const auto& [key, possible] : choices) {
        const std::string& value = possible[left % possible.size()];
        left /= possible.size();
        if (!value.empty()) options[key] = value;
      }
      if (options.size() > 1) add(options);
    }
  }

 private:
  /// Whether such a variant exists; it is used if no other one has the same orders.
  bool add(const OptionWords& options) {
    if (passes_ > kMostPassesOfVariants) return false;
    params_.options = options;
    CatalogueCandidate made{.base = base_, .name = base_, .schedule = {}};
    try {
      made.schedule = generate(spec_.name, params_);
    } catch (const Error&) {  // not of this size, or not within this memory
      return false;
    }
    if (!is_plain(made.schedule)) return false;
    for (const DeviceList& list : made.schedule.devices) passes_ += expanded_size(list);
    const bool known = std::ranges::any_of(known_, [&](const Schedule& one) {
      return one.devices == made.schedule.devices && one.placement == made.schedule.placement &&
             one.recompute == made.schedule.recompute;
    });
    if (known) return true;
    known_.push_back(made.schedule);
    for (const auto& [key, value] : options) made.name += " " + key + "=" + value;
    use_(std::move(made));
    return true;
  }

  const ScheduleSpec& spec_;
  ScheduleParams params_;
  const std::function<void(CatalogueCandidate)>& use_;
  std::string base_;
  std::vector<Schedule> known_;
  std::int64_t passes_ = 0;
};

}  // namespace

std::vector<std::string> tried_values(const NamedOption& option, std::int64_t devices, std::int64_t microbatches) {
  const std::int64_t all_up_to = std::max(kAllNumbersUpTo, 2 * devices);
  std::vector<std::string> tried;
  if (std::ranges::find(kOtherQuestions, option.name) != kOtherQuestions.end()) return tried;
  const std::string usual = default_text(option);
  for (const OptionForm& form : option.values) {
    if (form.kind == OptionForm::Kind::kWord && form.text != usual) tried.emplace_back(form.text);
    if (form.kind != OptionForm::Kind::kCount) continue;
    for (std::int64_t number = 1; number <= std::min(microbatches, all_up_to); ++number) {
      if (std::to_string(number) != usual) tried.push_back(std::to_string(number));
    }
    for (std::int64_t parts = std::min(microbatches / all_up_to, kMostParts); parts > 0; --parts) {
      const std::int64_t number = microbatches / parts;
      if (microbatches % parts == 0 && number > all_up_to) tried.push_back(std::to_string(number));
    }
  }
  return tried;
}

void each_catalogue_candidate(const ScheduleParams& params, const std::vector<std::int32_t>& chunks,
                              const std::function<void(CatalogueCandidate)>& use) {
  constexpr std::int32_t kOwnNumber = 0;
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    if (!is_candidate(spec)) continue;
    const bool over_chunks = spec.placement == "looped" || spec.placement == "zigzag";
    for (const std::int32_t each : over_chunks ? chunks : std::vector<std::int32_t>{kOwnNumber}) {
      const std::int64_t stages = std::int64_t{params.num_devices} * std::max(1, each);
      if (!spec.folds && params.num_microbatches > kMostUnfolded / stages) continue;
      ScheduleParams asked = params;
      asked.chunks = each;
      VariantMaker variants(spec, asked, use);
      variants.make();
    }
  }
}

}  // namespace plumb
