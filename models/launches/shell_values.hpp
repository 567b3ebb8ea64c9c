#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "models/launches/shell_work.hpp"

namespace plumb {

/// The variables of a shell script: lists of words, of one word unless they are arrays. What is not defined has no
/// value, and words that use it hold its name between `kUnknownBegin` and `kUnknownEnd`.
class ShellValues {
 public:
  using Words = std::vector<std::string>;

  void set(std::string_view name, Words words);
  /// A variable of the environment that the caller gives.
  void give(std::string_view name, Words words);
  void append(std::string_view name, const Words& words, bool to_array);
  void unset(std::string_view name);
  /// Returns the value, which is not defined afterwards.
  std::optional<Words> take(std::string_view name);
  const Words* find(std::string_view name) const;
  const std::map<std::string, Words, std::less<>>& all() const { return values_; }
  /// Returns whether `find` was asked for it, before anything else was set in place of what was given.
  bool uses(std::string_view name) const { return asked_->contains(name) && !lost_.contains(name); }
  /// Returns all names that `find` of this object or of a copy was asked for.
  const std::set<std::string, std::less<>>& asked() const { return *asked_; }
  /// Returns the letters of all names and values, and a letter per word.
  std::size_t size() const;

  /// Returns what following the script has cost. When it is exhausted, words come to less than they would.
  ShellWork& work() const { return work_; }

  /// Returns the words that a token becomes: quotes go, variables and arithmetic are replaced, and what is not quoted
  /// falls into words at spaces. Nothing is run: what `$(...)` prints is not known.
  Words expanded(std::string_view token) const;
  /// Expands `token` without falling into words: what an assignment takes.
  std::string joined(std::string_view token) const;

 private:
  std::map<std::string, Words, std::less<>> values_;
  std::set<std::string, std::less<>> given_;
  std::set<std::string, std::less<>> lost_;  ///< given, and set to something else before anybody asked
  std::shared_ptr<std::set<std::string, std::less<>>> asked_ = std::make_shared<std::set<std::string, std::less<>>>();
  mutable ShellWork work_;
};

/// Returns the value of `expression` (as in `$(( ))`); none where something in it is not known or it is no arithmetic.
std::optional<std::int64_t> shell_arithmetic(std::string_view expression, const ShellValues& values);

/// Returns what a condition in the words of `[ ]`, `[[ ]]` or `test` comes to; none where that is not known: files, and
/// values that the script does not define but for being empty.
std::optional<bool> shell_condition(const std::vector<std::string>& words, ShellWork& work);

}  // namespace plumb
