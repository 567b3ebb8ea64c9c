#include "tools/ask/schedule_question.hpp"

#include <cstdint>
#include <vector>

#include "models/ground/error.hpp"
#include "tools/ask/answer.hpp"
#include "tools/ask/request.hpp"
#include "tools/catalogue/catalogue_json.hpp"
#include "tools/formats/findings.hpp"
#include "tools/formats/schedule_formats.hpp"
#include "tools/formats/schedule_guide.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {

void ScheduleQuestion::add_to(OptionTable& options) {
  options.positional(name, "NAME|FILE,schedule")
      .text("format", format, "FORMAT",
            "json, text, torch-csv, torch-comms, torch-comms-late or megatron\n(default: by the file's extension, or "
            "json)")
      .words(schedule_format_names())
      .flag("explain", explain, "explain how to run it in PyTorch and Megatron-LM: files, classes, flags, layout")
      .text("layers", layers, "N", "with --explain: decoder layers of the model (26), or of each stage (3,4,4,3)");
  size.add_to(options);
  costs.add_search_to(options);
}

Schedule ScheduleQuestion::load() const {
  if (!layers.empty() && !explain) throw Error("--layers: is used by --explain only, expected --explain with it");
  const CostSource source = costs.any() ? load_costs(costs) : CostSource{};
  const auto devices = static_cast<std::int32_t>(size.devices.value_or(1));
  return load_schedule(name, size, search_goal(costs, source, devices));
}

namespace {

/// The command that writes the schedule that was asked for as PyTorch's CSV.
std::string csv_command(const ScheduleQuestion& question) {
  if (is_schedule_file(question.name)) return "plumbline convert " + shell_word(question.name) + " schedule.csv";
  const ScheduleArguments& size = question.size;
  std::string text = "plumbline schedule " + question.name;
  if (size.devices) text += " -p " + std::to_string(*size.devices);
  if (size.microbatches) text += " -m " + std::to_string(*size.microbatches);
  if (size.chunks) text += " -v " + std::to_string(*size.chunks);
  for (const std::string& option : size.options) text += " --opt " + shell_word(option);
  return text + " -o schedule.csv";
}

}  // namespace

std::string ScheduleQuestion::guide(const Schedule& schedule) const {
  const auto known = layers.empty() ? std::vector<std::int64_t>{} : parse_layers(layers, schedule.num_stages);
  return schedule_guide(schedule, known, csv_command(*this));
}

void ScheduleQuestion::add_parts(const Request&, AnswerDocument& document) {
  Schedule schedule = load();
  if (const auto violations = check_schedule(schedule); !violations.empty()) {
    document.refuse(name, violations);
  } else if (explain) {
    document.add_text("text", guide(schedule));
    written_format(format, "");
  } else {
    document.add_schedule(name, format, std::move(schedule));
  }
}

}  // namespace plumb
