#include "tools/formats/schedule_program.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "models/ground/error.hpp"
#include "tools/formats/schedule_formats.hpp"

extern char** environ;

namespace plumb {
namespace {

/// Both ends of a pipe, closed with this object and in programs that other threads start.
class Pipe {
 public:
  explicit Pipe(const std::string& path) {
    if (pipe2(ends_.data(), O_CLOEXEC) != 0) throw Error(path + ": cannot run: " + std::strerror(errno));
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close_end(0);
    close_end(1);
  }

  int end(std::size_t which) const { return ends_[which]; }

  void close_end(std::size_t which) {
    if (ends_[which] >= 0) close(ends_[which]);
    ends_[which] = -1;
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

/// Starts the program with its standard output in the pipe.
pid_t start(const std::string& path, const std::vector<std::string>& arguments, const Pipe& output) {
  std::vector<std::string> words{path};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, output.end(1), STDOUT_FILENO);
  pid_t child = 0;
  const int failure = posix_spawn(&child, path.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) throw Error(path + ": cannot run: " + std::strerror(failure));
  return child;
}

std::string read_all(int descriptor) {
  std::string text;
  std::array<char, 65536> block;
  for (;;) {
    const ssize_t count = read(descriptor, block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(block.data(), static_cast<std::size_t>(count));
  }
}

int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

bool is_schedule_program(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored) || access(path.c_str(), X_OK) != 0) return false;
  return std::ranges::none_of(schedule_formats(), [&](const ScheduleFormat& format) {
    return !format.extension.empty() && path.ends_with(format.extension);
  });
}

std::string schedule_program_output(const std::string& path, const std::vector<std::string>& arguments) {
  const std::string program = path.find('/') == std::string::npos ? "./" + path : path;
  Pipe output(path);
  const pid_t child = start(program, arguments, output);
  output.close_end(1);
  std::string text = read_all(output.end(0));
  const int status = wait_for(child);
  if (WIFSIGNALED(status)) throw Error(path + ": was terminated by signal " + std::to_string(WTERMSIG(status)));
  if (WEXITSTATUS(status) != 0) {
    throw Error(path + ": ended with status " + std::to_string(WEXITSTATUS(status)) + ", expected 0 and a schedule");
  }
  if (text.empty()) throw Error(path + ": printed nothing, expected a schedule");
  return text;
}

}  // namespace plumb
