#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace plumb {

/// What begins and ends the name of something that a launch file uses and does not define, inside of a value.
inline constexpr char kUnknownBegin = '\x01';
inline constexpr char kUnknownEnd = '\x02';

/// Where a setting stands that the caller gives instead of the file.
inline constexpr const char* kGivenPlace = "--job-set";

/// A value of a launch file, and where it stands ("train.sh:12").
struct Setting {
  std::vector<std::string> values;  ///< none: a flag that was given
  std::string place;
  std::vector<std::string> spelled{};  ///< name and values as the file has them; none: as they are here
};

/// The values of a launch file by name: flags of a command line, keys of a table joined by '.'. Names are in lower
/// case, with '_' between words. What nobody asked for can be listed.
class Settings {
 public:
  explicit Settings(std::string source) : source_(std::move(source)) {}

  const std::string& source() const { return source_; }
  /// A later value replaces an earlier one, as in all the formats that are read.
  void set(std::string_view name, Setting setting);
  void remove(std::string_view name);
  /// Returns whether `name` has a value: it is given, and not "none" or "null".
  bool has(std::string_view name) const;
  const Setting* find(std::string_view name) const;

  /// The functions below throw `Error`, with the place, for a value that is not known, or is no such thing.
  bool flag(std::string_view name, bool otherwise = false) const;
  std::string text(std::string_view name, std::string_view otherwise = "") const;
  /// Reads a whole number from `least` to 2^53.
  std::int64_t whole(std::string_view name, std::int64_t otherwise, std::int64_t least = 1) const;
  /// Reads a whole number that must be given; `what` says what it is.
  std::int64_t required(std::string_view name, std::string_view what) const;
  double real(std::string_view name, double otherwise) const;
  /// Returns all words of the value.
  std::vector<std::string> list(std::string_view name) const;

  /// "train.sh:12: num_layers: expected a whole number, found 'x'".
  [[noreturn]] void fail(std::string_view name, std::string_view message) const;
  /// Returns the names that no function above was asked for, in their order.
  std::vector<std::string> unread() const;
  /// Throws `Error` with the nearest name that was asked for, where the caller gave `name`.
  void refuse_given(std::string_view name) const;
  /// Counts as asked for.
  void note_read(std::string_view name) const;
  const std::map<std::string, Setting, std::less<>>& all() const { return settings_; }

 private:
  std::string source_;
  std::map<std::string, Setting, std::less<>> settings_;
  mutable std::set<std::string, std::less<>> read_;
};

/// "--Num-Layers" and "num_layers" are both "num_layers".
std::string setting_name(std::string_view name);
/// Returns the first thing in `text` that its file does not define; empty: all is known.
std::string unknown_in(std::string_view text);

}  // namespace plumb
