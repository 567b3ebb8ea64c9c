#pragma once

#include <string>
#include <string_view>

#include "tools/terminal/output_file.hpp"

namespace plumb {

/// A file that has each piece of text as soon as it is added, so that whatever ends the program leaves what was known.
/// The end replaces it as a whole. Standard output, pipes and devices get the whole text at the end only.
class GrowingFile {
 public:
  /// Leaves what is there until the first piece. Throws `Error` when the path cannot be written.
  explicit GrowingFile(const std::string& path);
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;
  ~GrowingFile();

  /// Throws `Error` when it cannot be written.
  void add(std::string_view text);
  /// Writes all of the file anew, as `OutputFile` does. Throws as it does.
  void finish(std::string_view whole);

 private:
  /// Throws for a reason other than 0.
  void check(int reason) const;

  OutputFile whole_;
  bool grows_;
  int descriptor_ = -1;
};

}  // namespace plumb
