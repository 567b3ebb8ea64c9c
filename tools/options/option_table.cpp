#include "tools/options/option_table.hpp"

#include <algorithm>
#include <utility>

#include "models/ground/error.hpp"

namespace plumb {
namespace {

const std::string& the_only(const std::vector<std::string>& given, const std::string& where) {
  if (given.size() > 1) throw Error(where + ": given " + std::to_string(given.size()) + " times, expected once");
  return given.front();
}

}  // namespace

OptionTable::OptionTable(std::string usage, std::string summary)
    : usage_(std::move(usage)), summary_(std::move(summary)), command_(usage_.substr(0, usage_.find(' '))) {
  group("Options");
}

OptionTable& OptionTable::add(const std::string& names, Option option) {
  const std::size_t comma = names.find(',');
  option.name = names.substr(0, comma);
  if (comma != std::string::npos) option.letter = names.substr(comma + 1);
  groups_.back().options.push_back(std::move(option));
  return *this;
}

OptionTable& OptionTable::group(const std::string& title) {
  groups_.push_back({.title = title});
  return *this;
}

OptionTable& OptionTable::closed() {
  groups_.back().closed = true;
  return *this;
}

OptionTable& OptionTable::brief(const std::string& words) {
  Option& option = groups_.back().options.back();
  option.is_brief = true;
  option.brief_help = words;
  return *this;
}

OptionTable& OptionTable::flag(const std::string& name, bool& value, const std::string& help) {
  return add(name,
             {.kind = OptionKind::kFlag, .help = help, .take = [&value](const auto&, const auto&) { value = true; }});
}

OptionTable& OptionTable::text(const std::string& name, std::string& value, const std::string& placeholder,
                               const std::string& help) {
  return add(name,
             Option{.placeholder = placeholder,
                    .help = help,
                    .take = [&value](const auto& given, const std::string& where) { value = the_only(given, where); }});
}

OptionTable& OptionTable::texts(const std::string& name, std::vector<std::string>& values,
                                const std::string& placeholder, const std::string& help) {
  return add(name, Option{.kind = OptionKind::kTexts,
                          .placeholder = placeholder,
                          .help = help,
                          .take = [&values](const auto& given, const auto&) { values = given; }});
}

OptionTable& OptionTable::whole(const std::string& name, std::optional<std::int64_t>& value, NumberRange range,
                                const std::string& help) {
  return add(name, Option{.kind = OptionKind::kWhole,
                          .placeholder = "N",
                          .help = help,
                          .range = range,
                          .take = [&value, range](const auto& given, const std::string& where) {
                            value = parse_whole(the_only(given, where), range, where);
                          }});
}

OptionTable& OptionTable::add_choice(const std::string& name, const char* placeholder, const std::string& help,
                                     std::function<void(const std::string& given)> take) {
  return add(name, Option{.placeholder = placeholder,
                          .help = help,
                          .take = [take = std::move(take)](const auto& given, const std::string& where) {
                            take(the_only(given, where));
                          }});
}

OptionTable& OptionTable::retired(const std::string& name) {
  retired_.push_back(name);
  return *this;
}

OptionTable& OptionTable::real(const std::string& name, std::optional<double>& value, RealRange range,
                               const std::string& help) {
  return add(name, Option{.kind = OptionKind::kReal,
                          .placeholder = "X",
                          .help = help,
                          .reals = range,
                          .take = [&value, range](const auto& given, const std::string& where) {
                            value = parse_real(the_only(given, where), where, range);
                          }});
}

OptionTable& OptionTable::add(const std::string& names, PositionalArgument argument) {
  const std::size_t comma = names.find(',');
  argument.placeholder = names.substr(0, comma);
  if (comma != std::string::npos) argument.name = names.substr(comma + 1);
  arguments_.push_back(std::move(argument));
  return *this;
}

OptionTable& OptionTable::positional(std::string& value, const std::string& names) {
  return add(names, PositionalArgument{.take = [&value](const auto& given) { value = given.front(); }});
}

OptionTable& OptionTable::positionals(std::vector<std::string>& values, std::size_t least, const std::string& names) {
  return add(names, PositionalArgument{
                        .least = least, .several = true, .take = [&values](const auto& given) { values = given; }});
}

const Option* OptionTable::find(std::string_view name) const {
  for (const OptionGroup& group : groups_) {
    for (const Option& option : group.options) {
      if (option.name == name) return &option;
    }
  }
  return nullptr;
}

void OptionTable::take(std::vector<TakenOption> options, const std::vector<std::string>& positionals) const {
  given_ = std::move(options);
  for (const TakenOption& given : given_) given.option->take(given.values, given.where);
  take_positionals(positionals);
}

std::vector<std::pair<std::string, std::string>> OptionTable::given() const {
  std::vector<std::pair<std::string, std::string>> texts;
  for (const OptionGroup& group : groups_) {
    for (const Option& option : group.options) {
      const auto of = std::ranges::find(given_, &option, &TakenOption::option);
      if (of == given_.end()) continue;
      const std::string name = option.letter.empty() ? "--" + option.name : "-" + option.letter;
      std::string text = of->values.empty() ? name : "";
      for (const std::string& value : of->values) text += (text.empty() ? "" : " ") + name + " " + shell_word(value);
      texts.emplace_back(option.name, text);
    }
  }
  return texts;
}

void OptionTable::take_positionals(const std::vector<std::string>& given) const {
  std::size_t next = 0;
  for (const PositionalArgument& argument : arguments_) {
    const std::size_t count = argument.several ? given.size() - next : 1;
    if (given.size() - next < argument.least) {
      throw Error(command_ + ": " + argument.placeholder + " is missing, expected: " + usage_);
    }
    const auto first = given.begin() + static_cast<std::ptrdiff_t>(next);
    argument.take({first, first + static_cast<std::ptrdiff_t>(count)});
    next += count;
  }
  if (next < given.size()) {
    throw Error(command_ + ": '" + given[next] + "' is one argument too many, expected: " + usage_);
  }
}

}  // namespace plumb
