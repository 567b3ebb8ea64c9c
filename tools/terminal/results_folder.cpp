#include "tools/terminal/results_folder.hpp"

#include <string_view>
#include <system_error>

#include "models/ground/error.hpp"

namespace plumb {

std::optional<std::filesystem::path> above_program(const std::filesystem::path& tail) {
  std::error_code ignored;
  std::filesystem::path directory = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  for (; directory.has_relative_path(); directory = directory.parent_path()) {
    if (std::filesystem::exists(directory / tail)) return directory / tail;
  }
  return std::nullopt;
}

std::filesystem::path in_results(const std::filesystem::path& tail) {
  const std::filesystem::path whole = std::filesystem::path("results") / tail;
  if (std::filesystem::exists(whole)) return whole;
  if (const auto found = above_program(whole)) return *found;
  throw Error("no " + whole.string() + " here or above the program, expected it named by an option");
}

std::string path_of_results(const std::string& name) {
  constexpr std::string_view kFolder = "results/";
  return name.starts_with(kFolder) ? in_results(name.substr(kFolder.size())).string() : name;
}

}  // namespace plumb
