#include "tools/devices/python_run.hpp"

#include <cerrno>
#include <cstring>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "models/ground/error.hpp"

namespace plumb {

int run_program(const std::vector<std::string>& words) {
  std::vector<std::string> copies = words;
  std::vector<char*> argv;
  for (std::string& word : copies) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  const int reason = posix_spawnp(&child, argv.front(), nullptr, nullptr, argv.data(), environ);
  if (reason != 0) throw Error(words.front() + ": cannot run: " + std::strerror(reason));
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) throw Error(words.front() + ": cannot be waited for: " + std::strerror(errno));
  }
  constexpr int kSignalled = 128;
  return WIFSIGNALED(status) ? kSignalled + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace plumb
