#include "models/launches/settings.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "models/ground/error.hpp"

namespace plumb {
namespace {

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, text) != names.end();
}

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  for (char& letter : lower) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return lower;
}

bool is_of_name(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9') ||
         letter == '_' || letter == '.' || letter == '-';
}

/// Digits may be grouped: 1_000_000.
std::string without_groups(std::string text) {
  std::erase(text, '_');
  return text;
}

}  // namespace

std::string setting_name(std::string_view name) {
  std::string plain = in_lower_case(name.substr(std::min(name.find_first_not_of('-'), name.size())));
  std::ranges::replace(plain, '-', '_');
  return plain;
}

std::string unknown_in(std::string_view text) {
  const std::size_t begin = text.find(kUnknownBegin);
  if (begin == std::string_view::npos) return {};
  const std::size_t end = std::min(text.find(kUnknownEnd, begin), text.size());
  return std::string(text.substr(begin + 1, end - begin - 1));
}

void Settings::set(std::string_view name, Setting setting) {
  settings_.insert_or_assign(std::string(name), std::move(setting));
}

void Settings::remove(std::string_view name) {
  if (const auto found = settings_.find(name); found != settings_.end()) settings_.erase(found);
}

void Settings::note_read(std::string_view name) const { read_.emplace(name); }

const Setting* Settings::find(std::string_view name) const {
  note_read(name);
  const auto found = settings_.find(name);
  if (found == settings_.end()) return nullptr;
  const Setting& setting = found->second;
  if (setting.values.size() == 1 && is_one_of(in_lower_case(setting.values.front()), {"none", "null", "~", ""})) {
    return nullptr;
  }
  return &setting;
}

bool Settings::has(std::string_view name) const { return find(name) != nullptr; }

void Settings::fail(std::string_view name, std::string_view message) const {
  const auto found = settings_.find(name);
  const std::string place = found == settings_.end() ? source_ : found->second.place;
  throw Error(place + ": " + std::string(name) + ": " + std::string(message));
}

bool Settings::flag(std::string_view name, bool otherwise) const {
  const Setting* setting = find(name);
  if (setting == nullptr) return otherwise;
  if (setting->values.empty()) return true;
  // A word without a value behind a flag is nothing, as the shell has it.
  if (!unknown_in(setting->values.front()).empty()) return true;
  const std::string value = in_lower_case(text(name));
  if (is_one_of(value, {"true", "1", "yes", "on"})) return true;
  if (is_one_of(value, {"false", "0", "no", "off"})) return false;
  fail(name, "expected true or false, found '" + value + "'");
}

std::string Settings::text(std::string_view name, std::string_view otherwise) const {
  const Setting* setting = find(name);
  if (setting == nullptr) return std::string(otherwise);
  if (setting->values.empty()) fail(name, "expected a value");
  const std::string& value = setting->values.front();
  if (const std::string unknown = unknown_in(value); !unknown.empty()) {
    if (unknown.find_first_not_of("0123456789") == std::string::npos) {
      fail(name, "argument " + unknown + " of the script is not known, expected all of them with --job-args");
    }
    // What is suggested may be pasted into a shell, so it holds nothing but a name.
    const bool is_name = std::ranges::all_of(unknown, is_of_name);
    fail(name, "the value of " + unknown + " is not in this file, expected " +
                   (is_name ? "it with --job-set " + unknown + "=VALUE" : "a number or a word"));
  }
  return value;
}

std::int64_t Settings::whole(std::string_view name, std::int64_t otherwise, std::int64_t least) const {
  if (!has(name)) return otherwise;
  constexpr double kMost = 9007199254740992.0;
  const std::string value = without_groups(text(name));
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  const bool is_whole = error == std::errc{} && end == value.data() + value.size() && std::floor(number) == number;
  if (!is_whole || number < static_cast<double>(least) || number > kMost) {
    fail(name, "expected a whole number of at least " + std::to_string(least) + ", found '" + value + "'");
  }
  return static_cast<std::int64_t>(number);
}

std::int64_t Settings::required(std::string_view name, std::string_view what) const {
  if (!has(name)) throw Error(source_ + ": " + std::string(what) + " is missing, expected " + std::string(name));
  return whole(name, 0);
}

double Settings::real(std::string_view name, double otherwise) const {
  if (!has(name)) return otherwise;
  const std::string value = without_groups(text(name));
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc{} || end != value.data() + value.size() || !std::isfinite(number)) {
    fail(name, "expected a number, found '" + value + "'");
  }
  return number;
}

std::vector<std::string> Settings::list(std::string_view name) const {
  const Setting* setting = find(name);
  if (setting == nullptr) return {};
  if (!setting->values.empty()) text(name);
  return setting->values;
}

void Settings::refuse_given(std::string_view name) const {
  if (settings_.at(std::string(name)).place != kGivenPlace) return;
  std::vector<std::string_view> known(read_.begin(), read_.end());
  for (const auto& [other, setting] : settings_) {
    if (other != name) known.push_back(other);
  }
  const std::string leaf = "." + std::string(name);
  std::string nearest = nearest_name(name, known);
  // An equal name in another table of the file is nearer than any that is spelled alike.
  for (const std::string_view other : known) {
    if (!other.ends_with(leaf)) continue;
    const std::string_view table = other.substr(0, other.size() - leaf.size() + 1);
    const auto present = settings_.lower_bound(table);
    if (present != settings_.end() && present->first.starts_with(table)) nearest = other;
  }
  throw Error(std::string(kGivenPlace) + ": nothing reads '" + std::string(name) + "' of " + source_ +
              (nearest.empty() ? ", expected one of its settings or variables" : " (did you mean '" + nearest + "'?)"));
}

std::vector<std::string> Settings::unread() const {
  std::vector<std::string> names;
  for (const auto& [name, setting] : settings_) {
    if (!read_.contains(name)) names.push_back(name);
  }
  return names;
}

}  // namespace plumb
