#include "tools/sweep_table.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>

#include "tools/quantity_text.hpp"
#include "tools/text_table.hpp"

namespace plumb {
namespace {

/// The shortest text that reads back as the same number.
std::string exact_text(double value) {
  std::array<char, 32> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), end};
}

std::string exact_text(const std::optional<double>& value) { return value ? exact_text(*value) : ""; }

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string result = "\"";
  for (const char c : text) result += c == '"' ? std::string("\"\"") : std::string(1, c);
  return result + "\"";
}

std::string csv_row(std::initializer_list<std::string> cells) {
  std::string row;
  for (const std::string& cell : cells) row += (row.empty() ? "" : ",") + quoted(cell);
  return row + "\n";
}

double most_activations(const Timeline& timeline) {
  double most = 0;
  for (const DeviceSummary& device : timeline.devices) most = std::max(most, device.peak_activations);
  return most;
}

std::int64_t most_memory(const Timeline& timeline) {
  std::int64_t most = 0;
  for (const DeviceSummary& device : timeline.devices) most = std::max(most, device.peak_memory_bytes);
  return most;
}

}  // namespace

std::string sweep_title(const SweepPoint& point) {
  std::string title = point.schedule + " p=" + std::to_string(point.params.num_devices) +
                      " m=" + std::to_string(point.params.num_microbatches);
  if (point.params.chunks > 1) title += " v=" + std::to_string(point.params.chunks);
  return title;
}

std::string sweep_table(const std::vector<SweepResult>& results) {
  TextTable table({{"schedule"},
                   {"p", '>'},
                   {"m", '>'},
                   {"v", '>'},
                   {"makespan", '>'},
                   {"step time", '>'},
                   {"bubble", '>'},
                   {"utilization", '>'},
                   {"peak stashes", '>'},
                   {"peak memory", '>'},
                   {"remark"}});
  for (const SweepResult& result : results) {
    std::vector<std::string> cells{result.point.schedule, std::to_string(result.point.params.num_devices),
                                   std::to_string(result.point.params.num_microbatches),
                                   std::to_string(result.point.params.chunks)};
    if (!result.timeline) {
      cells.resize(10, "-");
      cells.push_back(result.error);
    } else {
      const Timeline& timeline = *result.timeline;
      const std::int64_t memory = most_memory(timeline);
      cells.push_back(time_text(to_ns(timeline.makespan, timeline.base)));
      cells.push_back(time_text(to_ns(timeline.step_time, timeline.base)));
      cells.push_back(fixed_text(100 * timeline.bubble_fraction, 2) + " %");
      cells.push_back(fixed_text(100 * timeline.utilization, 2) + " %");
      cells.push_back(number_text(most_activations(timeline)));
      cells.push_back(memory > 0 ? bytes_text(memory) : "-");
      if (!result.fits) cells.push_back("does not fit in memory");
    }
    table.add_row(std::move(cells));
  }
  return table.to_string();
}

std::string sweep_csv(const std::vector<SweepResult>& results) {
  std::string text =
      "schedule,p,m,v,updates,makespan_ns,step_time_ns,longest_device_span_ns,bubble_fraction,bubble_rate,utilization,"
      "samples_per_s,tokens_per_s,model_flops_utilization,peak_activations,peak_memory_bytes,fits,error\n";
  for (const SweepResult& result : results) {
    const ScheduleParams& params = result.point.params;
    const std::string p = std::to_string(params.num_devices);
    const std::string m = std::to_string(params.num_microbatches);
    const std::string v = std::to_string(params.chunks);
    if (!result.timeline) {
      text +=
          csv_row({result.point.schedule, p, m, v, "", "", "", "", "", "", "", "", "", "", "", "", "", result.error});
      continue;
    }
    const Timeline& t = *result.timeline;
    text +=
        csv_row({result.point.schedule, p, m, v, std::to_string(t.updates), std::to_string(to_ns(t.makespan, t.base)),
                 std::to_string(to_ns(t.step_time, t.base)), std::to_string(to_ns(t.longest_device_span, t.base)),
                 exact_text(t.bubble_fraction), exact_text(t.bubble_rate), exact_text(t.utilization),
                 exact_text(t.samples_per_s), exact_text(t.tokens_per_s), exact_text(t.model_flops_utilization),
                 exact_text(most_activations(t)), std::to_string(most_memory(t)), result.fits ? "true" : "false", ""});
  }
  return text;
}

}  // namespace plumb
