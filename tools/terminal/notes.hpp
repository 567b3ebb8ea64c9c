#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "models/ground/error.hpp"
#include "models/ground/work_size.hpp"

namespace plumb {

/// Something that another of our programs can do. The message names its target and the command that builds it.
class NotInProgram : public Error {
 public:
  /// `what` was asked for, which needs `part`; `command` is the command line that needs it, such as "train".
  NotInProgram(const std::string& what, const std::string& part, const std::string& command, std::string program)
      : Error(what + ": this program was built without " + part + "; `./plumbline " + command +
              "` in the source tree builds the program that has it (its target: " + program + ")"),
        program_(std::move(program)) {}

  /// The target of the program that can.
  const std::string& program() const { return program_; }

 private:
  std::string program_;
};

/// Says a line that a user should read beside the answer. Goes to standard error, or to the innermost `CollectedNotes`
/// of this thread.
void note(std::string_view line);

/// While it lives, notes of this thread are kept instead of printed.
class CollectedNotes {
 public:
  CollectedNotes();
  CollectedNotes(const CollectedNotes&) = delete;
  CollectedNotes& operator=(const CollectedNotes&) = delete;
  ~CollectedNotes();

  const std::vector<std::string>& lines() const { return lines_; }

 private:
  friend void note(std::string_view line);

  std::vector<std::string> lines_;
  CollectedNotes* outer_;
};

/// Does `work`, whose notes wait until it is known that this program can do it: where it throws `NotInProgram`, the
/// program that can will say them itself.
void with_held_notes(const std::function<void()>& work);

/// Notes how many actions are worked on and what they take, where that is several seconds, so that nobody wonders.
/// `doing`: "checking".
void note_long_work(std::string_view doing, const WorkSize& size);

/// That note about a simulation.
void note_long_run(const WorkSize& size);

}  // namespace plumb
