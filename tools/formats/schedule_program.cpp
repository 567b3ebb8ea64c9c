#include "tools/formats/schedule_program.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "models/ground/error.hpp"
#include "models/ground/given_files.hpp"
#include "models/launches/read_launch.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

using WallClock = std::chrono::steady_clock;

constexpr std::string_view kPrefix = "exec:";
/// Between two looks whether a program that has closed its output has ended.
constexpr std::chrono::milliseconds kPause{10};

/// Both ends of a pipe, closed with this object and in programs that are started.
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

std::string seconds_text(std::chrono::milliseconds time) {
  const std::string rest = std::to_string(time.count() % 1000);
  const std::string whole = std::to_string(time.count() / 1000);
  return time.count() % 1000 == 0 ? whole + " s" : whole + "." + std::string(3 - rest.size(), '0') + rest + " s";
}

std::atomic<pid_t> group_that_ends_with_us = 0;
static_assert(std::atomic<pid_t>::is_always_lock_free);

/// While this object lives, a signal that ends us ends a group of processes, too. The terminal sends it to its own
/// group only.
class EndsWithUs {
 public:
  explicit EndsWithUs(pid_t group) {
    group_that_ends_with_us = group;
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
      before_[i] = std::signal(kSignals[i], [](int signal) {
        ::kill(-group_that_ends_with_us, SIGKILL);
        std::signal(signal, SIG_DFL);
        std::raise(signal);
      });
      if (before_[i] == SIG_IGN) std::signal(kSignals[i], SIG_IGN);
    }
  }
  EndsWithUs(const EndsWithUs&) = delete;
  EndsWithUs& operator=(const EndsWithUs&) = delete;
  ~EndsWithUs() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) std::signal(kSignals[i], before_[i]);
  }

 private:
  static constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP};
  std::array<void (*)(int), kSignals.size()> before_{};
};

/// A program that is running, with its standard output in a pipe. It is the first of a group of processes of its own,
/// which is killed with this object and when a signal ends us; the program itself is killed whenever we die.
class RunningProgram {
 public:
  RunningProgram(std::string path, const std::vector<std::string>& arguments, const ProgramLimits& limits)
      : path_(std::move(path)), limits_(limits), deadline_(WallClock::now() + limits.time), output_(path_) {
    start(arguments);
  }
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;
  ~RunningProgram() {
    if (child_ <= 0) return;
    ::kill(-child_, SIGKILL);
    group_.reset();
    while (waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

  /// All that it prints until it closes its output.
  std::string read() {
    std::string text;
    std::array<char, 65536> block;
    for (;;) {
      wait_for_output();
      const ssize_t count = ::read(output_.end(0), block.data(), block.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return text;
      text.append(block.data(), static_cast<std::size_t>(count));
      if (text.size() > limits_.output_bytes) {
        throw Error(path_ + ": printed more than " + std::to_string(limits_.output_bytes) +
                    " bytes, expected a schedule that is shorter; the program was killed");
      }
    }
  }

  /// Its status as of waitpid(2).
  int wait() {
    int status = 0;
    for (pid_t ended = 0; ended != child_;) {
      ended = waitpid(child_, &status, WNOHANG);
      if (ended < 0 && errno != EINTR) throw Error(path_ + ": cannot be waited for: " + std::strerror(errno));
      if (ended == 0) check_time();
      if (ended == 0) poll(nullptr, 0, static_cast<int>(kPause.count()));
    }
    ::kill(-child_, SIGKILL);  // what it has started and left behind
    group_.reset();
    child_ = -1;
    return status;
  }

 private:
  void start(const std::vector<std::string>& arguments) {
    std::vector<std::string> words{path_};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    Pipe failure(path_);
    const pid_t parent = getpid();
    child_ = fork();
    if (child_ < 0) throw Error(path_ + ": cannot run: " + std::strerror(errno));
    if (child_ == 0) run(argv, failure, parent);
    setpgid(child_, child_);  // both do it, since either may come first
    group_.emplace(child_);
    failure.close_end(1);
    output_.close_end(1);
    int reason = 0;
    if (::read(failure.end(0), &reason, sizeof reason) == sizeof reason) {
      throw Error(path_ + ": cannot run: " + std::strerror(reason));
    }
  }

  /// In the child: calls that may be made after fork in a program with threads, and nothing else.
  [[noreturn]] void run(const std::vector<char*>& argv, const Pipe& failure, pid_t parent) const {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent && dup2(output_.end(1), STDOUT_FILENO) >= 0) execv(argv.front(), argv.data());
    const int reason = errno;
    const ssize_t written = ::write(failure.end(1), &reason, sizeof reason);
    _exit(written == sizeof reason ? 126 : 127);
  }

  void check_time() const {
    if (WallClock::now() < deadline_) return;
    throw Error(path_ + ": has not ended after " + seconds_text(limits_.time) +
                ", expected a schedule by then; the program was killed");
  }

  void wait_for_output() const {
    pollfd waiting{output_.end(0), POLLIN, 0};
    for (;;) {
      check_time();
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - WallClock::now());
      if (poll(&waiting, 1, static_cast<int>(std::max<std::int64_t>(0, left.count()))) > 0) return;
    }
  }

  std::string path_;
  ProgramLimits limits_;
  WallClock::time_point deadline_;
  Pipe output_;
  pid_t child_ = -1;
  std::optional<EndsWithUs> group_;
};

}  // namespace

bool is_schedule_program(const std::string& name_or_file) { return name_or_file.starts_with(kPrefix); }

void check_is_no_program(const std::string& path) {
  std::error_code ignored;
  const bool reads_disk = GivenFiles::current().reach != FileReach::kGiven;
  if (!reads_disk || GivenFiles::find(path) != nullptr || !std::filesystem::is_regular_file(path, ignored)) return;
  std::array<char, 4> begin{};
  std::ifstream(path, std::ios::binary).read(begin.data(), begin.size());
  const std::string_view magic(begin.data(), begin.size());
  if (!magic.starts_with("#!") && magic !=
                                      "\x7f"
                                      "ELF")
    return;
  const bool may_launch = is_launch_path(path);
  throw Error(
      path + ": is a program, expected a schedule; " + shell_word("exec:" + path) + " would run it" +
      (may_launch ? ", and `plumbline simulate --job " + shell_word(path) + "` reads it as a launch script" : ""));
}

std::string schedule_program_output(const std::string& program, const std::vector<std::string>& arguments,
                                    const ProgramLimits& limits) {
  const std::string path = program.substr(is_schedule_program(program) ? kPrefix.size() : 0);
  if (path.empty()) throw Error(program + ": the file is missing, expected exec:FILE");
  RunningProgram running(path.find('/') == std::string::npos ? "./" + path : path, arguments, limits);
  const std::string text = running.read();
  const int status = running.wait();
  if (WIFSIGNALED(status)) throw Error(path + ": was terminated by signal " + std::to_string(WTERMSIG(status)));
  if (WEXITSTATUS(status) != 0) {
    throw Error(path + ": ended with status " + std::to_string(WEXITSTATUS(status)) + ", expected 0 and a schedule");
  }
  if (text.empty()) throw Error(path + ": printed nothing, expected a schedule");
  return text;
}

}  // namespace plumb
