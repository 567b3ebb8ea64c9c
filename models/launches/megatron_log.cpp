#include "models/launches/megatron_log.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace plumb {
namespace {

constexpr std::string_view kDots = " ..";
constexpr std::size_t kLeastLines = 3;  ///< fewest lines of a block

/// Name and value of "  name ........ value", whatever stands before the name ("0: ", a time).
std::optional<std::pair<std::string, std::string>> argument_of(std::string_view line) {
  const std::size_t dots = line.find(kDots);
  if (dots == std::string_view::npos || dots == 0) return std::nullopt;
  const std::size_t begin = line.rfind(' ', dots - 1) + 1;
  const std::size_t end = line.find_first_not_of('.', dots + 1);
  if (end == std::string_view::npos || line[end] != ' ') return std::nullopt;
  std::string_view value = line.substr(end + 1);
  while (!value.empty() && (value.back() == '\r' || value.back() == ' ')) value.remove_suffix(1);
  return std::pair(setting_name(line.substr(begin, dots - begin)), std::string(value));
}

template <class Visit>
void each_line(std::string_view text, Visit visit) {
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    visit(line, text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace

bool is_megatron_log(std::string_view text) {
  std::size_t found = 0;
  each_line(text, [&](std::size_t, std::string_view line) {
    const auto argument = argument_of(line);
    if (argument && (argument->first.ends_with("_size") || argument->first.starts_with("num_"))) ++found;
  });
  return found >= kLeastLines;
}

Settings settings_of_megatron_log(std::string_view text, const std::string& name) {
  Settings settings(name);
  each_line(text, [&](std::size_t line, std::string_view words) {
    if (auto argument = argument_of(words)) {
      settings.set(argument->first, {{std::move(argument->second)}, name + ":" + std::to_string(line)});
    }
  });
  return settings;
}

}  // namespace plumb
