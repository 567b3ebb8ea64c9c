#include <string>
#include <string_view>
#include <vector>

#include "models/ground/given_files.hpp"
#include "models/ground/text_file.hpp"
#include "tools/ask/ask.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/commands/command.hpp"
#include "tools/terminal/output_file.hpp"
#include "tools/terminal/process_limits.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {

namespace {

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
