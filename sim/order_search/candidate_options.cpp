#include "sim/order_search/candidate_options.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace plumb {
namespace {

constexpr std::int64_t kAllNumbersUpTo = 64;
constexpr std::int64_t kMostParts = 256;  ///< smallest larger number: so many parts of the microbatches

/// A norm of all gradients, several devices for a stage, more copies of the model (whose weights abstract costs do not
/// count), microbatches of other lengths; branch and bound.
constexpr std::array<std::string_view, 5> kOtherQuestions{"validation", "replicas", "pipelines", "sizes", "proof"};

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

}  // namespace plumb
