#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "models/ground/text_stream.hpp"
#include "schedules/checks/check_runs.hpp"
#include "schedules/formats/transfer_hang.hpp"
#include "tools/commands/command.hpp"
#include "tools/formats/findings.hpp"
#include "tools/formats/schedule_formats.hpp"
#include "tools/options/arguments.hpp"
#include "tools/options/choice.hpp"
#include "tools/options/schedule_arguments.hpp"
#include "tools/options/simulation_arguments.hpp"
#include "tools/terminal/output_file.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

/// The members named by "rendezvous,pair-fifo" or "all".
template <class Enum, std::size_t count>
std::vector<Enum> several(const std::array<std::string_view, count>& names, std::string_view what,
                          const std::string& text) {
  std::vector<Enum> chosen;
  for (std::size_t i = 0; text == "all" && i < count; ++i) chosen.push_back(static_cast<Enum>(i));
  if (!chosen.empty() || text.empty()) return chosen;
  for (const std::string& name : split(text, ',')) chosen.push_back(choice<Enum>(names, what, name));
  return chosen;
}

std::string size_text(const std::string& path, const Schedule& schedule) {
  std::int64_t actions = 0;
  for (const DeviceList& list : schedule.devices) actions += expanded_size(list);
  TextStream out;
  out << printable(path) << ": valid: " << schedule.num_devices << " devices, " << schedule.num_stages << " stages, "
      << schedule.num_microbatches << " microbatches, " << actions << " actions\n";
  return out.str();
}

/// Everything that is wrong; what concerns messages only in a schedule that is right in all else.
std::vector<Violation> violations_of(const Schedule& schedule, const std::vector<TransferMode>& modes,
                                     const std::vector<TransferModel>& models, const LowerOptions& options) {
  std::vector<Violation> violations = check_schedule(schedule);
  if (!violations.empty()) return violations;
  if (!modes.empty()) violations = check_runs(schedule, modes, options);
  for (const TransferModel model : models) {
    if (auto hang = find_hang(schedule, model)) violations.push_back(*std::move(hang));
  }
  return violations;
}

}  // namespace

ExitStatus run_validate(const CommandLine& arguments) {
  ArgumentParser parser(
      "validate NAME|FILE [options]",
      "Checks that a schedule is complete, in a possible order, and free of deadlocks. Exit status 0: it is valid;\n"
      "3: it is not, and all findings are printed.");
  std::string path;
  std::string format;
  std::string modes;
  std::string models;
  SimulationArguments simulation;
  ScheduleArguments size;
  parser.positional(path, "NAME|FILE")
      .text("from", format, "FORMAT",
            "json, torch-csv, text, deepspeed, megatron or zero-bubble (default: by the extension)")
      .text("transfers", modes, "MODES",
            "also check that it runs when messages travel so, as in `simulate`: buffered, fifo, rendezvous, blocking, "
            "batched or pair-fifo (several with commas, or all)");
  parser.text("runtime", simulation.runtime, "SYSTEM",
              "also check that it runs as this system lets messages travel, see `simulate`: pytorch, pytorch-single, "
              "torchtitan, megatron or deepspeed");
  simulation.add_receives_to(parser);
  parser.text("torch-transfers", models, "MODELS",
              "also look for sends and receives that would hang in PyTorch, with its order of them where the document "
              "has none, when messages are buffered, rendezvous or pair-fifo (several with commas, or all)");
  size.add_to(parser);
  if (!parser.parse(arguments)) return ExitStatus::kDone;
  auto chosen_modes = several<TransferMode>(kTransferModeNames, "transfer mode", modes);
  const auto chosen_models = several<TransferModel>(kTransferModelNames, "transfer model", models);
  Schedule schedule = format.empty() ? load_schedule(path, size) : read_schedule(path, format);
  if (!simulation.runtime.empty()) {
    if (chosen_modes.empty()) chosen_modes.push_back(simulation.simulation(schedule).transfers);
    CostInput no_costs;
    simulation.adapt(schedule, no_costs);
  }
  const auto violations = violations_of(schedule, chosen_modes, chosen_models, simulation.lowering(schedule));
  if (!violations.empty()) {
    print(findings_text(path, violations));
    return ExitStatus::kNo;
  }
  print(size_text(path, schedule));
  return ExitStatus::kDone;
}

}  // namespace plumb
