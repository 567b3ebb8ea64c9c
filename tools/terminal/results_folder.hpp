#pragma once

#include <filesystem>
#include <optional>

namespace plumb {

/// `tail` in the nearest directory above the program that has it; nothing where none has.
std::optional<std::filesystem::path> above_program(const std::filesystem::path& tail);

/// `tail` in the folder `results` of the working directory, or of a directory above the program. Throws `Error` when it
/// is in neither.
std::filesystem::path in_results(const std::filesystem::path& tail);

}  // namespace plumb
