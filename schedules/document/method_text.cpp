#include <algorithm>
#include <charconv>
#include <cstdio>

#include "models/ground/error.hpp"
#include "schedules/document/methods.hpp"

namespace plumb {
namespace {

std::string number_text(double value) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

[[noreturn]] void fail(std::string_view item, const std::string& expected) {
  throw Error("method '" + std::string(item) + "': expected " + expected);
}

double number_of(std::string_view item, std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) fail(item, "a number after '='");
  return value;
}

/// "D=0.135" of the method that is read.
void add_parameter(Method& method, std::string_view item) {
  const std::size_t equals = item.find('=');
  if (equals == std::string_view::npos) fail(method.name + ":" + std::string(item), "NAME=NUMBER after ':'");
  const std::string_view name = item.substr(0, equals);
  if (!method.parameters.emplace(name, number_of(item, item.substr(equals + 1))).second) {
    fail(method.name, "parameter '" + std::string(name) + "' only once");
  }
}

/// The parts of `text` between `separator`s.
std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

void check_parameters(const Method& method) {
  const MethodSpec& spec = method_spec(method.name);
  for (const auto& [name, value] : method.parameters) {
    if (spec.parameters.empty()) fail(method.name, "no parameters, found '" + name + "'");
    const NamedOption& known = option_named(spec.parameters, name, "parameter of " + method.name);
    if (!allows_number(known, value)) fail(method.name + ":" + name + "=" + number_text(value), expected_values(known));
  }
}

std::vector<Method> parse_methods(std::string_view text) {
  std::vector<Method> methods;
  if (text.empty()) return methods;
  for (const std::string_view item : parts_of(text, ',')) {
    const std::vector<std::string_view> parts = parts_of(item, ':');
    const bool goes_on = parts.size() == 1 && item.find('=') != std::string_view::npos && !methods.empty();
    if (!goes_on) methods.push_back({method_spec(parts.front()).name.data(), {}});
    for (std::size_t i = goes_on ? 0 : 1; i < parts.size(); ++i) add_parameter(methods.back(), parts[i]);
  }
  for (const Method& method : methods) check_parameters(method);
  return methods;
}

std::string to_string(std::span<const Method> methods) {
  std::string text;
  for (const Method& method : methods) {
    text += (text.empty() ? "" : ",") + method.name;
    for (const auto& [name, value] : method.parameters) text += ":" + name + "=" + number_text(value);
  }
  return text;
}

}  // namespace plumb
