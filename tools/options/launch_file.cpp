#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "models/ground/error.hpp"
#include "models/ground/given_files.hpp"
#include "models/ground/text_file.hpp"
#include "models/launches/read_launch.hpp"
#include "tools/options/launch_arguments.hpp"
#include "tools/terminal/notes.hpp"

namespace plumb {

LaunchSettings LaunchArguments::settings() const {
  if (told)
    note("plumbline: note: " + printable(file) + " is read as --job, a launch file; exec:FILE would run a program");
  const std::filesystem::path path(file);
  LaunchContext context;
  for (const std::string& one : set) {
    auto [name, value] = parse_assignment(one, "--job-set");
    context.given[std::move(name)] = std::move(value);
  }
  context.arguments = split(arguments, ' ');
  std::erase(context.arguments, "");
  context.open = [folder = path.parent_path()](const std::string& name) -> std::optional<std::string> {
    const std::filesystem::path beside = folder / std::filesystem::path(name);
    if (!file_exists(beside) || is_folder(beside)) return std::nullopt;
    const GivenFiles named(FileReach::kRegular);
    return read_text_file(beside, kLaunchFile);
  };
  return launch_settings(read_text_file(path, kLaunchFile), file, context);
}

LaunchJob LaunchArguments::read() const { return launch_job(settings()); }

}  // namespace plumb
