#include "schedules/phases/whole_expression.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "models/ground/error.hpp"

namespace plumb {
namespace {

constexpr std::int64_t kMostValue = 1'000'000'000'000'000;
constexpr int kMostNested = 100;
/// Values on the stack that need no room of their own.
constexpr std::size_t kUsualDepth = 16;

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// A value and by how much it grows with one name.
struct Term {
  std::int64_t value = 0;
  std::int64_t slope = 0;
  bool bent = false;  ///< it does not grow evenly
};

[[noreturn]] void fail_expression(const std::string& where, std::string_view text, const std::string& what) {
  throw Error(where + ": expression '" + std::string(text) + "': " + what);
}

}  // namespace

/// Makes steps of a text. The first thing that is wrong becomes the last step.
class ExpressionReader {
 public:
  ExpressionReader(WholeExpression& made, NameTable& names) : made_(made), text_(made.text_), names_(names) {}

  void read() {
    comparison();
    skip_spaces();
    if (at_ < text_.size()) fail("'" + std::string(text_.substr(at_)) + "' is too much");
  }

 private:
  using Kind = WholeExpression::Kind;

  /// Nothing is read behind it.
  void fail(const std::string& what) {
    if (failed_) return;
    failed_ = true;
    at_ = text_.size();
    made_.failure_ = what;
    made_.steps_.push_back({.kind = Kind::kFail});
  }

  void add(const WholeExpression::Step& step) {
    if (failed_) return;
    const bool leaf = step.kind <= Kind::kIs;
    depth_ += leaf ? 1 : 0;
    depth_ -= leaf || step.kind == Kind::kNegate ? 0 : 1;
    made_.depth_ = std::max(made_.depth_, depth_);
    made_.steps_.push_back(step);
  }

  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  /// The next letter; 0: there is none.
  char next() {
    skip_spaces();
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  bool take(char letter) {
    if (next() != letter) return false;
    ++at_;
    return true;
  }

  void expect(char letter, const char* what) {
    if (!take(letter)) fail(what);
  }

  void comparison() {
    sum();
    if (const char sign = next(); sign != '<' && sign != '>' && sign != '=' && sign != '!') return;
    constexpr std::array<std::pair<std::string_view, Kind>, 6> kSigns{{{"<=", Kind::kNotAbove},
                                                                       {">=", Kind::kNotBelow},
                                                                       {"==", Kind::kEqual},
                                                                       {"!=", Kind::kOther},
                                                                       {"<", Kind::kBelow},
                                                                       {">", Kind::kAbove}}};
    for (const auto& [sign, kind] : kSigns) {
      if (!text_.substr(at_).starts_with(sign)) continue;
      at_ += sign.size();
      sum();
      add({.kind = kind});
      return;
    }
  }

  void sum() {
    product();
    for (;;) {
      const bool plus = take('+');
      if (!plus && !take('-')) return;
      product();
      add({.kind = plus ? Kind::kAdd : Kind::kSubtract});
    }
  }

  void product() {
    factor();
    for (;;) {
      const Kind kind = take('*') ? Kind::kMultiply : take('/') ? Kind::kDivide : Kind::kModulo;
      if (kind == Kind::kModulo && !take('%')) return;
      factor();
      add({.kind = kind});
    }
  }

  void factor() {
    if (++nested_ > kMostNested) fail("nested too deep");
    if (!failed_) plain_factor();
    --nested_;
  }

  void plain_factor() {
    if (take('-')) {
      factor();
      return add({.kind = Kind::kNegate});
    }
    if (take('(')) {
      comparison();
      return expect(')', "expected ')'");
    }
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_letter(text_[at_])) ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (word.empty()) return fail("expected a number or a name at its character " + std::to_string(begin + 1));
    if (word == "min" || word == "max") return extreme(word == "min" ? Kind::kLeast : Kind::kMost);
    if (word[0] >= '0' && word[0] <= '9') return number(std::string(word));
    name(begin, word);
  }

  void extreme(Kind kind) {
    expect('(', "expected '(' behind min and max");
    comparison();
    expect(',', "expected ',' between two values");
    comparison();
    expect(')', "expected ')'");
    add({.kind = kind});
  }

  void number(const std::string& word) {
    if (word.size() > 15 || word.find_first_not_of("0123456789") != std::string::npos) {
      return fail("'" + word + "' is no whole number");
    }
    add({.kind = Kind::kNumber, .number = std::stoll(word)});
  }

  /// A name, or "NAME is WORD".
  void name(std::size_t begin, std::string_view word) {
    WholeExpression::Step step{.kind = Kind::kName, .option = names_.add(word), .begin = begin};
    if (next() == 'i' && text_.substr(at_).starts_with("is ")) {
      at_ += 3;
      skip_spaces();
      while (at_ < text_.size() && (is_letter(text_[at_]) || text_[at_] == '-')) ++at_;
      step.kind = Kind::kIs;
      word = text_.substr(begin, at_ - begin);
    }
    step.number = static_cast<std::int64_t>(names_.add(word));
    step.length = word.size();
    add(step);
  }

  WholeExpression& made_;
  std::string_view text_;
  NameTable& names_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
  int nested_ = 0;
  bool failed_ = false;
};

/// Takes the steps of an expression.
class ExpressionRun {
 public:
  ExpressionRun(const WholeExpression& of, const WholeNames& names, const std::string& where)
      : of_(of), names_(names), where_(where) {}

  /// `Value`: whole numbers, or `Term` where slopes by the name of number `growing` are wanted.
  template <class Value>
  Value run(std::size_t growing) const {
    std::array<Value, kUsualDepth> usual{};
    std::vector<Value> deep(of_.depth_ > kUsualDepth ? of_.depth_ : 0);
    Value* const first = deep.empty() ? usual.data() : deep.data();
    Value* end = first;
    for (const WholeExpression::Step& step : of_.steps_) {
      switch (step.kind) {
        case Kind::kNumber:
          *end++ = Value{step.number};
          break;
        case Kind::kName:
        case Kind::kIs: {
          const std::int64_t* known = names_.find(static_cast<std::size_t>(step.number));
          put(*end++, known != nullptr ? *known : fail_name(step), static_cast<std::size_t>(step.number) == growing);
          break;
        }
        case Kind::kNegate:
          end[-1] = negated(end[-1]);
          break;
        case Kind::kFail:
          fail(of_.failure_);
        default:
          --end;
          end[-1] = combined(step.kind, end[-1], *end);
      }
    }
    return *first;
  }

 private:
  using Kind = WholeExpression::Kind;

  [[noreturn]] void fail(const std::string& what) const { fail_expression(where_, of_.text_, what); }

  static void put(std::int64_t& to, std::int64_t value, bool) { to = value; }
  static void put(Term& to, std::int64_t value, bool grows) { to = {value, grows ? 1 : 0, false}; }

  static std::int64_t negated(std::int64_t value) { return -value; }
  static Term negated(const Term& term) { return {-term.value, -term.slope, term.bent}; }

  std::int64_t within(std::int64_t value) const {
    if (value > kMostValue || value < -kMostValue) fail("a value beyond 10^15");
    return value;
  }

  std::int64_t product_of(std::int64_t value, std::int64_t other) const {
    if (other != 0 && std::abs(within(value)) > kMostValue / std::abs(within(other))) fail("a value beyond 10^15");
    return value * other;
  }

  std::int64_t divisor(std::int64_t value) const {
    if (value < 1) fail("divided by " + std::to_string(value) + ", expected at least 1");
    return value;
  }

  /// Rounded down.
  std::int64_t rest(std::int64_t value, std::int64_t by) const {
    const std::int64_t rest = value % divisor(by);
    return rest < 0 ? rest + by : rest;
  }

  std::int64_t combined(Kind kind, std::int64_t a, std::int64_t b) const {
    switch (kind) {
      case Kind::kAdd:
        return within(within(a) + within(b));
      case Kind::kSubtract:
        return within(within(a) - within(b));
      case Kind::kMultiply:
        return product_of(a, b);
      case Kind::kDivide:
        return (a - rest(a, b)) / b;
      case Kind::kModulo:
        return rest(a, b);
      case Kind::kLeast:
        return std::min(a, b);
      case Kind::kMost:
        return std::max(a, b);
      case Kind::kNotAbove:
        return a <= b ? 1 : 0;
      case Kind::kNotBelow:
        return a >= b ? 1 : 0;
      case Kind::kEqual:
        return a == b ? 1 : 0;
      case Kind::kOther:
        return a != b ? 1 : 0;
      case Kind::kBelow:
        return a < b ? 1 : 0;
      default:
        return a > b ? 1 : 0;
    }
  }

  Term combined(Kind kind, const Term& a, const Term& b) const {
    const std::int64_t value = combined(kind, a.value, b.value);
    const bool bent = a.bent || b.bent;
    if (kind == Kind::kAdd) return {value, a.slope + b.slope, bent};
    if (kind == Kind::kSubtract) return {value, a.slope - b.slope, bent};
    if (kind == Kind::kMultiply && (a.slope == 0 || b.slope == 0)) {
      return {value, a.slope != 0 ? product_of(a.slope, b.value) : product_of(b.slope, a.value), bent};
    }
    return {value, 0, bent || a.slope != 0 || b.slope != 0};
  }

  [[noreturn]] std::int64_t fail_name(const WholeExpression::Step& step) const {
    const std::string_view said = std::string_view(of_.text_).substr(step.begin, step.length);
    if (step.kind == Kind::kIs && names_.find(step.option) != nullptr) {
      fail("'" + std::string(said) + "': it has no such word");
    }
    const auto end = std::ranges::find_if_not(said, is_letter);
    fail_unknown(std::string(said.begin(), end));
  }

  [[noreturn]] void fail_unknown(const std::string& word) const {
    const std::vector<std::string_view> known = names_.sorted();
    std::string all;
    for (const std::string_view name : known) all += (all.empty() ? "" : ", ") + std::string(name);
    const std::string nearest = nearest_name(word, known);
    fail("unknown name '" + word + "'" +
         (nearest.empty() ? ", expected one of " + all : " (did you mean '" + nearest + "'?)"));
  }

  const WholeExpression& of_;
  const WholeNames& names_;
  const std::string& where_;
};

std::size_t NameTable::add(std::string_view name) {
  const std::size_t number = find(name);
  if (number == names_.size()) names_.emplace_back(name);
  return number;
}

std::size_t NameTable::find(std::string_view name) const {
  return static_cast<std::size_t>(std::ranges::find(names_, name) - names_.begin());
}

WholeNames::WholeNames(std::shared_ptr<const NameTable> table)
    : table_(std::move(table)), values_(table_->size(), kUnknown) {}

WholeNames::WholeNames(std::initializer_list<std::pair<std::string_view, std::int64_t>> all) {
  for (const auto& [name, value] : all) set(name, value);
}

void WholeNames::set(std::string_view name, std::int64_t value) {
  if (table_ == nullptr || table_->find(name) == table_->size()) {
    NameTable more = table();
    more.add(name);
    table_ = std::make_shared<const NameTable>(std::move(more));
    values_.resize(table_->size(), kUnknown);
  }
  values_[table_->find(name)] = value;
}

std::int64_t WholeNames::at(std::string_view name) const {
  if (contains(name)) return *find(table_->find(name));
  throw Error("unknown name '" + std::string(name) + "'");
}

std::vector<std::string_view> WholeNames::sorted() const {
  std::vector<std::string_view> names;
  for (std::size_t number = 0; number < values_.size(); ++number) {
    if (find(number) != nullptr) names.emplace_back((*table_)[number]);
  }
  std::ranges::sort(names);
  return names;
}

WholeExpression::WholeExpression(std::string_view text, NameTable& names) : text_(text) {
  ExpressionReader(*this, names).read();
}

std::int64_t WholeExpression::computed(const WholeNames& names, const std::string& where) const {
  return ExpressionRun(*this, names, where).run<std::int64_t>(0);
}

std::optional<std::int64_t> WholeExpression::slope(const WholeNames& names, const std::string& where,
                                                   std::size_t number) const {
  const Term term = ExpressionRun(*this, names, where).run<Term>(number);
  if (term.bent) return std::nullopt;
  return term.slope;
}

std::int64_t whole_value(std::string_view text, const WholeNames& names, const std::string& where) {
  NameTable table = names.table();
  return WholeExpression(text, table).value(names, where);
}

}  // namespace plumb
