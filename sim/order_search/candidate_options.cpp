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

std::vector<std::string> alternatives(std::string_view values) {
  std::vector<std::string> words;
  while (!values.empty()) {
    const std::size_t end = std::min(values.find('|'), values.size());
    words.emplace_back(values.substr(0, end));
    values.remove_prefix(std::min(end + 1, values.size()));
  }
  return words;
}

}  // namespace

std::vector<std::string> tried_values(const ScheduleOption& option, std::int64_t devices, std::int64_t microbatches) {
  const std::int64_t all_up_to = std::max(kAllNumbersUpTo, 2 * devices);
  std::vector<std::string> tried;
  if (std::ranges::find(kOtherQuestions, option.name) != kOtherQuestions.end()) return tried;
  for (const std::string& word : alternatives(option.values)) {
    if (word.find_first_of(",.") != std::string::npos || (word.size() > 1 && word[1] == '-')) continue;  // "N-N-..."
    if (word.size() > 1) {
      if (word != option.default_value) tried.push_back(word);
      continue;
    }
    for (std::int64_t number = 1; number <= std::min(microbatches, all_up_to); ++number) {
      if (std::to_string(number) != option.default_value) tried.push_back(std::to_string(number));
    }
    for (std::int64_t parts = std::min(microbatches / all_up_to, kMostParts); parts > 0; --parts) {
      const std::int64_t number = microbatches / parts;
      if (microbatches % parts == 0 && number > all_up_to) tried.push_back(std::to_string(number));
    }
  }
  return tried;
}

}  // namespace plumb
