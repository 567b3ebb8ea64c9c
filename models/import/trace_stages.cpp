#include "models/import/trace_stages.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "models/ground/error.hpp"
#include "models/ground/json_reader.hpp"

namespace plumb {
namespace {

constexpr std::string_view kPrefix = "PP:";
constexpr double kMostMicroseconds = 1e15;
constexpr std::int32_t kMostStage = 9999;

/// Stage, operation (F, B, I, W) and the rest of an action's text.
struct RangeName {
  std::int32_t stage = 0;
  char op = 'F';
  std::string_view microbatch;
};

/// Nothing for ranges that do not compute (transfers, collectives, groups).
std::optional<RangeName> range_name(std::string_view name) {
  if (!name.starts_with(kPrefix)) return {};
  name.remove_prefix(kPrefix.size());
  RangeName range;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), range.stage);
  if (error != std::errc{} || range.stage < 0 || range.stage > kMostStage) return {};
  name.remove_prefix(static_cast<std::size_t>(end - name.data()));
  if (name.size() < 2 || std::string_view("FBIW").find(name.front()) == std::string_view::npos) return {};
  if (name[1] < '0' || name[1] > '9') return {};
  range.op = name.front();
  range.microbatch = name.substr(1);
  return range;
}

/// Durations by stage, operation and microbatch, in the order of the files.
class RangeTimes {
 public:
  void add(std::string_view name, double ns) {
    if (const auto range = range_name(name)) {
      times_[{range->stage, range->op}][std::string(range->microbatch)].push_back(ns);
    }
  }

  bool empty() const { return times_.empty(); }
  std::int32_t last_stage() const { return times_.rbegin()->first.first; }

  /// The median without first occurrences, where there are others; nothing when there is no such range.
  std::optional<std::int64_t> median(std::int32_t stage, char op) const {
    const auto found = times_.find({stage, op});
    if (found == times_.end()) return {};
    std::vector<double> all;
    for (const auto& [microbatch, seen] : found->second) {
      all.insert(all.end(), seen.begin() + (seen.size() > 1 ? 1 : 0), seen.end());
    }
    std::sort(all.begin(), all.end());
    const std::size_t middle = all.size() / 2;
    return std::llround(all.size() % 2 == 1 ? all[middle] : (all[middle - 1] + all[middle]) / 2);
  }

 private:
  std::map<std::pair<std::int32_t, char>, std::map<std::string, std::vector<double>>> times_;
};

/// A complete event of a Chrome trace.
struct Event {
  std::string_view name;
  std::string_view category;
  std::int64_t thread = 0;
  double start_us = 0;
  double duration_us = 0;
  std::int64_t correlation = -1;

  double end_us() const { return start_us + duration_us; }
};

std::optional<Event> complete_event(const JsonValue& item) {
  const auto phase = item.find("ph");
  if (!phase || !phase->is_string() || phase->text() != "X") return {};
  Event event;
  event.name = item.at("name").text();
  if (const auto category = item.find("cat")) event.category = category->text();
  if (const auto thread = item.find("tid"); thread && thread->is_integer()) event.thread = thread->integer();
  event.start_us = item.at("ts").number(-kMostMicroseconds, kMostMicroseconds);
  event.duration_us = item.at("dur").number(0, kMostMicroseconds);
  if (const auto arguments = item.find("args"); arguments && arguments->is_object()) {
    if (const auto number = arguments->find("correlation"); number && number->is_integer()) {
      event.correlation = number->integer();
    }
  }
  return event;
}

std::vector<Event> events_of(const JsonValue& root) {
  const JsonValue list = root.is_array() ? root : root.at("traceEvents");
  std::vector<Event> events;
  for (const JsonValue& item : list.elements()) {
    if (const auto event = complete_event(item)) events.push_back(*event);
  }
  return events;
}

/// Kernels launched inside host ranges: from the first start to the last end.
void add_launched(const std::vector<Event>& events, RangeTimes& times) {
  std::map<std::int64_t, std::pair<double, double>> kernels;  // by correlation
  for (const Event& event : events) {
    const bool on_gpu = event.category == "kernel" || event.category.starts_with("gpu_mem");
    if (!on_gpu || event.correlation < 0) continue;
    const auto [entry, is_new] = kernels.emplace(event.correlation, std::pair(event.start_us, event.end_us()));
    if (is_new) continue;
    entry->second = {std::min(entry->second.first, event.start_us), std::max(entry->second.second, event.end_us())};
  }
  std::vector<Event> launches;
  for (const Event& event : events) {
    if (event.category.starts_with("cuda_") && kernels.contains(event.correlation)) launches.push_back(event);
  }
  const auto before = [](const Event& a, const Event& b) {
    return std::tie(a.thread, a.start_us) < std::tie(b.thread, b.start_us);
  };
  std::sort(launches.begin(), launches.end(), before);
  for (const Event& range : events) {
    if (range.category != "user_annotation" || !range_name(range.name)) continue;
    std::optional<std::pair<double, double>> span;
    for (auto launch = std::lower_bound(launches.begin(), launches.end(), range, before);
         launch != launches.end() && launch->thread == range.thread && launch->start_us <= range.end_us(); ++launch) {
      const auto& kernel = kernels.at(launch->correlation);
      if (!span) span = kernel;
      span = {std::min(span->first, kernel.first), std::max(span->second, kernel.second)};
    }
    if (span) times.add(range.name, 1000 * (span->second - span->first));
  }
}

void add_chrome_trace(const TraceText& trace, RangeTimes& times) {
  const JsonDocument document(trace.text, trace.file_name);
  const std::vector<Event> events = events_of(document.root());
  bool projected = false;
  for (const Event& event : events) {
    if (event.category != "gpu_user_annotation" || !range_name(event.name)) continue;
    projected = true;
    times.add(event.name, 1000 * event.duration_us);
  }
  if (!projected) add_launched(events, times);
}

/// Fields of a line of CSV; quotes may stand around one.
std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  while (true) {
    if (line.starts_with('"')) {
      const std::size_t end = std::min(line.find('"', 1), line.size());
      fields.push_back(line.substr(1, end - 1));
      line.remove_prefix(std::min(end + 1, line.size()));
      if (line.empty()) return fields;
      line.remove_prefix(1);
      continue;
    }
    const std::size_t comma = line.find(',');
    fields.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) return fields;
    line.remove_prefix(comma + 1);
  }
}

void add_range_table(const TraceText& trace, RangeTimes& times) {
  std::string_view rest = trace.text;
  std::size_t name = 0;
  std::size_t duration = 0;
  for (std::size_t number = 1; !rest.empty(); ++number) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    const std::vector<std::string_view> fields = fields_of(line);
    if (number == 1) {
      name = static_cast<std::size_t>(std::find(fields.begin(), fields.end(), "Name") - fields.begin());
      duration =
          static_cast<std::size_t>(std::find(fields.begin(), fields.end(), "Projected Duration (ns)") - fields.begin());
      continue;
    }
    const std::string where = trace.file_name + ":" + std::to_string(number) + ": ";
    if (fields.size() <= std::max(name, duration)) throw Error(where + "expected as many fields as in the first line");
    std::string_view range = fields[name];
    range.remove_prefix(std::min(range.find(kPrefix), range.size()));  // ":PP:0F0" with a domain in front
    if (!range_name(range)) continue;
    double ns = 0;
    const std::string_view text = fields[duration];
    const auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), ns);
    if (error != std::errc{} || last != text.data() + text.size() || !(ns >= 0 && ns < 1e18)) {
      throw Error(where + "expected a duration in ns, found '" + std::string(text) + "'");
    }
    times.add(range, ns);
  }
}

std::string_view first_line(std::string_view text) { return text.substr(0, text.find('\n')); }

bool is_range_table(std::string_view text) {
  return first_line(text).find("Projected Duration (ns)") != std::string_view::npos;
}

}  // namespace

bool is_trace(std::string_view text) {
  return is_range_table(text) || (text.find("\"ph\"") != std::string_view::npos &&
                                  (text.find("\"traceEvents\"") != std::string_view::npos || text.starts_with('[')));
}

LayerGraph stages_from_traces(std::span<const TraceText> traces) {
  RangeTimes times;
  for (const TraceText& trace : traces) {
    is_range_table(trace.text) ? add_range_table(trace, times) : add_chrome_trace(trace, times);
  }
  const std::string where = traces.empty() ? "trace" : traces.front().file_name;
  if (times.empty())
    throw Error(where +
                ": has no ranges 'PP:<action>' on the GPU; expected a pipeline that ran on GPUs. What any "
                "traced run took, also on CPUs, becomes a profile by `plumbline trace`");
  LayerGraph graph;
  for (std::int32_t stage = 0; stage <= times.last_stage(); ++stage) {
    const std::string text = "stage " + std::to_string(stage);
    const auto forward = times.median(stage, 'F');
    if (!forward) throw Error(where + ": no forward of " + text + ", expected the traces of all ranks, commas between");
    const auto whole = times.median(stage, 'B');
    LayerNode node;
    node.id = std::to_string(stage);
    node.name = text;
    node.forward_ns = *forward;
    node.backward_ns = whole ? *whole : times.median(stage, 'I').value_or(0) + times.median(stage, 'W').value_or(0);
    if (stage > 0) graph.edges.push_back({stage - 1, stage, 0});
    graph.nodes.push_back(std::move(node));
  }
  return graph;
}

}  // namespace plumb
