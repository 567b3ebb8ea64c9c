#include <nlohmann/json.hpp>

#include "schedules/catalogue/registry.hpp"
#include "tools/commands/command.hpp"
#include "tools/options/arguments.hpp"
#include "tools/terminal/output_file.hpp"
#include "tools/terminal/text_table.hpp"

namespace plumb {
namespace {

std::string catalogue_json() {
  auto rows = nlohmann::ordered_json::array();
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    rows.push_back({{"name", spec.name},
                    {"summary", spec.summary},
                    {"year", spec.year},
                    {"source", spec.source},
                    {"synchronous", spec.synchronous},
                    {"weights", spec.weights},
                    {"placement", spec.placement},
                    {"needs", spec.needs},
                    {"options", spec.options},
                    {"alias_of", spec.alias_of}});
  }
  return rows.dump(2) + "\n";
}

std::string catalogue_names() {
  std::string text;
  for (const ScheduleSpec& spec : schedule_catalogue()) text += std::string(spec.name) + "\n";
  return text;
}

std::string catalogue_table() {
  TextTable table({{"name"}, {"year", '>'}, {"updates"}, {"weights"}, {"placement"}, {"needs"}, {"what it does"}});
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    table.add_row({std::string(spec.name), std::to_string(spec.year), spec.synchronous ? "synchronous" : "asynchronous",
                   std::string(spec.weights), std::string(spec.placement),
                   spec.needs.empty() ? "-" : std::string(spec.needs), std::string(spec.summary)});
  }
  return table.to_string();
}

}  // namespace

ExitStatus run_schedules(const CommandLine& arguments) {
  ArgumentParser parser("schedules [options]", "Lists the schedules that Plumbline knows.");
  bool json = false;
  bool names = false;
  parser.flag("json", json, "print JSON with everything known about each schedule");
  parser.flag("names", names, "print only the names, one per line");
  if (!parser.parse(arguments)) return ExitStatus::kDone;
  print(json ? catalogue_json() : names ? catalogue_names() : catalogue_table());
  return ExitStatus::kDone;
}

}  // namespace plumb
