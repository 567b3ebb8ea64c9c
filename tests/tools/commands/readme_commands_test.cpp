#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/run_command.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tests/support/source_directory.hpp"

TEST_SUITE_BEGIN("tools");

namespace {

using namespace plumb::testing;

/// One `$ command` of a console block with the output that the document shows; none shown: any output will do.
struct DocumentedCommand {
  std::string document;
  std::string command;
  std::vector<std::string> output;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

/// Commands of the blocks fenced with ```console.
std::vector<DocumentedCommand> commands_of(const std::filesystem::path& document, const std::string& name) {
  std::vector<DocumentedCommand> commands;
  bool inside = false;
  for (const std::string& line : lines_of(file_text(document))) {
    if (line.starts_with("```")) {
      inside = !inside && line == "```console";
    } else if (inside && line.starts_with("$ ")) {
      commands.push_back({name, line.substr(2), {}});
    } else if (inside && !commands.empty()) {
      commands.back().output.push_back(line);
    }
  }
  return commands;
}

std::vector<DocumentedCommand> all_commands() {
  const std::filesystem::path root = plumb::testing::in_source("");
  std::vector<std::filesystem::path> documents;
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    if (entry.path().extension() == ".md") documents.push_back(entry.path());
  }
  for (const char* folder : {"docs", "models", "schedules", "sim", "trainer", "tools", "results"}) {
    if (!std::filesystem::exists(root / folder)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      if (entry.path().extension() == ".md") documents.push_back(entry.path());
    }
  }
  std::sort(documents.begin(), documents.end());
  std::vector<DocumentedCommand> commands;
  for (const auto& document : documents) {
    for (auto& command : commands_of(document, std::filesystem::relative(document, root).string())) {
      commands.push_back(std::move(command));
    }
  }
  return commands;
}

/// The shown lines are there in order; a shown `...` stands for any number of lines.
bool shows(const std::vector<std::string>& shown, const std::vector<std::string>& printed) {
  std::size_t at = 0;
  bool skipping = false;
  for (const std::string& line : shown) {
    if (line == "...") {
      skipping = true;
      continue;
    }
    while (skipping && at < printed.size() && printed[at] != line) ++at;
    if (at == printed.size() || printed[at++] != line) return false;
    skipping = false;
  }
  return skipping || at == printed.size();
}

/// A place that looks like the repository to a reader who types the commands, but keeps what they write apart.
void make_checkout(const ScratchDirectory& scratch) {
  const std::filesystem::path root = plumb::testing::in_source("");
  for (const char* name : {"models", "schedules", "sim", "trainer", "tools", "tests", "results"}) {
    std::filesystem::create_directory_symlink(root / name, scratch.path() / name);
  }
  std::filesystem::create_symlink(program(), scratch.path() / "plumbline");
}

}  // namespace

TEST_CASE("every command in a document does what the document says") {
  const ScratchDirectory scratch;
  make_checkout(scratch);
  const std::vector<DocumentedCommand> commands = all_commands();
  REQUIRE(!commands.empty());
  for (const DocumentedCommand& documented : commands) {
    CAPTURE(documented.document);
    CAPTURE(documented.command);
    const CommandResult result = run_command(documented.command, scratch.path());
    CAPTURE(result.err);
    CHECK(result.status == 0);
    if (documented.output.empty()) continue;
    CAPTURE(result.out);
    CHECK(shows(documented.output, lines_of(result.out)));
  }
}

TEST_CASE("a document that shows other output than the program prints is noticed") {
  CHECK(shows({"a", "b"}, {"a", "b"}));
  CHECK(shows({"a", "...", "d"}, {"a", "b", "c", "d"}));
  CHECK(shows({"a", "..."}, {"a", "b"}));
  CHECK(!shows({"a"}, {"a", "b"}));
  CHECK(!shows({"a", "c"}, {"a", "b"}));
  CHECK(!shows({"a", "...", "e"}, {"a", "b", "c", "d"}));
}
