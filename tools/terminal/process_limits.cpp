#include "tools/terminal/process_limits.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <string_view>

#include <sys/resource.h>
#include <unistd.h>

#include "models/ground/error.hpp"
#include "tools/terminal/command_line.hpp"

namespace plumb {
namespace {

void lower_limit(int resource, const char* what, std::int64_t most) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) == 0) {
    limit.rlim_cur = std::min({limit.rlim_cur, limit.rlim_max, static_cast<rlim_t>(most)});
    if (::setrlimit(resource, &limit) == 0) return;
  }
  throw Error(std::string(what) + ": this system sets no limit: " + std::strerror(errno));
}

/// Runs within a signal, so that it may only write and end.
void end_out_of_time(int) {
  constexpr std::string_view kLine =
      "plumbline: error: this input takes more processor time than it was given; expected a smaller one\n";
  (void)!::write(STDERR_FILENO, kLine.data(), kLine.size());
  ::_exit(static_cast<int>(ExitStatus::kWrongInput));
}

}  // namespace

void ProcessLimits::put_in_force() const {
  if (seconds) {
    if (std::signal(SIGXCPU, end_out_of_time) == SIG_ERR) throw Error("time limit: this system tells none");
    lower_limit(RLIMIT_CPU, "time limit", *seconds);
  }
  if (bytes) lower_limit(RLIMIT_AS, "memory limit", *bytes);
}

}  // namespace plumb
