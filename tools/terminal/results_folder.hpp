#pragma once

#include <filesystem>

namespace plumb {

/// `tail` in the folder `results` of the working directory, or of a directory above the program. Throws `Error` when it
/// is in neither.
std::filesystem::path in_results(const std::filesystem::path& tail);

}  // namespace plumb
