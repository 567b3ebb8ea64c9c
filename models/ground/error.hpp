#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace plumb {

/// `text` on one line that a terminal shows as it is: control characters, and bytes that are no UTF-8, as "\n" or
/// "\x1b".
std::string printable(std::string_view text);

/// Input that the user can fix. The message is one line: where, what, and what was expected.
/// `main` catches it once, prints it and exits with status 2.
class Error : public std::runtime_error {
 public:
  /// `message`, which quotes what the user gave, is shown as `printable` shows it.
  explicit Error(std::string_view message);
};

/// Several mistakes of one input. `main` prints a line for each of them; `what()` is the first.
class Errors : public Error {
 public:
  /// `messages` has at least one.
  explicit Errors(const std::vector<std::string>& messages);

  /// Each on one line, as `printable` shows it.
  const std::vector<std::string>& messages() const { return messages_; }

 private:
  std::vector<std::string> messages_;
};

/// What was asked for was understood, and the answer is that it cannot run: a deadlock, or a schedule that contradicts
/// itself. `main` prints it and exits with status 3.
class CannotRun : public Error {
 public:
  using Error::Error;
};

/// Returns the member of `candidates` with the smallest edit distance to `name`; empty if no candidate is near
/// (distance above a third of the longer length). Ties go to the earlier candidate.
std::string nearest_name(std::string_view name, std::span<const std::string_view> candidates);

/// Throws `Error("unknown <what> '<name>' (did you mean '<nearest>'?)")`, or lists the known names when none is near.
[[noreturn]] void throw_unknown(std::string_view what, std::string_view name,
                                std::span<const std::string_view> candidates);

}  // namespace plumb
