#include "tools/ask/convert_question.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/commands/command.hpp"
#include "tools/formats/findings.hpp"
#include "tools/formats/schedule_formats.hpp"
#include "tools/options/option_table.hpp"
#include "tools/terminal/output_file.hpp"

namespace plumb {

ExitStatus run_convert(const CommandLine& arguments) {
  OptionTable parser(
      ConvertQuestion::kUsage,
      "Converts a schedule to another format. The format follows from the file's extension (.json, .csv, .txt,\n"
      ".megatron, .deepspeed) or from --from and --to:\n"
      "  json              the document of Plumbline\n"
      "  text              one line per device, such as d0: 0F0 0B0\n"
      "  torch-csv         PyTorch's CSV, compute actions only\n"
      "  torch-comms       PyTorch's CSV with sends and receives; torch-comms-late posts receives late\n"
      "  megatron          the pipeline options of Megatron-LM\n"
      "  zero-bubble       the Python table of the zero-bubble repository\n"
      "  deepspeed         DeepSpeed's instruction lists (can only be read)\n"
      "- is standard input or standard output. Exit status 3: the schedule is invalid, or would be in that format.");
  ConvertQuestion question;
  std::string out;
  question.add_to(parser, [&] { parser.positional(out, "OUT"); });
  if (!parse_command_line(parser, arguments)) return ExitStatus::kDone;
  if (question.to.empty()) check_extension(out, "--to");
  const ScheduleFormat& format = written_format(question.to, out);
  OutputFile file(out);
  const auto text = written_schedule(question.in, format, question.load());
  if (!text) return ExitStatus::kNo;
  file.finish(*text);
  return ExitStatus::kDone;
}

}  // namespace plumb
