#include "tools/ask/next_command.hpp"

#include <algorithm>

#include "tools/terminal/words.hpp"

namespace plumb {

bool is_given(const GivenOptions& given, std::string_view name) {
  return std::ranges::any_of(given, [&](const auto& option) { return option.first == name; });
}

std::string all_options(const GivenOptions& given) {
  std::string text;
  for (const auto& [name, words] : given) text += " " + words;
  return text;
}

std::string kept_options(const GivenOptions& given, const std::vector<std::string_view>& names) {
  std::string text;
  for (const auto& [name, words] : given) {
    if (std::ranges::find(names, name) != names.end()) text += " " + words;
  }
  return text;
}

std::string shell_words(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += " " + shell_word(word);
  return text;
}

}  // namespace plumb
