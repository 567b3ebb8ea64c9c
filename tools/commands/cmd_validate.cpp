#include <sstream>
#include <utility>
#include <vector>

#include "schedules/formats/transfer_hang.hpp"
#include "tools/commands/command.hpp"
#include "tools/formats/findings.hpp"
#include "tools/formats/schedule_formats.hpp"
#include "tools/options/arguments.hpp"
#include "tools/options/choice.hpp"
#include "tools/options/schedule_arguments.hpp"
#include "tools/terminal/output_file.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

/// The models of transfers named by "rendezvous,pair-fifo" or "all".
std::vector<TransferModel> parse_models(const std::string& text) {
  if (text == "all") return {TransferModel::kBuffered, TransferModel::kRendezvous, TransferModel::kPairFifo};
  std::vector<TransferModel> models;
  for (const std::string& name : split(text, ',')) {
    models.push_back(choice<TransferModel>(kTransferModelNames, "transfer model", name));
  }
  return models;
}

std::string size_text(const std::string& path, const Schedule& schedule) {
  std::int64_t actions = 0;
  for (const DeviceList& list : schedule.devices) actions += expanded_size(list);
  std::ostringstream out;
  out << path << ": valid: " << schedule.num_devices << " devices, " << schedule.num_stages << " stages, "
      << schedule.num_microbatches << " microbatches, " << actions << " actions\n";
  return out.str();
}

}  // namespace

ExitStatus run_validate(const CommandLine& arguments) {
  ArgumentParser parser(
      "validate NAME|FILE [options]",
      "Checks that a schedule is complete, in a possible order, and free of deadlocks. Exit status 0: it is valid;\n"
      "3: it is not, and all findings are printed.");
  std::string path;
  std::string format;
  std::string transfers;
  ScheduleArguments size;
  parser.positional(path, "NAME|FILE")
      .text("from", format, "FORMAT",
            "json, torch-csv, text, deepspeed, megatron or zero-bubble (default: by the extension)")
      .text("transfers", transfers, "MODELS",
            "also look for sends and receives that would hang when messages are buffered, rendezvous or pair-fifo "
            "(several with commas, or all)");
  size.add_to(parser);
  if (!parser.parse(arguments)) return ExitStatus::kDone;
  const std::vector<TransferModel> models = parse_models(transfers);
  const Schedule schedule = format.empty() ? load_schedule(path, size) : read_schedule(path, format);
  std::vector<Violation> violations = check_schedule(schedule);
  if (violations.empty()) {
    for (const TransferModel model : models) {
      if (auto hang = find_hang(schedule, model)) violations.push_back(std::move(*hang));
    }
  }
  if (!violations.empty()) {
    print(findings_text(path, violations));
    return ExitStatus::kNo;
  }
  print(size_text(path, schedule));
  return ExitStatus::kDone;
}

}  // namespace plumb
