#include "models/launches/config_values.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "models/ground/error.hpp"
#include "models/ground/reader_limits.hpp"

namespace plumb {
namespace {

constexpr int kDeepestReference = 24;

/// Tables whose keys say nothing without them.
constexpr std::array<std::string_view, 10> kGeneralTables{
    "zero_optimization", "fp16",         "bf16", "optimizer", "scheduler", "activation_checkpointing", "tokenizer",
    "precision_config",  "rope_scaling", "optim"};

std::string_view trimmed_argument(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r\n";
  const std::size_t begin = std::min(text.find_first_not_of(kSpaces), text.size());
  const std::size_t end = text.find_last_not_of(kSpaces);
  return end == std::string_view::npos || end < begin ? std::string_view{} : text.substr(begin, end + 1 - begin);
}

std::string_view without_quotes(std::string_view text) {
  const bool quoted = text.size() > 1 && (text.front() == '\'' || text.front() == '"') && text.back() == text.front();
  return quoted ? text.substr(1, text.size() - 2) : text;
}

std::string unknown_value(std::string_view name) { return kUnknownBegin + std::string(name) + kUnknownEnd; }

/// Returns where the bracket closes that opens before `at`; npos: nowhere.
std::size_t closing_brace(std::string_view text, std::size_t at) {
  for (int open = 1; at < text.size(); ++at) {
    if (text[at] == '{') ++open;
    if (text[at] == '}' && --open == 0) return at;
  }
  return std::string_view::npos;
}

/// Takes `text` apart at commas outside of brackets and quotes.
std::vector<std::string_view> arguments_of(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  int open = 0;
  char quote = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char letter = text[at];
    if (quote != 0) {
      if (letter == quote) quote = 0;
    } else if (letter == '\'' || letter == '"') {
      quote = letter;
    } else if (letter == '{' || letter == '[' || letter == '(') {
      ++open;
    } else if (letter == '}' || letter == ']' || letter == ')') {
      --open;
    } else if (letter == ',' && open == 0) {
      parts.push_back(trimmed_argument(text.substr(begin, at - begin)));
      begin = at + 1;
    }
  }
  parts.push_back(trimmed_argument(text.substr(begin)));
  return parts;
}

bool is_environment_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char letter) {
    return (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9') || letter == '_';
  });
}

/// Returns the path of the table that `path` stands in.
std::string_view table_of(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? std::string_view{} : path.substr(0, dot);
}

bool is_null(const Setting& setting) {
  return setting.values.size() == 1 && setting_name(setting.values.front()) == "null";
}

/// Replaces references: "${model.width}", "${.width}", "${oc.env:NAME,4}", "${NAME:4}", "${multiply:4,${.width}}".
class ConfigReferences {
 public:
  ConfigReferences(const ConfigValues& values, ConfigVariables& variables) : values_(values), variables_(variables) {
    for (std::size_t k = 0; k < values.all().size(); ++k) {
      const ConfigValue& value = values.all()[k];
      paths_.emplace(value.path, k);
      const int rank = is_null(value.setting) ? 0 : value.table == "model" ? 2 : 1;
      const auto [best, is_new] = leaves_.emplace(value.leaf, std::pair(rank, k));
      if (!is_new && rank > best->second.first) best->second = {rank, k};
    }
  }

  /// A reference alone may be that of a list.
  std::vector<std::string> values_of(const ConfigValue& value, int depth = 0) {
    std::vector<std::string> result;
    for (const std::string& text : value.setting.values) {
      const bool alone = value.setting.values.size() == 1 && text.starts_with("${") && text.size() > 3 &&
                         closing_brace(text, 2) == text.size() - 1;
      const ConfigValue* other = alone ? found(std::string_view(text).substr(2, text.size() - 3), value.path) : nullptr;
      if (other != nullptr && other != &value && depth < kDeepestReference) {
        spend(0);
        return values_of(*other, depth + 1);
      }
      result.push_back(text_of(text, value, depth));
    }
    return result;
  }

  std::string text_of(const std::string& text, const ConfigValue& at, int depth) {
    std::string result;
    std::size_t begin = 0;
    while (begin < text.size()) {
      const std::size_t dollar = text.find("${", begin);
      const std::size_t end = dollar == std::string::npos ? dollar : closing_brace(text, dollar + 2);
      if (end == std::string::npos) break;
      result.append(text, begin, dollar - begin);
      result += reference(std::string_view(text).substr(dollar + 2, end - dollar - 2), at, depth + 1);
      begin = end + 1;
    }
    result.append(text, std::min(begin, text.size()));
    spend(result.size());
    return result;
  }

 private:
  /// References repeat values: together they are no longer than a whole configuration may be.
  void spend(std::size_t size) {
    if (++steps_ > 4 * kConfigValues.most) {
      throw Error(values_.source() + ": expected a configuration of fewer references");
    }
    bytes_ += size + 1;
    if (bytes_ <= kYamlText.most) return;
    throw Error(values_.source() + ": expected at most 4 MiB of values, with those that it repeats");
  }

  /// Returns the value that a path means: from the top, from the table of `from` (".width"), from the end of another
  /// path, or by its last key alone.
  const ConfigValue* found(std::string_view reference, std::string_view from) const {
    const std::size_t dots = std::min(reference.find_first_not_of('.'), reference.size());
    std::string path = setting_name(reference.substr(dots));
    for (std::size_t k = 0; k < dots; ++k) from = table_of(from);
    if (dots > 0 && !from.empty()) path = std::string(from) + "." + path;
    if (path.empty() || path.find_first_of("${}:, ") != std::string::npos) return nullptr;
    if (const auto exact = paths_.find(path); exact != paths_.end()) return &values_.all()[exact->second];
    const auto leaf = leaves_.find(path.substr(path.rfind('.') + 1));
    return leaf == leaves_.end() ? nullptr : &values_.all()[leaf->second.second];
  }

  std::string variable(std::string_view name, const std::optional<std::string>& otherwise) {
    variables_.asked.emplace(name);
    const auto given = variables_.given.find(std::string(name));
    if (given != variables_.given.end()) return given->second;
    return otherwise ? *otherwise : unknown_value(name);
  }

  std::string reference(std::string_view body, const ConfigValue& at, int depth) {
    spend(0);
    if (depth > kDeepestReference) return unknown_value(at.leaf);
    const std::size_t colon = std::min(body.find(':'), body.find("${"));
    const bool calls = colon != std::string_view::npos && body[colon] == ':';
    if (calls) return call(trimmed_argument(body.substr(0, colon)), body.substr(colon + 1), at, depth);
    const std::string path = text_of(std::string(trimmed_argument(body)), at, depth);
    const ConfigValue* other = found(path, at.path);
    if (other == nullptr || other == &at) return variable(path, std::nullopt);
    if (other->setting.values.size() != 1) return unknown_value(at.leaf);
    return text_of(other->setting.values.front(), *other, depth);
  }

  std::string call(std::string_view name, std::string_view rest, const ConfigValue& at, int depth) {
    if (is_environment_name(name)) return variable(name, text_of(std::string(rest), at, depth));
    std::vector<std::string> arguments;
    for (const std::string_view part : arguments_of(rest)) {
      arguments.push_back(text_of(std::string(without_quotes(part)), at, depth));
    }
    const std::optional<std::string> otherwise = arguments.size() > 1 ? std::optional(arguments[1]) : std::nullopt;
    if (name == "oc.env" || name == "env") return variable(arguments.front(), otherwise);
    if (name == "oc.decode") return arguments.front();
    if (name == "oc.select" || name == "oc.deprecated") {
      const ConfigValue* other = found(arguments.front(), at.path);
      if (other != nullptr && other != &at && other->setting.values.size() == 1) {
        return text_of(other->setting.values.front(), *other, depth);
      }
      return otherwise.value_or("null");
    }
    for (const std::string& argument : arguments) {
      if (const std::string unknown = unknown_in(argument); !unknown.empty()) return unknown_value(unknown);
    }
    const std::string result = computed_reference(name, arguments);
    return result.empty() ? unknown_value(at.leaf) : result;
  }

  const ConfigValues& values_;
  ConfigVariables& variables_;
  std::map<std::string, std::size_t, std::less<>> paths_;
  std::map<std::string, std::pair<int, std::size_t>, std::less<>> leaves_;
  std::uint64_t steps_ = 0;
  std::uint64_t bytes_ = 0;
};

std::optional<double> number_of(std::string_view text) {
  const std::string lower = setting_name(text);
  if (lower == "true") return 1;
  if (lower == "false") return 0;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(number)) return std::nullopt;
  return number;
}

std::string computed_number(double number) {
  constexpr double kWhole = 9007199254740992.0;
  if (!std::isfinite(number)) return {};
  if (std::floor(number) == number && std::abs(number) <= kWhole) {
    return std::to_string(static_cast<std::int64_t>(number));
  }
  return std::to_string(number);
}

using Arithmetic = double (*)(double, double);

/// Resolvers that NeMo, its launchers and submissions of MLPerf register, by what they compute of two numbers.
constexpr std::array<std::pair<std::string_view, Arithmetic>, 22> kArithmetic{
    {{"multiply", [](double a, double b) { return a * b; }},
     {"mul", [](double a, double b) { return a * b; }},
     {"prod", [](double a, double b) { return a * b; }},
     {"add", [](double a, double b) { return a + b; }},
     {"sum", [](double a, double b) { return a + b; }},
     {"subtract", [](double a, double b) { return a - b; }},
     {"sub", [](double a, double b) { return a - b; }},
     {"divide", [](double a, double b) { return a / b; }},
     {"div", [](double a, double b) { return a / b; }},
     {"truediv", [](double a, double b) { return a / b; }},
     {"floor_div", [](double a, double b) { return std::floor(a / b); }},
     {"floordiv", [](double a, double b) { return std::floor(a / b); }},
     {"int_div", [](double a, double b) { return std::floor(a / b); }},
     {"divide_floor", [](double a, double b) { return std::floor(a / b); }},
     {"ceil_div", [](double a, double b) { return std::ceil(a / b); }},
     {"divide_ceil", [](double a, double b) { return std::ceil(a / b); }},
     {"mod", [](double a, double b) { return std::fmod(a, b); }},
     {"pow", [](double a, double b) { return std::pow(a, b); }},
     {"min", [](double a, double b) { return std::min(a, b); }},
     {"max", [](double a, double b) { return std::max(a, b); }},
     {"and", [](double a, double b) { return a != 0 && b != 0 ? 1.0 : 0.0; }},
     {"or", [](double a, double b) { return a != 0 || b != 0 ? 1.0 : 0.0; }}}};

std::string number_reference(std::string_view name, const std::vector<std::string>& arguments) {
  const std::optional<double> first = number_of(arguments.front());
  if (!first) return {};
  if (name == "int") return computed_number(std::trunc(*first));
  if (name == "floor") return computed_number(std::floor(*first));
  if (name == "ceil") return computed_number(std::ceil(*first));
  const auto known = std::ranges::find(kArithmetic, name, &std::pair<std::string_view, Arithmetic>::first);
  if (known == kArithmetic.end()) return {};
  double result = *first;
  for (std::size_t k = 1; k < arguments.size(); ++k) {
    const std::optional<double> next = number_of(arguments[k]);
    if (!next) return {};
    result = known->second(result, *next);
  }
  return computed_number(result);
}

/// Values of a table with a general key keep its name; of others with the same last key, that of "model" counts.
class LeafSettings {
 public:
  explicit LeafSettings(const std::string& source) : settings_(source) {}

  void keep(const ConfigValue& value, Setting setting) {
    const std::string& table = value.table;
    if (is_general_table(table)) {
      settings_.set(table + "." + value.leaf, setting);
      if (table != "tokenizer" && table != "optimizer" && table != "optim") return;
    }
    const int rank = is_null(setting) ? 0 : table == "model" ? 2 : 1;
    int& best = ranks_[value.leaf];
    if (rank < best || (rank == best && settings_.all().contains(value.leaf))) return;
    best = rank;
    settings_.set(value.leaf, std::move(setting));
  }

  Settings take() { return std::move(settings_); }

 private:
  Settings settings_;
  std::map<std::string, int> ranks_;
};

}  // namespace

bool is_general_table(std::string_view table) {
  return std::ranges::find(kGeneralTables, table) != kGeneralTables.end();
}

std::string computed_reference(std::string_view name, const std::vector<std::string>& arguments) {
  if (arguments.empty()) return {};
  const auto is_true = [](const std::string& text) {
    const std::string lower = setting_name(text);
    return !lower.empty() && lower != "false" && lower != "0" && lower != "null" && lower != "none";
  };
  if (name == "not") return is_true(arguments.front()) ? "false" : "true";
  if (name == "if" && arguments.size() == 3) return is_true(arguments[0]) ? arguments[1] : arguments[2];
  if ((name == "eq" || name == "neq" || name == "ne") && arguments.size() == 2) {
    return (arguments[0] == arguments[1]) == (name == "eq") ? "true" : "false";
  }
  return number_reference(name, arguments);
}

void ConfigValues::add_below(const ConfigValues& below) {
  std::set<std::string, std::less<>> known;
  for (const ConfigValue& value : values_) known.insert(value.path);
  for (const ConfigValue& value : below.values_) {
    if (!known.contains(value.path)) values_.push_back(value);
  }
}

const ConfigValue* ConfigValues::find(std::string_view path) const {
  const auto found = std::ranges::find(values_, path, &ConfigValue::path);
  return found == values_.end() ? nullptr : &*found;
}

void ConfigValues::give(std::string_view path, const std::string& value) {
  const std::string end = "." + std::string(path);
  for (ConfigValue& one : values_) {
    if (one.path == path || one.path.ends_with(end)) one.setting = {{value}, kGivenPlace};
  }
}

void ConfigValues::descend(std::string_view path) {
  const std::string beginning = std::string(path) + ".";
  std::erase_if(values_, [&](const ConfigValue& value) { return !value.path.starts_with(beginning); });
  for (ConfigValue& value : values_) {
    value.path.erase(0, beginning.size());
    if (value.path == value.leaf) value.table.clear();
  }
}

Settings ConfigValues::by_path(ConfigVariables& variables) const {
  ConfigReferences references(*this, variables);
  Settings settings(source_);
  for (const ConfigValue& value : values_) {
    if (!settings.all().contains(value.path)) {
      settings.set(value.path, {references.values_of(value), value.setting.place});
    }
  }
  return settings;
}

Settings ConfigValues::by_leaf(ConfigVariables& variables) const {
  ConfigReferences references(*this, variables);
  LeafSettings settings(source_);
  for (const ConfigValue& value : values_) settings.keep(value, {references.values_of(value), value.setting.place});
  return settings.take();
}

std::string ConfigValues::resolved(const std::string& text, ConfigVariables& variables) const {
  return ConfigReferences(*this, variables).text_of(text, {}, 0);
}

}  // namespace plumb
