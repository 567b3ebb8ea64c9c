#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "models/ground/error.hpp"
#include "models/ground/text_file.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/commands/command.hpp"
#include "tools/terminal/output_file.hpp"
#include "tools/terminal/results_folder.hpp"

namespace plumb {
namespace {

/// Where the page is: installed with the program, or as `./plumbline web` leaves it.
std::string explorer_page() {
  for (const char* place : {"share/plumbline/explorer.html", "build/web/tools/web/explorer.html"}) {
    if (const std::optional<std::filesystem::path> path = above_program(place)) return path->string();
  }
  throw Error(
      "explore: the explorer's page has not been made; expected it beside the program (./plumbline web makes it)");
}

}  // namespace

ExitStatus run_explore(const CommandLine& arguments) {
  OptionTable options(
      "explore [FILE]",
      "Writes the explorer: one page that simulates in a browser, without a network, while its controls\n"
      "are moved. FILE is where the page goes (default: explorer.html).");
  std::vector<std::string> files;
  options.positionals(files, 0, "FILE");
  if (!parse_command_line(options, arguments)) return ExitStatus::kDone;
  if (files.size() > 1) throw Error("explore: " + std::to_string(files.size()) + " files, expected one");
  const std::string page = read_text_file(explorer_page());
  OutputFile file(files.empty() ? "explorer.html" : files.front());
  file.finish(page);
  if (!file.is_standard_output()) print(file.path() + ": open it in a browser\n");
  return ExitStatus::kDone;
}

}  // namespace plumb
