#include "models/ground/named_option.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include "models/ground/error.hpp"

namespace plumb {
namespace {

using FormKind = OptionForm::Kind;

/// The first half means off.
constexpr std::array<std::string_view, 6> kSwitchWords{"0", "false", "no", "1", "true", "yes"};

std::string told_number(double value) {
  constexpr double kMostWithAllDigits = 1e7;
  if (std::trunc(value) == value && std::abs(value) < kMostWithAllDigits) {
    return std::to_string(static_cast<std::int64_t>(value));
  }
  std::array<char, 32> text{};
  std::string told(text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr);
  if (const std::size_t plus = told.find("e+"); plus != std::string::npos) {
    told.erase(plus + 1, told[plus + 2] == '0' ? 2 : 1);  // "1e+09" is 1e9
  }
  return told;
}

/// Returns the number that fills `text`; none where there is no such number.
std::optional<double> number_that_fills(std::string_view text) {
  double value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return {};
  return value;
}

bool takes_number(const OptionForm& form, double value) {
  if (form.kind != FormKind::kCount && form.kind != FormKind::kNumber) return false;
  if (!std::isfinite(value) || value < form.least || value > form.most) return false;
  return form.kind == FormKind::kNumber || std::trunc(value) == value;
}

bool has_form(const OptionForm& form, std::string_view value) {
  if (form.kind == FormKind::kWord) return value == form.text;
  if (form.kind == FormKind::kSwitch) return std::ranges::find(kSwitchWords, value) != kSwitchWords.end();
  if (form.kind == FormKind::kList) return true;
  const std::optional<double> number = number_that_fills(value);
  return number && takes_number(form, *number);
}

/// "a number from 0 to 1e9", "auto".
std::string expected_form(const OptionForm& form) {
  if (form.kind == FormKind::kWord) return std::string(form.text);
  if (form.kind == FormKind::kSwitch) return "0 or 1";
  const std::string what = form.kind == FormKind::kCount ? "a whole number " : "a number ";
  if (!std::isfinite(form.most)) return what + "of at least " + told_number(form.least);
  return what + "from " + told_number(form.least) + " to " + told_number(form.most);
}

}  // namespace

const NamedOption* find_option(std::span<const NamedOption> table, std::string_view name) {
  const auto found = std::ranges::find(table, name, &NamedOption::name);
  return found == table.end() ? nullptr : &*found;
}

const NamedOption& option_named(std::span<const NamedOption> table, std::string_view name, std::string_view what) {
  if (const NamedOption* known = find_option(table, name)) return *known;
  throw_unknown(what, name, option_names(table));
}

std::vector<std::string_view> option_names(std::span<const NamedOption> table) {
  std::vector<std::string_view> names;
  for (const NamedOption& option : table) names.push_back(option.name);
  return names;
}

std::string values_text(const NamedOption& option) {
  std::string text;
  for (const OptionForm& form : option.values) text += (text.empty() ? "" : "|") + std::string(form.text);
  return text;
}

std::string default_text(const NamedOption& option) {
  const OptionDefault& otherwise = option.otherwise;
  return otherwise.words.empty() && otherwise.number ? told_number(*otherwise.number) : std::string(otherwise.words);
}

std::string options_text(std::span<const NamedOption> table) {
  std::string text;
  for (const NamedOption& option : table) {
    text += "  " + std::string(option.name) + "=" + values_text(option) + " (default: " + default_text(option) +
            "): " + std::string(option.meaning);
    if (!option.remark.empty()) text += "; " + std::string(option.remark);
    text += "\n";
  }
  return text;
}

bool allows_value(const NamedOption& option, std::string_view value) {
  return std::ranges::any_of(option.values, [&](const OptionForm& form) { return has_form(form, value); });
}

bool allows_number(const NamedOption& option, double value) {
  return std::ranges::any_of(option.values, [&](const OptionForm& form) { return takes_number(form, value); });
}

std::string expected_values(const NamedOption& option) {
  std::string expected;
  for (const OptionForm& form : option.values) expected += (expected.empty() ? "" : " or ") + expected_form(form);
  return expected;
}

void check_options(std::span<const NamedOption> table, const OptionTexts& given, std::string_view what) {
  for (const auto& [name, value] : given) {
    const NamedOption& option = option_named(table, name, what);
    if (allows_value(option, value)) continue;
    throw Error("option " + name + ": expected " + expected_values(option) + ", found '" + value + "'");
  }
}

const std::string* OptionReader::text(std::string_view name) const {
  if (find_option(table_, name) == nullptr) throw std::logic_error("no option " + std::string(name) + " in the table");
  const auto found = given_.find(std::string(name));
  return found == given_.end() ? nullptr : &found->second;
}

bool OptionReader::is_on(std::string_view name) const {
  const std::string* given = text(name);
  if (given == nullptr) return find_option(table_, name)->otherwise.number.value_or(0) != 0;
  return std::ranges::find(kSwitchWords, *given) - kSwitchWords.begin() >= std::ssize(kSwitchWords) / 2;
}

double OptionReader::number(std::string_view name) const {
  const std::string* given = text(name);
  return number(name, given == nullptr ? find_option(table_, name)->otherwise.number.value() : 0.0);
}

double OptionReader::number(std::string_view name, double otherwise) const {
  const std::string* given = text(name);
  return given == nullptr ? otherwise : number_that_fills(*given).value();
}

}  // namespace plumb
