#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

#include "models/ground/error.hpp"
#include "models/ground/given_files.hpp"
#include "models/ground/text_file.hpp"
#include "tools/ask/ask.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/commands/command.hpp"
#include "tools/terminal/command_line.hpp"
#include "tools/terminal/output_file.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

/// What the process may take from now on. Limits that are stricter already stay.
struct ProcessLimits {
  std::optional<std::int64_t> seconds{};  ///< of all processors together
  std::optional<std::int64_t> bytes{};    ///< of address space, which memory comes from

  /// Beyond `seconds` the process ends with one line and the status of wrong input; beyond `bytes` it gets no memory.
  /// Throws `Error` where the system refuses.
  void put_in_force() const;
};

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

void ProcessLimits::put_in_force() const {
  if (seconds) {
    if (std::signal(SIGXCPU, end_out_of_time) == SIG_ERR) throw Error("time limit: this system tells none");
    lower_limit(RLIMIT_CPU, "time limit", *seconds);
  }
  if (bytes) lower_limit(RLIMIT_AS, "memory limit", *bytes);
}

constexpr std::string_view kExample = R"({
  "version": 1,
  "ask": "simulate",
  "schedule": "zb-h1",
  "devices": 4,
  "microbatches": 8,
  "cost": "F=1,I=1,W=1",
  "want": ["summary"]
}
)";

}  // namespace

ExitStatus run_ask(const CommandLine& arguments) {
  OptionTable options("ask [FILE] [options]",
                      "Answers a request document (JSON) with an answer document: what simulate, schedule, validate,\n"
                      "convert, sweep, plan, search, campaign, compare, trace and stability compute, without printing\n"
                      "tables or writing files. FILE is the request; without it, standard input. Exit status 3: the\n"
                      "answer is no, as for the command of the same name.");
  std::vector<std::string> files;
  std::string output = "-";
  bool example = false;
  bool schema = false;
  bool only_files = false;
  ProcessLimits limits;
  std::string memory;
  options.positionals(files, 0, "FILE")
      .text("output,o", output, "FILE", "write the answer here (default: -)")
      .flag("example", example, "print a request to start from")
      .flag("schema", schema, "print the JSON Schema of all requests");
  options.group("Requests of strangers")
      .flag("only-files", only_files, "read nothing but the texts of the request's `files`, as its `only_files` does")
      .whole("time-limit", limits.seconds, {}, "seconds of processor time; beyond them the exit status is 2")
      .text("memory-limit", memory, "BYTES", "address space that the answer may take, such as 4GiB");
  if (!parse_command_line(options, arguments)) return ExitStatus::kDone;
  if (example) {
    print(kExample);
    return ExitStatus::kDone;
  }
  OutputFile file(output);
  if (schema) {
    file.finish(schema_of_requests());
    return ExitStatus::kDone;
  }
  if (!memory.empty()) limits.bytes = parse_bytes(memory, "--memory-limit");
  limits.put_in_force();
  const std::string request = read_text_file(files.empty() || files.front() == "-" ? "/dev/stdin" : files.front());
  const GivenFiles readable(only_files ? FileReach::kGiven : FileReach::kAll);
  const Reply reply = reply_to(request);
  file.finish(reply.document);
  return reply.status;
}

}  // namespace plumb
