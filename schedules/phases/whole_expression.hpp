#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plumb {

/// Names that expressions may use, numbered as they come.
class NameTable {
 public:
  /// The number of the name, a new one where it is new.
  std::size_t add(std::string_view name);
  /// `size()` where it is not there.
  std::size_t find(std::string_view name) const;
  std::size_t size() const { return names_.size(); }
  const std::string& operator[](std::size_t number) const { return names_[number]; }

 private:
  std::vector<std::string> names_;
};

/// Values of names, as far as they are known.
class WholeNames {
 public:
  WholeNames() = default;
  /// No value is known yet.
  explicit WholeNames(std::shared_ptr<const NameTable> table);
  WholeNames(std::initializer_list<std::pair<std::string_view, std::int64_t>> all);

  /// By the number of a name in the table.
  void set(std::size_t number, std::int64_t value) { values_[number] = value; }
  /// Null where it is not known.
  const std::int64_t* find(std::size_t number) const {
    return number < values_.size() && values_[number] != kUnknown ? &values_[number] : nullptr;
  }

  /// A name that the table lacks is added.
  void set(std::string_view name, std::int64_t value);
  bool contains(std::string_view name) const { return table_ != nullptr && find(table_->find(name)) != nullptr; }
  /// Throws `Error` where it is not known.
  std::int64_t at(std::string_view name) const;
  /// The names that are known.
  std::vector<std::string_view> sorted() const;
  NameTable table() const { return table_ == nullptr ? NameTable{} : *table_; }

 private:
  static constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::min();

  std::shared_ptr<const NameTable> table_;
  std::vector<std::int64_t> values_;  ///< by number in the table
};

/// An expression of whole numbers: names, + - * / (rounded down) and %, comparisons (1 or 0), min(a, b), max(a, b),
/// parentheses, and `NAME is WORD`, whose value is that of a name that is written so. It is read once; what is wrong
/// with it is told when it is evaluated.
class WholeExpression {
 public:
  /// There is none.
  WholeExpression() = default;
  WholeExpression(std::string_view text, NameTable& names);

  bool empty() const { return text_.empty(); }
  const std::string& text() const { return text_; }

  /// Throws `Error`, beginning with `where`, for what is no expression, names that are not known (with the nearest),
  /// divisors below 1 and values beyond 10^15.
  std::int64_t value(const WholeNames& names, const std::string& where) const {
    // Most expressions of rules are a number or a name.
    if (steps_.size() == 1) {
      if (steps_[0].kind == Kind::kNumber) return steps_[0].number;
      const std::int64_t* named = names.find(static_cast<std::size_t>(steps_[0].number));
      if (steps_[0].kind == Kind::kName && named != nullptr) return *named;
    }
    return computed(names, where);
  }

  /// By how much the value grows with the name of this number where it grows evenly for every value of it; nothing
  /// where it may not.
  std::optional<std::int64_t> slope(const WholeNames& names, const std::string& where, std::size_t number) const;

 private:
  friend class ExpressionReader;
  friend class ExpressionRun;

  enum class Kind : std::uint8_t {
    kNumber,
    kName,
    kIs,
    kNegate,
    kAdd,
    kSubtract,
    kMultiply,
    kDivide,
    kModulo,
    kLeast,
    kMost,
    kNotAbove,
    kNotBelow,
    kEqual,
    kOther,
    kBelow,
    kAbove,
    kFail,  ///< here reading ended: `failure_`
  };
  /// One step on a stack of values: a value is put there, or the last two (one, of `kNegate`) become one.
  struct Step {
    Kind kind{};
    std::int64_t number = 0;  ///< or that of a name in the table
    std::size_t option = 0;   ///< of `kIs`: that of the name before the word
    std::size_t begin = 0;    ///< of the name in the text
    std::size_t length = 0;
  };

  std::int64_t computed(const WholeNames& names, const std::string& where) const;

  std::string text_;
  std::vector<Step> steps_;
  std::size_t depth_ = 0;  ///< values on the stack at most
  std::string failure_;
};

/// The value of a text that is evaluated once.
std::int64_t whole_value(std::string_view text, const WholeNames& names, const std::string& where);

}  // namespace plumb
