#include "tests/support/run_command.hpp"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include <sys/wait.h>

#include "tests/support/scratch_directory.hpp"

namespace plumb::testing {
namespace {

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

}  // namespace

std::filesystem::path program() { return PLUMB_PROGRAM; }

CommandResult run_command(const std::string& command, const std::filesystem::path& directory) {
  const ScratchDirectory streams;
  streams.write("script", "cd -- " + quoted(directory.string()) + "\nPATH=" + quoted(program().parent_path().string()) +
                              ":$PATH\n" + command);
  const std::string line = "exec bash " + quoted((streams.path() / "script").string()) + " >" +
                           quoted((streams.path() / "out").string()) + " 2>" +
                           quoted((streams.path() / "err").string()) + " </dev/null";
  const int status = std::system(line.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), file_text(streams.path() / "out"),
          file_text(streams.path() / "err")};
}

std::string file_text(const std::filesystem::path& path) {
  std::ostringstream text;
  if (std::ifstream in(path, std::ios::binary); in) text << in.rdbuf();
  return std::move(text).str();
}

}  // namespace plumb::testing
