#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace plumb {

using TextsByName = std::map<std::string, std::string, std::less<>>;

/// What is read of the disk beside texts that stand in for files; later ones are stricter.
enum class FileReach : std::uint8_t {
  kAll,      ///< what a user names may also be a pipe
  kRegular,  ///< what a document names: another document's pipe would be waited for
  kGiven     ///< nothing
};

/// What a thread reads. The map must outlive it.
struct ReadableFiles {
  const TextsByName* texts = nullptr;  ///< texts that take the place of files; null: none
  FileReach reach = FileReach::kAll;
};

/// Texts that stand in for files: where a program without a disk, such as a page in a browser, is given documents.
///
/// While an object lives, the functions of `text_file.hpp` of its thread look here first, by the whole name, and read
/// of the disk what is within reach. Objects nest; the innermost texts and the strictest reach count.
class GivenFiles {
 public:
  explicit GivenFiles(const ReadableFiles& files);
  /// With the texts that are in force.
  explicit GivenFiles(FileReach reach) : GivenFiles({.texts = current().texts, .reach = reach}) {}
  GivenFiles(const GivenFiles&) = delete;
  GivenFiles& operator=(const GivenFiles&) = delete;
  ~GivenFiles();

  /// Returns the files of this thread, for another one that works for it.
  static const ReadableFiles& current();
  /// Returns the text that stands in for `name`, or null.
  static const std::string* find(std::string_view name);

 private:
  ReadableFiles outer_;
};

}  // namespace plumb
