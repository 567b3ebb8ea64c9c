#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plumb {

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

}  // namespace plumb
