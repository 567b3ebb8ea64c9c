#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace plumb {

/// `tail` in the nearest directory above the program that has it; nothing where none has.
std::optional<std::filesystem::path> above_program(const std::filesystem::path& tail);

/// `tail` in the folder `results` of the working directory, or of a directory above the program. Throws `Error` when it
/// is in neither.
std::filesystem::path in_results(const std::filesystem::path& tail);

/// Where a file is that claims name as "results/campaigns/slow.csv"; other names stay as they are.
std::string path_of_results(const std::string& name);

}  // namespace plumb
