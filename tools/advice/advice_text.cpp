#include "tools/advice/advice_text.hpp"

#include <algorithm>
#include <cmath>

#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/text_table.hpp"

namespace plumb {
namespace {

/// "-2.7 %", "+0.4 %".
std::string gain_text(double share) { return (share < 0 ? "" : "+") + fixed_text(100 * share, 1) + " %"; }

std::string run_text(const Advice& advice) {
  const auto own = std::ranges::find_if(advice.schedules, &AdvisedSchedule::is_run);
  std::string text = "this run         " + std::to_string(advice.num_devices) + " devices, " +
                     std::to_string(advice.num_microbatches) + " microbatches, " + ns_text(advice.measured_ns) +
                     " a step (median of " + std::to_string(advice.steps) + ")\n";
  text += "its order        ";
  text += own == advice.schedules.end() ? "none of the catalogue's" : own->name;
  text += ", predicted " + ns_text(advice.predicted_ns) + " (" +
          gain_text(advice.predicted_ns / advice.measured_ns - 1) + ")\n";
  text += "uncertainty      " + fixed_text(100 * advice.uncertainty, 1) +
          " % either way: the error of this prediction, and half the range of the run's steps\n";
  return text;
}

std::string verdict_text(const Advice& advice) {
  const AdvisedSchedule* best = advice.best();
  if (best == nullptr) return "No schedule fits in the memory limit.\n";
  if (best->is_run) return "The run's own schedule is the fastest one that its runtime can run.\n";
  std::string text = best->name + " would save " + fixed_text(100 * best->saves, 1) + " % of a step";
  text += advice.has_gain() ? ":\n" : ", which is within the uncertainty:\n";
  return text + "  " + schedule_command(advice, *best) + " -o " + best->name +
         (advice.format == "megatron" ? ".megatron" : ".csv") + '\n';
}

}  // namespace

std::string schedule_command(const Advice& advice, const AdvisedSchedule& schedule) {
  std::string command = "plumbline schedule " + schedule.name + " -p " + std::to_string(advice.num_devices) + " -m " +
                        std::to_string(advice.num_microbatches);
  if (schedule.chunks > 0) command += " -v " + std::to_string(schedule.chunks);
  return command + " --format " + advice.format;
}

std::string advice_text(const Advice& advice, std::size_t rows) {
  const bool knows_bytes = std::ranges::any_of(advice.schedules, [](const auto& one) { return one.memory_bytes > 0; });
  TextTable table({{"schedule"},
                   {"stages", '>', "per device:"},
                   {"step", '>'},
                   {"from", '>'},
                   {"to", '>'},
                   {"saves", '>'},
                   {"bubble", '>'},
                   {knows_bytes ? "memory" : "stashes", '>', "at most:"},
                   {""}});
  const std::size_t shown = rows == 0 ? advice.schedules.size() : std::min(rows, advice.schedules.size());
  for (std::size_t k = 0; k < advice.schedules.size(); ++k) {
    const AdvisedSchedule& each = advice.schedules[k];
    if (k >= shown && !each.is_run) continue;
    table.add_row({each.name, std::to_string(each.stages_per_device), ns_text(each.step_ns), ns_text(each.low_ns),
                   ns_text(each.high_ns), gain_text(each.saves), percent_text(each.bubble_fraction),
                   knows_bytes ? bytes_text(each.memory_bytes) : number_text(each.stashes),
                   each.is_run  ? "this run"
                   : !each.fits ? "does not fit"
                                : ""});
  }
  std::string text = run_text(advice) + '\n' + table.to_string() + '\n';
  if (shown < advice.schedules.size()) {
    text += "Of " + std::to_string(advice.schedules.size()) + " schedules the " + std::to_string(shown) +
            " fastest are shown; --all shows all.\n";
  }
  if (!knows_bytes) text += "Stashes are of 1/p of the model; --network tells bytes.\n";
  return text + '\n' + verdict_text(advice);
}

}  // namespace plumb
