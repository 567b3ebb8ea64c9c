#include <sstream>

#include "tools/arguments.hpp"
#include "tools/command.hpp"
#include "tools/findings.hpp"
#include "tools/output_file.hpp"
#include "tools/schedule_formats.hpp"

namespace plumb {

ExitStatus run_validate(const CommandLine& arguments) {
  ArgumentParser parser("validate FILE [options]",
                        "Checks a schedule document: exit status 0 when it is valid, 3 with all findings when not.");
  std::string path;
  std::string format;
  parser.positional(path, "FILE").text("from", format, "FORMAT", "json, torch-csv or text (default: by extension)");
  if (!parser.parse(arguments)) return ExitStatus::kDone;
  const Schedule schedule = read_schedule(path, format);
  const std::vector<Violation> violations = check_schedule(schedule);
  if (!violations.empty()) {
    print(findings_text(path, violations));
    return ExitStatus::kNo;
  }
  std::int64_t actions = 0;
  for (const DeviceList& list : schedule.devices) actions += expanded_size(list);
  std::ostringstream out;
  out << path << ": valid: " << schedule.num_devices << " devices, " << schedule.num_stages << " stages, "
      << schedule.num_microbatches << " microbatches, " << actions << " actions\n";
  print(out.str());
  return ExitStatus::kDone;
}

}  // namespace plumb
