#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace plumb {

/// The whole file. Throws `Error` with the name and the reason when it cannot be read, is a directory, or is longer
/// than `most_bytes` (device files never end).
std::string read_text_file(const std::filesystem::path& path, std::size_t most_bytes = std::size_t{1} << 32U);

/// Whether a name on the command line means a document on disk: it has a '/' or ends in ".json" or ".txt".
bool is_document_path(std::string_view name);

}  // namespace plumb
