#include "tools/ask/schedule_question.hpp"

#include <cstdint>
#include <vector>

#include "models/ground/error.hpp"
#include "tools/formats/schedule_guide.hpp"

namespace plumb {

void ScheduleQuestion::add_to(OptionTable& options) {
  options.positional(name, "NAME|FILE,schedule")
      .text("format", format, "FORMAT",
            "json, text, torch-csv, torch-comms, torch-comms-late or megatron\n(default: by the file's extension, or "
            "json)")
      .flag("explain", explain, "explain how to run it in PyTorch and Megatron-LM: files, classes, flags, layout")
      .text("layers", layers, "N", "with --explain: decoder layers of the model (26), or of each stage (3,4,4,3)");
  size.add_to(options);
  costs.add_search_to(options);
}

Schedule ScheduleQuestion::load() const {
  if (!layers.empty() && !explain) throw Error("--layers: is used by --explain only, expected --explain with it");
  const CostDocuments documents = costs.any() ? load_cost_documents(costs) : CostDocuments{};
  const auto devices = static_cast<std::int32_t>(size.devices.value_or(1));
  return load_schedule(name, size, search_goal(costs, documents, devices));
}

std::string ScheduleQuestion::guide(const Schedule& schedule) const {
  const bool known = !layers.empty();
  return schedule_guide(schedule, known ? parse_layers(layers, schedule.num_stages) : std::vector<std::int64_t>{});
}

}  // namespace plumb
