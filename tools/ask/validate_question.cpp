#include "tools/ask/validate_question.hpp"

#include <array>
#include <string_view>
#include <utility>

#include "models/ground/error.hpp"
#include "models/ground/text_stream.hpp"
#include "schedules/checks/check_order.hpp"
#include "schedules/checks/check_runs.hpp"
#include "schedules/checks/validation_size.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/formats/transfer_hang.hpp"
#include "sim/runtimes/runtime_presets.hpp"
#include "tools/ask/answer.hpp"
#include "tools/ask/next_command.hpp"
#include "tools/ask/request.hpp"
#include "tools/formats/findings.hpp"
#include "tools/formats/schedule_formats.hpp"
#include "tools/options/option_table.hpp"
#include "tools/options/run_options.hpp"
#include "tools/terminal/answer_lines.hpp"
#include "tools/terminal/notes.hpp"
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
  for (const std::string& name : split(text, ',')) chosen.push_back(enumerator<Enum>(names, what, name));
  return chosen;
}

/// Everything that is wrong; what concerns messages only in a schedule that is right in all else.
std::vector<Violation> violations_of(const Schedule& schedule, const std::vector<TransferMode>& modes,
                                     const std::vector<TransferModel>& models, const LowerOptions& options) {
  if (!models.empty()) check_size_to_check(schedule, hang_check_size(schedule));
  std::vector<Violation> violations = check_schedule(schedule);
  if (!violations.empty()) return violations;
  if (!modes.empty()) {
    const WorkSize size = message_check_size(schedule);
    check_size_to_check(schedule, size);
    note_long_work("checking messages of", size);
    violations = check_runs(schedule, modes, options);
  }
  for (const TransferModel model : models) {
    note_long_work("checking transfers of", hang_check_size(schedule));
    if (auto hang = find_hang(schedule, model)) violations.push_back(*std::move(hang));
  }
  return violations;
}

/// What cannot be read, and what stands in an impossible order among the rest.
Errors with_order(const PartlyRead& partly, const std::string& name) {
  std::vector<std::string> lines = partly.messages();
  for (const Violation& one : check_order(partly.part())) {
    lines.push_back(printable(name) + ":" + std::to_string(partly.line_of(one.device)) + ": " + one.action + ": " +
                    one.reason);
  }
  return Errors(lines);
}

}  // namespace

void ValidateQuestion::add_to(OptionTable& options) {
  options.positional(name, "NAME|FILE,schedule")
      .text("from", format, "FORMAT",
            "json, torch-csv, text, deepspeed, megatron or zero-bubble (default: by the extension)")
      .brief()
      .words(schedule_format_names())
      .text("transfers", modes, "MODES",
            "also check that it runs when messages travel so, as in `simulate`: buffered, fifo, rendezvous, blocking, "
            "batched or pair-fifo (several with commas, or all)")
      .words(kTransferModeNames)
      .text("runtime", rules.runtime, "SYSTEM",
            "also check that it runs as this system lets messages travel, see `simulate`: pytorch, pytorch-single, "
            "torchtitan, megatron or deepspeed")
      .brief()
      .words(runtime_names());
  add_receives_to(options, rules);
  options
      .text("torch-transfers", models, "MODELS",
            "also look for sends and receives that would hang in PyTorch when messages are buffered, rendezvous or "
            "pair-fifo (several with commas, or all). A document without messages gets PyTorch's order of them")
      .words(kTransferModelNames);
  size.add_to(options);
}

CheckedSchedule ValidateQuestion::check() const {
  auto chosen_modes = several<TransferMode>(kTransferModeNames, "transfer mode", modes);
  const auto chosen_models = several<TransferModel>(kTransferModelNames, "transfer model", models);
  CheckedSchedule checked;
  try {
    checked.schedule = format.empty() ? load_schedule(name, size) : read_schedule(name, format);
  } catch (const PartlyRead& partly) {
    throw with_order(partly, name);
  }
  if (!rules.runtime.empty()) {
    if (chosen_modes.empty()) chosen_modes.push_back(rules.simulation(checked.schedule).transfers);
    StageCosts no_costs;
    run_as(runtime_preset(rules.runtime, checked.schedule), checked.schedule, no_costs);
  }
  checked.violations = violations_of(checked.schedule, chosen_modes, chosen_models, rules.lowering(checked.schedule));
  return checked;
}

std::string ValidateQuestion::next() const {
  if (name == "-" || name.starts_with("exec:")) return "";
  return "plumbline simulate " + shell_word(name) + carried_to_simulate(given);
}

std::string valid_text(const std::string& name, const Schedule& schedule) {
  TextStream out;
  out << printable(name) << ": valid: " << schedule.num_devices << " devices, " << schedule.num_stages << " stages, "
      << schedule.num_microbatches << " microbatches, " << action_count(schedule) << " actions\n";
  return out.str();
}

void ValidateQuestion::add_parts(const Request&, AnswerDocument& document) {
  const CheckedSchedule checked = check();
  if (!checked.violations.empty()) {
    document.refuse(name, checked.violations);
  } else {
    document.add_text("text", valid_text(name, checked.schedule) + next_text(next()));
  }
}

}  // namespace plumb
