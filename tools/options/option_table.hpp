#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/ground/error.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {

/// The enumerator whose name is `name`; `names` are in the order of the enumerators.
/// Throws `Error("unknown WHAT 'name' ...")` with the nearest one.
template <class Enum, std::size_t N>
Enum enumerator(const std::array<std::string_view, N>& names, std::string_view what, const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) throw_unknown(what, name, names);
  return static_cast<Enum>(found - names.begin());
}

/// Declares the options for the files of a command, where its help lists them; empty in a request, which has no files.
using FileOptions = std::function<void()>;

enum class OptionKind : std::uint8_t { kFlag, kText, kTexts, kWhole, kReal };

/// One option of a command.
struct Option {
  std::string name{};    ///< "devices"
  std::string letter{};  ///< "p"; empty: it has no short form
  OptionKind kind = OptionKind::kText;
  std::string placeholder{};  ///< of its value: "FILE"; empty: it takes none
  std::string help{};
  bool is_brief = false;             ///< the short help has it
  std::string brief_help{};          ///< its words there; empty: the beginning of `help`
  std::vector<std::string> words{};  ///< what its value may be, where that is known
  NumberRange range{};               ///< of a whole number
  RealRange reals{};                 ///< of a decimal number
  /// Fills the variable that the option was declared with. `where` begins the message of an `Error`.
  std::function<void(const std::vector<std::string>& given, const std::string& where)> take{};
};

struct OptionGroup {
  std::string title{};
  bool closed = false;  ///< the help only names its options, until it is asked for this group
  std::vector<Option> options{};
};

/// An argument without a name. Only the last one may be several.
struct PositionalArgument {
  std::string name{};         ///< of the field of a request: "schedule"
  std::string placeholder{};  ///< "NAME|FILE"
  std::size_t least = 1;
  bool several = false;
  std::function<void(const std::vector<std::string>& given)> take{};
};

/// An option as it was given. `where` begins the message of an `Error`.
struct TakenOption {
  const Option* option = nullptr;
  std::vector<std::string> values{};
  std::string where{};
};

/// The options of one command, each with the variable that it fills: what command lines (tools/command_line), requests
/// (tools/ask), schemas and completions are read from. The variables must outlive the table.
///
/// Names are long ("json") or long and short ("devices,p").
class OptionTable {
 public:
  /// `usage` is what follows the program's name: "simulate NAME|FILE [options]". Its first word names the command.
  OptionTable(std::string usage, std::string summary);
  OptionTable(const OptionTable&) = delete;
  OptionTable& operator=(const OptionTable&) = delete;

  /// Following options are listed under `title`.
  OptionTable& group(const std::string& title);
  /// The group that was declared last is closed.
  OptionTable& closed();
  /// The option that was declared last belongs to the short help, with these words in place of its first clauses.
  OptionTable& brief(const std::string& words = "");
  OptionTable& flag(const std::string& name, bool& value, const std::string& help);
  OptionTable& text(const std::string& name, std::string& value, const std::string& placeholder,
                    const std::string& help);
  /// May be given several times.
  OptionTable& texts(const std::string& name, std::vector<std::string>& values, const std::string& placeholder,
                     const std::string& help);
  OptionTable& whole(const std::string& name, std::optional<std::int64_t>& value, NumberRange range,
                     const std::string& help);
  /// A flag that is the default now: it is accepted, changes nothing, and is listed nowhere.
  OptionTable& retired(const std::string& name);
  OptionTable& real(const std::string& name, std::optional<double>& value, RealRange range, const std::string& help);

  /// What the values of a choice are called: "engine" in messages, "NAME" in the help.
  struct ChoiceWords {
    const char* what;
    const char* placeholder;
  };
  /// One of `names`, which are in the order of the enumerators and must outlive the table. Throws `Error` with the
  /// nearest one for another value.
  template <class Value, std::size_t N>
  OptionTable& choice(const std::string& name, Value& value, const std::array<std::string_view, N>& names,
                      ChoiceWords of, const std::string& help) {
    return add_choice(name, of.placeholder, help,
                      [&value, &names, what = of.what](const std::string& given) {
                        value = enumerator<typename EnumOf<Value>::type>(names, what, given);
                      })
        .words(names);
  }

  /// What the value of the option that was declared last may be, for completions of command lines.
  template <class Names>
  OptionTable& words(const Names& names) {
    groups_.back().options.back().words.assign(std::begin(names), std::end(names));
    return *this;
  }

  /// One required argument, in order of declaration; `names` are its placeholder and, where it has one, the name of
  /// the field of a request: "NAME|FILE,schedule".
  OptionTable& positional(std::string& value, const std::string& names);
  /// All remaining arguments, at least `least`.
  OptionTable& positionals(std::vector<std::string>& values, std::size_t least, const std::string& names);

  const std::string& command() const { return command_; }
  const std::string& usage() const { return usage_; }
  const std::string& summary() const { return summary_; }
  const std::vector<OptionGroup>& groups() const { return groups_; }
  const std::vector<PositionalArgument>& arguments() const { return arguments_; }
  const std::vector<std::string>& retired() const { return retired_; }
  /// Null where there is none of this long name.
  const Option* find(std::string_view name) const;

  /// Fills the variables of `options`, and shares `positionals` out to the arguments without names. Throws `Error` for
  /// values that an option does not take, and for too few and too many arguments.
  void take(std::vector<TakenOption> options, const std::vector<std::string>& positionals) const;

  /// What was taken last, in the order of the table, as a command line says it: "devices" and "-p 4".
  std::vector<std::pair<std::string, std::string>> given() const;

 private:
  void take_positionals(const std::vector<std::string>& given) const;

  template <class Value>
  struct EnumOf {
    using type = Value;
  };
  template <class Value>
  struct EnumOf<std::optional<Value>> {
    using type = Value;
  };

  OptionTable& add_choice(const std::string& name, const char* placeholder, const std::string& help,
                          std::function<void(const std::string& given)> take);
  OptionTable& add(const std::string& names, Option option);
  OptionTable& add(const std::string& names, PositionalArgument argument);

  std::string usage_;
  std::string summary_;
  std::string command_;
  std::vector<OptionGroup> groups_;
  std::vector<PositionalArgument> arguments_;
  std::vector<std::string> retired_;
  mutable std::vector<TakenOption> given_;  ///< what was taken last
};

}  // namespace plumb
