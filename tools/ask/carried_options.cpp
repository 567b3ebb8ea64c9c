#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "tools/ask/next_command.hpp"
#include "tools/ask/simulate_question.hpp"
#include "tools/ask/sweep_question.hpp"
#include "tools/options/option_table.hpp"

namespace plumb {
namespace {

/// The options of `Question`'s command that a question needs, without its files.
template <class Question>
std::string carried_to(const GivenOptions& given, const std::vector<std::string_view>& left_out) {
  Question question;
  OptionTable table(Question::kUsage, "");
  question.add_to(table);
  std::vector<std::string_view> names;
  for (const auto& [name, words] : given) {
    const bool is_out = std::ranges::find(left_out, name) != left_out.end();
    if (!is_out && table.find(name) != nullptr) names.push_back(name);
  }
  return kept_options(given, names);
}

}  // namespace

std::string carried_to_simulate(const GivenOptions& given, const std::vector<std::string_view>& left_out) {
  return carried_to<SimulateQuestion>(given, left_out);
}

std::string carried_to_sweep(const GivenOptions& given, const std::vector<std::string_view>& left_out) {
  return carried_to<SweepQuestion>(given, left_out);
}

}  // namespace plumb
