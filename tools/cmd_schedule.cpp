#include "tools/arguments.hpp"
#include "tools/command.hpp"
#include "tools/cost_arguments.hpp"
#include "tools/output_file.hpp"
#include "tools/schedule_arguments.hpp"
#include "tools/schedule_formats.hpp"

namespace plumb {

ExitStatus run_schedule(const CommandLine& arguments) {
  ArgumentParser parser("schedule NAME -p P -m M [options]", "Writes the document of a schedule.");
  std::string name;
  std::string path = "-";
  std::string format_name;
  parser.positional(name, "NAME")
      .text("output,o", path, "FILE", "where to write (default: standard output)")
      .text("format", format_name, "FORMAT", "json, torch-csv or text (default: by the file's extension, or json)");
  ScheduleArguments schedule;
  CostArguments costs;
  schedule.add_to(parser);
  costs.add_search_to(parser);
  if (!parser.parse(arguments)) return ExitStatus::kDone;
  const ScheduleFormat& format = schedule_format(format_name, path);
  OutputFile file(path);
  const CostDocuments documents = costs.any() ? load_cost_documents(costs) : CostDocuments{};
  const auto devices = static_cast<std::int32_t>(schedule.devices.value_or(1));
  file.finish(format.write(load_schedule(name, schedule, search_goal(costs, documents, devices))));
  return ExitStatus::kDone;
}

}  // namespace plumb
