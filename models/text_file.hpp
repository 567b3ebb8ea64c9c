#pragma once

#include <filesystem>
#include <string>

namespace plumb {

/// The whole file. Throws `Error` with the name and the reason when it cannot be read or is a directory.
std::string read_text_file(const std::filesystem::path& path);

}  // namespace plumb
