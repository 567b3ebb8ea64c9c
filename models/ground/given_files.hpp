#pragma once

#include <map>
#include <string>
#include <string_view>

namespace plumb {

using TextsByName = std::map<std::string, std::string, std::less<>>;

/// Texts that stand in for files: where a program without a disk, such as a page in a browser, is given documents.
///
/// While an object lives, `read_text_file` and `file_exists` of its thread look here first, by the whole name. Objects
/// nest; the innermost one counts. The map must outlive the object.
class GivenFiles {
 public:
  explicit GivenFiles(const TextsByName* files);
  GivenFiles(const GivenFiles&) = delete;
  GivenFiles& operator=(const GivenFiles&) = delete;
  ~GivenFiles();

  /// Of this thread, for another one that works for it; null: none.
  static const TextsByName* current();
  /// Null where no text stands in for `name`.
  static const std::string* find(std::string_view name);

 private:
  const TextsByName* outer_;
};

}  // namespace plumb
