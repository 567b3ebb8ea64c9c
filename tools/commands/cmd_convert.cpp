#include <iostream>
#include <utility>

#include "tools/commands/command.hpp"
#include "tools/formats/findings.hpp"
#include "tools/formats/schedule_formats.hpp"
#include "tools/options/arguments.hpp"
#include "tools/options/schedule_arguments.hpp"
#include "tools/terminal/output_file.hpp"

namespace plumb {

ExitStatus run_convert(const CommandLine& arguments) {
  ArgumentParser parser(
      "convert IN OUT [options]",
      "Rewrites a schedule in another format, by extension (.json, .csv, .txt, .megatron, .deepspeed) or as given:\n"
      "json, text, torch-csv (compute only), torch-comms and torch-comms-late (with PyTorch's transfers; late "
      "receives),\n"
      "megatron (pipeline options), zero-bubble (Python table); deepspeed (instruction lists), read only.\n"
      "- is standard input or output.\n"
      "Exit status 3: the schedule is invalid, or would be in that format.");
  std::string in;
  std::string out;
  std::string from;
  std::string to;
  parser.positional(in, "IN")
      .positional(out, "OUT")
      .text("from", from, "FORMAT", "format of IN (default: by extension, then by how it begins)")
      .text("to", to, "FORMAT", "format of OUT");
  ScheduleArguments size;
  size.add_to(parser);
  if (!parser.parse(arguments)) return ExitStatus::kDone;
  if (to.empty()) check_extension(out, "--to");
  const ScheduleFormat& format = written_format(to, out);
  OutputFile file(out);
  const auto text = written_schedule(in, format, from.empty() ? load_schedule(in, size) : read_schedule(in, from));
  if (!text) return ExitStatus::kNo;
  file.finish(*text);
  return ExitStatus::kDone;
}

}  // namespace plumb
