#include "tools/tables/timeline_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include "models/ground/error.hpp"
#include "sim/critical_path.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/text_table.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

constexpr std::size_t kMostDevicesShown = 32;
constexpr std::size_t kMostTensors = 12;

std::string time_of(Ticks ticks, const Timeline& timeline, TimeWords words) {
  return time_text(to_ns(ticks, timeline.base), words);
}

void add_rate(TextTable& table, const char* name, const std::optional<double>& rate, const char* unit) {
  if (rate) table.add_row({name, number_text(*rate) + " " + unit});
}

/// "longest device span 126 ms, proved at least 125 ms (gap 0.8 %)"
std::string search_text(const SearchedSpan& search, const Timeline& timeline, TimeWords words) {
  std::string span = "longest device span " + time_of(search.found, timeline, words);
  if (timeline.updates > 1) {
    span += " of one update";
  } else if (search.found != timeline.longest_device_span) {
    span += " with the costs of the search";
  }
  if (search.found == search.bound) return span + ", proved to be the shortest";
  const double gap = static_cast<double>(search.found) / static_cast<double>(std::max<Ticks>(1, search.bound)) - 1;
  return span + ", proved at least " + time_of(search.bound, timeline, words) + " (gap " + share_text(gap) + ")";
}

std::int64_t total_bytes(const PeakTensor& tensor) {
  return tensor.bytes * std::max<std::int64_t>(1, static_cast<std::int64_t>(tensor.microbatches.size()));
}

/// What became of the number of send buffers that was asked for.
std::string send_buffers_text(const SendBuffers& buffers) {
  std::string text = std::to_string(buffers.used) + " in use, " + std::to_string(buffers.asked) + " asked for";
  if (buffers.waits_moved != 0) {
    text += ": " + std::to_string(buffers.waits_moved) + " waits for sends put off, or messages that travel only " +
            "once they are received would hang";
  }
  if (buffers.receives_moved != 0) text += "; " + std::to_string(buffers.receives_moved) + " receives posted earlier";
  return text;
}

/// Says of an asynchronous run whether its figures are those of whole steady periods, unlike the bubble fraction.
std::string steady_text(const Timeline& timeline) { return timeline.steady ? " in the steady state" : ""; }

std::string step_time_text(const Timeline& timeline, TimeWords words) {
  const std::string step = time_of(timeline.step_time, timeline, words);
  if (!timeline.asynchronous || timeline.steady) return step + steady_text(timeline);
  return step + ", a share of the makespan, because no steady state is reached: simulate more with --updates";
}

std::string more_devices(std::size_t all) {
  return all > kMostDevicesShown ? "... and " + std::to_string(all - kMostDevicesShown) + " more devices\n" : "";
}

/// Whether the utilization says more than the bubble: updates overlap, or some work is done twice.
bool is_other_than_bubble(const Timeline& timeline) {
  return std::abs(timeline.utilization - (1 - timeline.bubble_fraction)) > 1e-6;
}

/// What devices wait for most; empty where they never do.
std::string_view main_cause(const Timeline& timeline) {
  std::array<Ticks, kIdleCauseCount> sums{};
  for (const DeviceSummary& device : timeline.devices) {
    for (std::size_t c = 0; c < kIdleCauseCount; ++c) sums[c] += device.idle_causes[c];
  }
  const auto most = std::ranges::max_element(sums);
  return *most == 0 ? "" : kIdleCauseTexts[static_cast<std::size_t>(most - sums.begin())];
}

}  // namespace

std::string step_verdict(const Timeline& timeline, TimeWords words) {
  std::string text = timeline.schedule + ": " + time_of(timeline.step_time, timeline, words) +
                     (words == TimeWords::kUnits ? " units a step" : " a step");
  if (timeline.tokens_per_s) text += ", " + number_text(std::round(*timeline.tokens_per_s)) + " tokens/s";
  if (timeline.steady) return text + "; bubble " + percent_text(1 - timeline.utilization) + " in the steady state";
  return text + "; bubble " + percent_text(timeline.bubble_fraction);
}

std::string cause_verdict(const Timeline& timeline) {
  const std::string_view cause = main_cause(timeline);
  return timeline.steady || cause.empty() ? "" : ", mostly " + std::string(cause);
}

std::string figures_text(const Timeline& timeline, TimeWords words) {
  TextTable table({{timeline.schedule}, {timeline.kind == Timeline::Kind::kMeasured ? "measured" : "simulated"}});
  table.add_row({timeline.kind == Timeline::Kind::kMeasured ? "machine" : "costs", timeline.machine});
  if (words == TimeWords::kUnits) {
    const bool is_forward = timeline.machine.starts_with("F=1,");
    table.add_row({"times", is_forward ? "in units of one forward" : "in units of the costs"});
  }
  table.add_row({"devices", std::to_string(timeline.devices.size())});
  table.add_row({"microbatches", std::to_string(timeline.num_microbatches) + " in " + std::to_string(timeline.updates) +
                                     (timeline.updates == 1 ? " update" : " updates")});
  if (timeline.makespan != timeline.step_time) table.add_row({"makespan", time_of(timeline.makespan, timeline, words)});
  table.add_row({"step time", step_time_text(timeline, words)});
  table.add_row({"bubble", share_text(timeline.bubble_fraction)});
  if (is_other_than_bubble(timeline)) {
    table.add_row({"utilization", share_text(timeline.utilization) + steady_text(timeline)});
  }
  if (timeline.search) table.add_row({"searched order", search_text(*timeline.search, timeline, words)});
  add_rate(table, "throughput", timeline.samples_per_s, "samples/s");
  add_rate(table, "", timeline.tokens_per_s, "tokens/s");
  if (timeline.model_flops_utilization) {
    table.add_row({"model FLOPs utilization", share_text(*timeline.model_flops_utilization)});
  }
  if (timeline.tflops_per_device) {
    table.add_row({"", number_text(*timeline.tflops_per_device) + " TFLOP/s per device"});
  }
  if (timeline.send_buffers) table.add_row({"send buffers", send_buffers_text(*timeline.send_buffers)});
  return table.to_string();
}

std::string devices_text(const Timeline& timeline, const DeviceWords& words) {
  std::vector<std::size_t> causes;
  bool has_memory = false;
  bool needs = false;
  bool slowed = false;
  for (std::size_t c = 0; c < kIdleCauseCount; ++c) {
    const auto occurs = [&](const DeviceSummary& device) { return device.idle_causes[c] != 0; };
    if (std::any_of(timeline.devices.begin(), timeline.devices.end(), occurs)) causes.push_back(c);
  }
  for (const DeviceSummary& device : timeline.devices) {
    has_memory |= device.peak_memory_bytes != 0;
    needs |= device.need.has_value();
    slowed |= device.slowed != 0;
  }
  std::vector<TextTable::Column> columns{{"device", '>'}, {"busy", '>'}};
  if (slowed) columns.push_back({"slowdown", '>', "busy:"});
  columns.push_back({"idle", '>'});
  if (has_memory) {
    columns.push_back(needs ? TextTable::Column{"needs", '>'} : TextTable::Column{"tensors", '>', "peak"});
  } else {
    columns.push_back({words.held, '>', "held at peak:"});
  }
  for (const std::size_t cause : causes) {
    columns.push_back({std::string(kIdleCauseTitles[cause]), '>', "idle:"});
  }
  TextTable table(std::move(columns));
  for (std::size_t d = 0; d < std::min(kMostDevicesShown, timeline.devices.size()); ++d) {
    const DeviceSummary& device = timeline.devices[d];
    if (!device.known) {
      table.add_row({std::to_string(d), "unknown"});
      continue;
    }
    std::vector<std::string> cells{std::to_string(d)};
    const auto add = [&](Ticks ticks) { cells.push_back(time_of(ticks, timeline, words.times)); };
    add(device.busy);
    if (slowed) add(device.slowed);
    add(device.idle);
    cells.push_back(has_memory ? bytes_text(device.need ? device.need->needed_bytes : device.peak_memory_bytes)
                               : number_text(device.peak_activations * words.stash_share));
    for (const std::size_t cause : causes) add(device.idle_causes[cause]);
    table.add_row(std::move(cells));
  }
  table.join_equal_rows();
  return table.to_string() + more_devices(timeline.devices.size());
}

std::string peaks_text(const Timeline& timeline) {
  TextTable table({{"device", '>'},
                   {"tensor at the peak"},
                   {"stage", '>'},
                   {"total", '>'},
                   {"per microbatch", '>'},
                   {"microbatches"},
                   {"memory class"}});
  for (std::size_t d = 0; d < std::min(kMostDevicesShown, timeline.devices.size()); ++d) {
    std::vector<PeakTensor> tensors = timeline.devices[d].peak_tensors;
    std::stable_sort(tensors.begin(), tensors.end(),
                     [](const PeakTensor& a, const PeakTensor& b) { return total_bytes(a) > total_bytes(b); });
    for (std::size_t t = 0; t < std::min(kMostTensors, tensors.size()); ++t) {
      const PeakTensor& tensor = tensors[t];
      std::vector<std::int64_t> microbatches = tensor.microbatches;
      std::sort(microbatches.begin(), microbatches.end());
      table.add_row({std::to_string(d), tensor.name, std::to_string(index(tensor.stage)),
                     bytes_text(total_bytes(tensor)), bytes_text(tensor.bytes), ranges_text(microbatches),
                     with_spaces(kMemoryClassNames[static_cast<std::size_t>(tensor.cls)])});
    }
    if (tensors.size() > kMostTensors) {
      std::int64_t rest = 0;
      for (std::size_t t = kMostTensors; t < tensors.size(); ++t) rest += total_bytes(tensors[t]);
      table.add_row({std::to_string(d), std::to_string(tensors.size() - kMostTensors) + " smaller tensors", "",
                     bytes_text(rest)});
    }
  }
  return table.to_string() + more_devices(timeline.devices.size());
}

std::string critical_path_text(const Timeline& timeline, TimeWords words) {
  TextTable table({{"critical path"}, {"time", '>'}, {"share", '>'}});
  for (const CriticalShare& share : timeline.critical_path) {
    table.add_row({share.kind, time_of(share.ticks, timeline, words),
                   share_text(static_cast<double>(share.ticks) / static_cast<double>(timeline.makespan))});
  }
  return table.to_string();
}

namespace {

constexpr std::size_t kMostHolders = 32;
constexpr double kWidestBar = 40;  ///< characters

bool has_several_holders(const std::vector<StageDelays>& delays) {
  return std::ranges::any_of(delays, [&](const StageDelays& d) {
    return index(d.device) != index(delays.front().device) + (index(d.stage) - index(delays.front().stage)) ||
           d.replica != delays.front().replica;
  });
}

std::string mean_text(const DelayCounts& counts) {
  if (counts.empty()) return "";
  const std::string mean = number_text(mean_delay(counts));
  const std::int64_t least = counts.begin()->first;
  const std::int64_t most = counts.rbegin()->first;
  return least == most ? mean : mean + " (" + std::to_string(least) + "-" + std::to_string(most) + ")";
}

std::string holder_text(const StageDelays& of) {
  std::string text = std::to_string(index(of.stage));
  const auto replica = static_cast<int>(of.replica);
  return replica == 0 ? text : std::to_string(replica) + ":" + text;
}

std::string more_holders(std::size_t all) {
  return all > kMostHolders ? "... and " + std::to_string(all - kMostHolders) + " more stages\n" : "";
}

}  // namespace

std::string delays_text(const std::vector<StageDelays>& delays) {
  if (delays.empty()) return "";
  const bool devices = has_several_holders(delays);
  const bool recompute = std::ranges::any_of(delays, [](const StageDelays& d) { return !d.recompute.empty(); });
  const bool teacher = std::ranges::any_of(delays, [](const StageDelays& d) { return !d.teacher.empty(); });
  const bool bytes = std::ranges::any_of(delays, [](const StageDelays& d) { return d.bytes > 0; });
  std::vector<TextTable::Column> columns{{"stage", '>'}};
  if (devices) columns.push_back({"device", '>'});
  for (const char* title : {"distance", "tau fwd", "tau bkwd"}) columns.push_back({title, '>'});
  if (recompute) columns.push_back({"tau recomp", '>'});
  if (teacher) columns.push_back({"tau teacher", '>'});
  for (const char* title : {"versions", "copies"}) columns.push_back({title, '>'});
  if (bytes) columns.push_back({"bytes of copies", '>'});
  TextTable table(std::move(columns));
  for (std::size_t i = 0; i < std::min(kMostHolders, delays.size()); ++i) {
    const StageDelays& of = delays[i];
    std::vector<std::string> cells{holder_text(of)};
    if (devices) cells.push_back(std::to_string(index(of.device)));
    for (const DelayCounts* counts : {&of.distance, &of.forward, &of.backward}) cells.push_back(mean_text(*counts));
    if (recompute) cells.push_back(mean_text(of.recompute));
    if (teacher) cells.push_back(mean_text(of.teacher));
    cells.push_back(std::to_string(of.versions));
    cells.push_back(std::to_string(of.copies));
    if (bytes) cells.push_back(bytes_text(of.bytes));
    table.add_row(std::move(cells));
  }
  return table.to_string() + more_holders(delays.size());
}

std::string delay_histogram_text(const std::vector<StageDelays>& delays) {
  TextTable table({{"stage", '>'}, {"reader"}, {"updates old", '>'}, {"count", '>'}, {"share", '>'}, {""}});
  for (std::size_t i = 0; i < std::min(kMostHolders, delays.size()); ++i) {
    const StageDelays& of = delays[i];
    const std::array<std::pair<std::string_view, const DelayCounts*>, 4> kinds{
        {{"forward", &of.forward}, {"backward", &of.backward}, {"recompute", &of.recompute}, {"teacher", &of.teacher}}};
    for (const auto& [name, counts] : kinds) {
      const std::int64_t all = std::accumulate(counts->begin(), counts->end(), std::int64_t{0},
                                               [](std::int64_t sum, const auto& entry) { return sum + entry.second; });
      for (const auto& [delay, times] : *counts) {
        const double share = static_cast<double>(times) / static_cast<double>(all);
        table.add_row({holder_text(of), std::string(name), std::to_string(delay), std::to_string(times),
                       percent_text(share),
                       std::string(static_cast<std::size_t>(std::lround(share * kWidestBar)), '#')});
      }
    }
  }
  return table.to_string() + more_holders(delays.size());
}

namespace {

constexpr const char* kWhatIfOption = "--what-if";

}  // namespace

WhatIf parse_what_if(std::string_view text) {
  const auto [kind, factor] = parse_assignment(text, kWhatIfOption);
  const WhatIf what{kind, parse_real(factor, kWhatIfOption)};
  if (what.factor >= 0) return what;
  throw Error(std::string(kWhatIfOption) + ": '" + std::string(text) +
              "' is negative, expected a factor such as W=0.9");
}

std::string what_if_text(const Program& program, const SimOptions& options, Ticks makespan,
                         const std::vector<WhatIf>& changes, TimeWords words) {
  TextTable table({{"what if"}, {"makespan", '>'}, {"change", '>'}, {"", '>'}});
  for (const WhatIf& what : changes) {
    const Ticks changed = makespan_if(program, options, what.kind, what.factor);
    const double share = makespan == 0 ? 0 : static_cast<double>(changed - makespan) / static_cast<double>(makespan);
    table.add_row({what.kind + " takes " + number_text(what.factor) + " of its time",
                   time_text(to_ns(changed, program.base), words),
                   time_text(to_ns(changed - makespan, program.base), words), fixed_text(100 * share, 2) + " %"});
  }
  return table.to_string();
}

}  // namespace plumb
