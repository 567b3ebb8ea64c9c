#include "tools/arguments.hpp"
#include "tools/command.hpp"
#include "tools/output_file.hpp"
#include "tools/schedule_formats.hpp"

namespace plumb {

ExitStatus run_convert(const CommandLine& arguments) {
  ArgumentParser parser("convert IN OUT [options]",
                        "Rewrites a schedule in another format: json, torch-csv or text, by extension (.json, .csv,\n"
                        ".txt) or as given. - is standard input or output.");
  std::string in;
  std::string out;
  std::string from;
  std::string to;
  parser.positional(in, "IN")
      .positional(out, "OUT")
      .text("from", from, "FORMAT", "format of IN")
      .text("to", to, "FORMAT", "format of OUT");
  if (!parser.parse(arguments)) return ExitStatus::kDone;
  const ScheduleFormat& format = schedule_format(to, out);
  OutputFile file(out);
  file.finish(format.write(read_schedule(in, from)));
  return ExitStatus::kDone;
}

}  // namespace plumb
