#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plumb {

/// Names and their values: a few, which are copied often.
class WholeNames {
 public:
  WholeNames() = default;
  WholeNames(std::initializer_list<std::pair<std::string, std::int64_t>> all) : all_(all) {}

  /// 0 where it is new.
  std::int64_t& operator[](std::string_view name);
  /// Null where it is not there.
  const std::int64_t* find(std::string_view name) const;
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  /// Throws `Error` where it is not there.
  std::int64_t at(std::string_view name) const;
  std::vector<std::string_view> sorted() const;

 private:
  std::vector<std::pair<std::string, std::int64_t>> all_;
};

/// The value of an expression of whole numbers: names, + - * / (rounded down) and %, comparisons (1 or 0), min(a, b),
/// max(a, b), parentheses, and `NAME is WORD`, which stands in `names` as it is written. Throws `Error`, beginning with
/// `where`, for anything else, unknown names (with the nearest), divisors below 1 and values beyond 10^15.
std::int64_t whole_value(std::string_view text, const WholeNames& names, const std::string& where);

/// By how much the value grows with `name` where it grows evenly for every value of it; nothing where it may not.
std::optional<std::int64_t> whole_slope(std::string_view text, const WholeNames& names, const std::string& where,
                                        std::string_view name);

}  // namespace plumb
