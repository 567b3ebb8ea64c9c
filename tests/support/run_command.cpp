#include "tests/support/run_command.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <vector>

#include <sys/wait.h>

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

ScratchDirectory::ScratchDirectory() {
  std::string name = (std::filesystem::temp_directory_path() / "plumbline-test-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make " + name);
  path_ = name;
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void ScratchDirectory::write(const std::string& name, const std::string& text) const {
  std::ofstream(path_ / name, std::ios::binary) << text;
}

std::string ScratchDirectory::listing() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path_))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : " ") + name;
  return text;
}

std::string file_text(const std::filesystem::path& path) {
  std::ostringstream text;
  if (std::ifstream in(path, std::ios::binary); in) text << in.rdbuf();
  return std::move(text).str();
}

}  // namespace plumb::testing
