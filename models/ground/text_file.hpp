#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "models/ground/file_kinds.hpp"

namespace plumb {

/// Returns the whole file, or the text that stands in for it (`GivenFiles`). Throws `Error` with the name and the
/// reason when it cannot be read, is a directory or a device, or is longer than files of its kind may be: at once where
/// the system knows its size, else when the limit is reached.
std::string read_text_file(const std::filesystem::path& path, const FileKind& kind = kDocumentFile);

/// Returns whether there is a file of this name, or a text that stands in for it.
bool file_exists(const std::filesystem::path& path);

/// Returns whether there is a regular file of this name (no directory, pipe or device), or a text that stands in for
/// it.
bool is_plain_file(const std::filesystem::path& path);

/// Returns whether there is a directory of this name; a text never stands in for one.
bool is_folder(const std::filesystem::path& path);

/// Returns what stands in the directory, in alphabetical order. Throws `Error` where it cannot be read or holds more
/// than `most`.
std::vector<std::string> folder_entries(const std::filesystem::path& path, std::size_t most);

/// Returns whether a name on the command line means a document on disk: it has a '/' or ends in ".json" or ".txt".
bool is_document_path(std::string_view name);

}  // namespace plumb
