#include <iostream>
#include <optional>
#include <utility>

#include "models/ground/error.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/commands/command.hpp"
#include "tools/formats/findings.hpp"
#include "tools/formats/schedule_formats.hpp"
#include "tools/formats/schedule_guide.hpp"
#include "tools/options/cost_arguments.hpp"
#include "tools/options/option_table.hpp"
#include "tools/options/schedule_arguments.hpp"
#include "tools/terminal/output_file.hpp"

namespace plumb {
namespace {

struct ScheduleCommand {
  std::string name;
  std::string path = "-";
  std::string format;
  bool explain = false;
  std::string layers;
  ScheduleArguments size;
  CostArguments costs;

  bool parse(const CommandLine& arguments) {
    OptionTable parser("schedule NAME|FILE [options]",
                       "Writes a schedule to a file, or explains how to run it in PyTorch and Megatron-LM.");
    parser.positional(name, "NAME|FILE")
        .text("output,o", path, "FILE", "file to write (default: standard output)")
        .text("format", format, "FORMAT",
              "json, text, torch-csv, torch-comms, torch-comms-late or megatron\n(default: by the file's extension, or "
              "json)")
        .flag("explain", explain, "explain how to run it in PyTorch and Megatron-LM: files, classes, flags, layout")
        .text("layers", layers, "N", "with --explain: decoder layers of the model (26), or of each stage (3,4,4,3)");
    size.runs_programs = true;
    size.add_to(parser);
    costs.add_search_to(parser);
    return parse_command_line(parser, arguments);
  }
};

/// The text to write; no value when the schedule is invalid and all findings have been printed.
std::optional<std::string> text_of(const ScheduleCommand& command, const ScheduleFormat& format, Schedule schedule) {
  if (!command.explain) return written_schedule(command.name, format, std::move(schedule));
  if (const auto violations = check_schedule(schedule); !violations.empty()) {
    std::cerr << findings_text(command.name, violations);
    return std::nullopt;
  }
  const bool known = !command.layers.empty();
  return schedule_guide(schedule,
                        known ? parse_layers(command.layers, schedule.num_stages) : std::vector<std::int64_t>{});
}

}  // namespace

ExitStatus run_schedule(const CommandLine& arguments) {
  ScheduleCommand command;
  if (!command.parse(arguments)) return ExitStatus::kDone;
  if (!command.layers.empty() && !command.explain)
    throw Error("--layers: is used by --explain only, expected --explain with it");
  if (command.format.empty() && !command.explain) check_extension(command.path, "--format");
  const ScheduleFormat& format = written_format(command.format, command.path);
  OutputFile file(command.path);
  const CostDocuments documents = command.costs.any() ? load_cost_documents(command.costs) : CostDocuments{};
  const auto devices = static_cast<std::int32_t>(command.size.devices.value_or(1));
  const auto text = text_of(command, format,
                            load_schedule(command.name, command.size, search_goal(command.costs, documents, devices)));
  if (!text) return ExitStatus::kNo;
  file.finish(*text);
  return ExitStatus::kDone;
}

}  // namespace plumb
