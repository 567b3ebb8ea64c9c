#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "models/ground/text_file.hpp"
#include "tools/ask/ask.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/commands/command.hpp"
#include "tools/terminal/output_file.hpp"

namespace plumb {

ExitStatus run_ask(const CommandLine& arguments) {
  OptionTable options("ask [FILE] [options]",
                      "Answers a request document (JSON) with an answer document: what simulate, schedule, sweep and\n"
                      "validate compute, without printing tables or writing files. FILE is the request; without it,\n"
                      "standard input. Exit status 3: the answer is no, as for the command of the same name.");
  std::vector<std::string> files;
  std::string output = "-";
  options.positionals(files, 0, "FILE").text("output,o", output, "FILE", "write the answer here (default: -)");
  if (!parse_command_line(options, arguments)) return ExitStatus::kDone;
  OutputFile file(output);
  const std::string answer = ask(read_text_file(files.empty() || files.front() == "-" ? "/dev/stdin" : files.front()));
  file.finish(answer);
  return nlohmann::json::parse(answer).at("status") == 0 ? ExitStatus::kDone : ExitStatus::kNo;
}

}  // namespace plumb
