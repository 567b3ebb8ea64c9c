#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace plumb {

/// One form that the value of an option may have.
struct OptionForm {
  enum class Kind : std::uint8_t {
    kWord,    ///< `text` itself
    kSwitch,  ///< 0, false or no; 1, true or yes
    kCount,   ///< a whole number
    kNumber,  ///< a decimal number
    kList     ///< numbers or words of a kind of its own, which its reader takes apart
  };

  std::string_view text{};  ///< the word, or what stands for the value: "N", "L,L,..."
  Kind kind = Kind::kWord;
  double least = 0;
  double most = std::numeric_limits<double>::infinity();  ///< infinite: whatever its reader takes

  constexpr OptionForm() = default;
  constexpr OptionForm(const char* word) : text(word) {}
  constexpr OptionForm(std::string_view stands_for, Kind what, double at_least, double at_most)
      : text(stands_for), kind(what), least(at_least), most(at_most) {}
};

constexpr OptionForm switch_form() { return {"0|1", OptionForm::Kind::kSwitch, 0, 1}; }
constexpr OptionForm count_form(std::string_view stands_for = "N", double least = 1,
                                double most = std::numeric_limits<double>::infinity()) {
  return {stands_for, OptionForm::Kind::kCount, least, most};
}
constexpr OptionForm number_form(std::string_view stands_for = "X", double least = 0,
                                 double most = std::numeric_limits<double>::infinity()) {
  return {stands_for, OptionForm::Kind::kNumber, least, most};
}
constexpr OptionForm list_form(std::string_view stands_for) {
  return {stands_for, OptionForm::Kind::kList, 0, std::numeric_limits<double>::infinity()};
}

/// All forms that a value may have: one of some words, or "N|auto".
struct OptionForms {
  std::array<OptionForm, 6> forms{};
  std::size_t size = 0;

  constexpr OptionForms() = default;
  constexpr OptionForms(const OptionForm& only) : forms{only}, size(1) {}
  constexpr OptionForms(std::initializer_list<OptionForm> all) {
    for (const OptionForm& form : all) forms.at(size++) = form;
  }
  constexpr const OptionForm* begin() const { return forms.data(); }
  constexpr const OptionForm* end() const { return forms.data() + size; }
};

/// What holds without the option: a number, or what it is in words; a number with words is told by these.
struct OptionDefault {
  std::optional<double> number{};
  std::string_view words{};

  constexpr OptionDefault() = default;
  constexpr OptionDefault(const char* text) : words(text) {}
  template <class Number>
  requires std::is_arithmetic_v<Number>
  constexpr OptionDefault(Number value, std::string_view told_as = {})
      : number(static_cast<double>(value)), words(told_as) {}
};

/// An option of something that has a name: a schedule, a method, a planner, a rule of campaigns.
struct NamedOption {
  std::string_view name{};
  OptionForms values{};
  OptionDefault otherwise{};
  std::string_view meaning{};  ///< what it decides, or what its number counts, as a phrase
  std::string_view remark{};   ///< what else a reader must know; empty: nothing
};

/// What was given of a table of options, by name.
using OptionTexts = std::map<std::string, std::string>;

/// Returns the option, or null where the table has none of that name.
const NamedOption* find_option(std::span<const NamedOption> table, std::string_view name);
std::vector<std::string_view> option_names(std::span<const NamedOption> table);

/// Throws `Error` ("unknown WHAT 'NAME' (did you mean ...)") where the table has no such option.
const NamedOption& option_named(std::span<const NamedOption> table, std::string_view name, std::string_view what);

/// "a|b", "N", "K|auto".
std::string values_text(const NamedOption& option);
std::string default_text(const NamedOption& option);
/// "  every=S (default: 600): seconds of work between checkpoints\n" for each of them.
std::string options_text(std::span<const NamedOption> table);

/// Returns whether the value has a form of the option.
bool allows_value(const NamedOption& option, std::string_view value);
bool allows_number(const NamedOption& option, double value);
/// "a number from 0 to 1e9", "never or always".
std::string expected_values(const NamedOption& option);

/// Throws `Error` for a name that the table does not have ("unknown WHAT 'NAME' (did you mean ...)"), and for a value
/// that has none of the forms of its option ("option NAME: expected ..., found 'VALUE'").
void check_options(std::span<const NamedOption> table, const OptionTexts& given, std::string_view what);

/// The numbers and switches among the options that were given, and what holds without them. A name that the table does
/// not have is a mistake of the program.
class OptionReader {
 public:
  /// `given` must have been checked. Both must outlive the reader.
  OptionReader(std::span<const NamedOption> table, const OptionTexts& given) : table_(table), given_(given) {}

  bool has(std::string_view name) const { return text(name) != nullptr; }
  /// Returns the text of the option, or null where it is not given.
  const std::string* text(std::string_view name) const;
  bool is_on(std::string_view name) const;
  /// Returns the number that was given, or that of the table.
  double number(std::string_view name) const;
  /// Returns the number of an option whose default the table tells in words; `otherwise` if it is not given.
  double number(std::string_view name, double otherwise) const;
  std::int64_t count(std::string_view name) const { return static_cast<std::int64_t>(number(name)); }

 private:
  std::span<const NamedOption> table_;
  const OptionTexts& given_;
};

}  // namespace plumb
