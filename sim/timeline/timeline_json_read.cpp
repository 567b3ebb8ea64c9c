#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "models/ground/error.hpp"
#include "models/ground/json_reader.hpp"
#include "schedules/document/action_text.hpp"
#include "sim/timeline/timeline_io.hpp"

namespace plumb {
namespace {

/// Position of the value's text among `names`.
template <std::size_t n>
std::size_t name_index(const JsonValue& value, const std::array<std::string_view, n>& names, std::string_view what) {
  const std::string_view name = value.text();
  const auto found = std::ranges::find(names, name);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  try {
    throw_unknown(what, name, names);
  } catch (const Error& error) {
    value.fail(error.what());
  }
}

/// More than a hundred years; sums of two still fit.
constexpr std::int64_t kMostTracedNs = 4'000'000'000'000'000'000;

std::int64_t natural(const JsonValue& object, std::string_view key) { return object.at(key).integer(0); }

/// An object with a whole number for each of `names`; absent ones are 0.
template <std::size_t n>
std::array<std::int64_t, n> named(const JsonValue& object, const std::array<std::string_view, n>& names) {
  object.allow_only(std::vector<std::string_view>(names.begin(), names.end()));
  std::array<std::int64_t, n> values{};
  for (std::size_t i = 0; i < n; ++i) {
    if (const auto value = object.find(names[i])) values[i] = value->integer(0);
  }
  return values;
}

PeakTensor read_tensor(const JsonValue& object) {
  object.allow_only({"class", "stage", "name", "bytes", "microbatches"});
  PeakTensor tensor;
  tensor.cls = static_cast<MemoryClass>(name_index(object.at("class"), kMemoryClassNames, "memory class"));
  tensor.stage = StageId{static_cast<std::int32_t>(object.at("stage").integer(0, 1 << 30))};
  tensor.name = object.at("name").text();
  tensor.bytes = natural(object, "bytes");
  for (const JsonValue& value : object.at("microbatches").elements()) tensor.microbatches.push_back(value.integer(0));
  return tensor;
}

/// Its verdict follows from the numbers.
MemoryNeed read_need(const JsonValue& object) {
  object.allow_only({"verdict", "limit_bytes", "needed_bytes", "least_bytes", "most_bytes"});
  MemoryNeed need{natural(object, "limit_bytes"), natural(object, "needed_bytes"), natural(object, "least_bytes"),
                  natural(object, "most_bytes")};
  const JsonValue verdict = object.at("verdict");
  const auto expected = static_cast<std::size_t>(need.verdict());
  if (name_index(verdict, kMemoryVerdictNames, "verdict") != expected) {
    verdict.fail("expected '" + std::string(kMemoryVerdictNames[expected]) + "' from the numbers beside it");
  }
  return need;
}

DeviceSummary read_device(const JsonValue& object, Ticks makespan) {
  object.allow_only({"busy_ns", "useful_ns", "slowed_ns", "idle_ns", "idle_causes_ns", "first_start_ns", "last_end_ns",
                     "peak_memory_bytes", "peak_memory_by_class", "peak_activations", "peak_tensors", "memory_need",
                     "known"});
  DeviceSummary device;
  device.busy = natural(object, "busy_ns");
  device.useful = object.at("useful_ns").integer(0, device.busy);
  if (const auto slowed = object.find("slowed_ns")) device.slowed = slowed->integer(0, device.busy);
  device.idle = natural(object, "idle_ns");
  if (device.busy > makespan || device.idle != makespan - device.busy) {
    object.at("idle_ns").fail("expected makespan_ns - busy_ns = " + std::to_string(makespan - device.busy));
  }
  const JsonValue causes = object.at("idle_causes_ns");
  device.idle_causes = named(causes, kIdleCauseNames);
  Ticks missing = device.idle;
  for (const Ticks part : device.idle_causes) {
    if (part > missing) causes.fail("adds up to more than idle_ns = " + std::to_string(device.idle));
    missing -= part;
  }
  if (causes.size() != 0 && missing != 0) {
    causes.fail("adds up to " + std::to_string(device.idle - missing) +
                ", expected idle_ns = " + std::to_string(device.idle));
  }
  device.first_start = object.at("first_start_ns").integer(0, makespan);
  device.last_end = object.at("last_end_ns").integer(device.first_start, makespan);
  device.peak_memory_bytes = natural(object, "peak_memory_bytes");
  device.peak_memory_by_class = named(object.at("peak_memory_by_class"), kMemoryClassNames);
  device.peak_activations = object.at("peak_activations").number(0);
  if (const auto tensors = object.find("peak_tensors")) {
    for (const JsonValue& tensor : tensors->elements()) device.peak_tensors.push_back(read_tensor(tensor));
  }
  if (const auto need = object.find("memory_need")) device.need = read_need(*need);
  if (const auto known = object.find("known")) device.known = known->boolean();
  return device;
}

DeviceId read_device_id(const JsonValue& object, const Timeline& timeline) {
  const auto last = static_cast<std::int64_t>(timeline.devices.size()) - 1;
  return DeviceId{static_cast<std::int32_t>(object.at("device").integer(0, last))};
}

Span read_span(const JsonValue& object, const Timeline& timeline) {
  object.allow_only(
      {"device", "lane", "action", "overlaps_next", "start_ns", "end_ns", "idle_before_ns", "waited_for"});
  Span span;
  span.device = read_device_id(object, timeline);
  span.lane = static_cast<Lane>(name_index(object.at("lane"), kLaneNames, "lane"));
  const JsonValue action = object.at("action");
  if (const std::string_view expected = read_action(action.text(), span.action); !expected.empty()) {
    action.fail("'" + std::string(action.text()) + "' is not an action: expected " + std::string(expected));
  }
  if (const auto overlaps = object.find("overlaps_next")) span.action.overlaps_next = overlaps->boolean() ? 1 : 0;
  span.start = object.at("start_ns").integer(0);
  span.end = object.at("end_ns").integer(span.start);
  if (const auto idle = object.find("idle_before_ns")) span.idle_before = idle->integer(0, span.start);
  if (const auto cause = object.find("waited_for")) {
    span.waited_for = static_cast<IdleCause>(name_index(*cause, kIdleCauseNames, "idle cause"));
  }
  return span;
}

MemoryPoint read_point(const JsonValue& object) {
  object.allow_only({"device", "time_ns", "class", "bytes"});
  return {natural(object, "time_ns"),
          static_cast<MemoryClass>(name_index(object.at("class"), kMemoryClassNames, "memory class")),
          object.at("bytes").integer(0, MemoryPoint::kMostBytes)};
}

SteadyUpdates read_steady(const JsonValue& object) {
  object.allow_only({"device", "first", "last"});
  constexpr std::int64_t kMost = 0x7FFFFFFF;
  const std::int64_t first = object.at("first").integer(0, kMost - 1);
  return {.device = DeviceId{static_cast<std::int32_t>(object.at("device").integer(0, kMost))},
          .first = first,
          .last = object.at("last").integer(first + 1, kMost)};
}

void read_figures(const JsonValue& root, Timeline& timeline) {
  const bool measured =
      name_index(root.at("kind"), std::array<std::string_view, 2>{"simulated", "measured"}, "kind") == 1;
  timeline.kind = measured ? Timeline::Kind::kMeasured : Timeline::Kind::kSimulated;
  timeline.schedule = root.at("schedule").text();
  timeline.machine = root.at("machine").text();
  timeline.num_microbatches = natural(root, "num_microbatches");
  timeline.updates = root.at("updates").integer(1);
  if (const auto asynchronous = root.find("asynchronous")) timeline.asynchronous = asynchronous->boolean();
  if (const auto steady = root.find("steady")) timeline.steady = steady->boolean();
  if (const auto updates = root.find("steady_updates")) timeline.steady_updates = read_steady(*updates);
  timeline.makespan = natural(root, "makespan_ns");
  timeline.step_time = natural(root, "step_time_ns");
  timeline.longest_device_span = natural(root, "longest_device_span_ns");
  timeline.bubble_fraction = root.at("bubble_fraction").number();
  timeline.bubble_rate = root.at("bubble_rate").number();
  timeline.utilization = root.at("utilization").number(0);
  const auto optional_number = [&](std::string_view key) -> std::optional<double> {
    const auto value = root.find(key);
    return value ? std::optional(value->number(0)) : std::nullopt;
  };
  timeline.samples_per_s = optional_number("samples_per_s");
  timeline.tokens_per_s = optional_number("tokens_per_s");
  timeline.model_flops_utilization = optional_number("model_flops_utilization");
  timeline.tflops_per_device = optional_number("tflops_per_device");
  if (const auto search = root.find("search")) {
    search->allow_only({"span_ns", "bound_ns"});
    timeline.search = {.found = natural(*search, "span_ns"),
                       .bound = search->at("bound_ns").integer(0, natural(*search, "span_ns"))};
  }
}

SendBuffers read_send_buffers(const JsonValue& object) {
  object.allow_only({"asked", "used", "waits_moved", "receives_moved"});
  constexpr std::int64_t kMost = 0x7FFFFFFF;
  return {.asked = static_cast<std::int32_t>(object.at("asked").integer(1, kMost)),
          .used = static_cast<std::int32_t>(object.at("used").integer(1, kMost)),
          .waits_moved = natural(object, "waits_moved"),
          .receives_moved = natural(object, "receives_moved")};
}

template <class Number>
std::vector<Number> read_numbers(const JsonValue& list, std::int64_t least) {
  constexpr std::int64_t kMost = std::min<std::int64_t>(kMostTracedNs, std::numeric_limits<Number>::max());
  std::vector<Number> numbers;
  for (const JsonValue& value : list.elements()) numbers.push_back(static_cast<Number>(value.integer(least, kMost)));
  return numbers;
}

/// Steps by number must be among those whose lengths are told, ranks among those of the devices.
TracedFacts read_traced(const JsonValue& object) {
  object.allow_only({"step_ns", "step", "disturbed_steps", "ranks", "missing_ranks", "clock_offsets_ns",
                     "clock_residual_ns", "backend", "left_out", "profile"});
  TracedFacts facts;
  facts.step_ns = read_numbers<std::int64_t>(object.at("step_ns"), 0);
  if (facts.step_ns.empty()) object.at("step_ns").fail("expected the length of at least one step");
  facts.step = static_cast<std::int32_t>(object.at("step").integer(0, std::ssize(facts.step_ns) - 1));
  facts.disturbed_steps = read_numbers<std::int32_t>(object.at("disturbed_steps"), 0);
  for (const std::int32_t step : facts.disturbed_steps) {
    if (step >= std::ssize(facts.step_ns)) object.at("disturbed_steps").fail("expected numbers of steps in step_ns");
  }
  facts.ranks = read_numbers<std::int32_t>(object.at("ranks"), 0);
  facts.missing_ranks = read_numbers<std::int32_t>(object.at("missing_ranks"), 0);
  for (const std::int32_t rank : facts.missing_ranks) {
    if (std::ranges::find(facts.ranks, rank) == facts.ranks.end())
      object.at("missing_ranks").fail("has " + std::to_string(rank) + ", expected some of ranks");
  }
  facts.clock_offsets_ns = read_numbers<std::int64_t>(object.at("clock_offsets_ns"), -kMostTracedNs);
  facts.clock_residual_ns = natural(object, "clock_residual_ns");
  facts.backend = object.at("backend").text();
  for (const JsonValue& sentence : object.at("left_out").elements()) facts.left_out.emplace_back(sentence.text());
  if (const auto profile = object.find("profile")) facts.profile = read_run_profile(*profile);
  return facts;
}

void read_critical_path(const JsonValue& list, Timeline& timeline) {
  Ticks sum = 0;
  for (const JsonValue& object : list.elements()) {
    object.allow_only({"kind", "ns"});
    timeline.critical_path.push_back(
        {std::string(object.at("kind").text()), object.at("ns").integer(0, timeline.makespan)});
    sum += timeline.critical_path.back().ticks;
  }
  if (sum != timeline.makespan) {
    list.fail("adds up to " + std::to_string(sum) + ", expected makespan_ns = " + std::to_string(timeline.makespan));
  }
}

/// `[[value, times], ...]`, values ascending. The mean beside it follows from them.
DelayCounts read_counts(const JsonValue& object, const std::string& name) {
  DelayCounts counts;
  for (const JsonValue& entry : object.at(name + "_counts").elements()) {
    std::vector<std::int64_t> pair;
    for (const JsonValue& value : entry.elements()) pair.push_back(value.integer());
    if (pair.size() != 2 || pair[1] < 1) entry.fail("expected a value and how often it occurs");
    if (!counts.empty() && pair[0] <= counts.rbegin()->first) entry.fail("out of order, expected ascending values");
    counts[pair[0]] = pair[1];
  }
  const double mean = object.at(name).number();
  if (std::abs(mean - mean_delay(counts)) > 1e-9 * std::max(1.0, std::abs(mean))) {
    object.at(name).fail("is not the mean of " + name + "_counts");
  }
  return counts;
}

StageDelays read_delays(const JsonValue& object) {
  object.allow_only({"replica", "stage", "device", "distance", "distance_counts", "tau_fwd", "tau_fwd_counts",
                     "tau_bkwd", "tau_bkwd_counts", "tau_recomp", "tau_recomp_counts", "tau_teacher",
                     "tau_teacher_counts", "versions", "copies", "bytes"});
  StageDelays delays;
  delays.replica = ReplicaId{static_cast<std::int16_t>(object.at("replica").integer(0, 32767))};
  delays.stage = StageId{static_cast<std::int32_t>(object.at("stage").integer(0, 1 << 30))};
  delays.device = DeviceId{static_cast<std::int32_t>(object.at("device").integer(0, 1 << 30))};
  delays.distance = read_counts(object, "distance");
  delays.forward = read_counts(object, "tau_fwd");
  delays.backward = read_counts(object, "tau_bkwd");
  if (object.find("tau_recomp")) delays.recompute = read_counts(object, "tau_recomp");
  if (object.find("tau_teacher")) delays.teacher = read_counts(object, "tau_teacher");
  delays.versions = object.at("versions").integer(1);
  delays.copies = object.at("copies").integer(1);
  delays.bytes = natural(object, "bytes");
  return delays;
}

void read_spans(const JsonValue& list, Timeline& timeline) {
  timeline.spans.reserve(list.size());
  for (const JsonValue& object : list.elements()) {
    timeline.spans.push_back(read_span(object, timeline));
    const std::size_t count = timeline.spans.size();
    const auto rank = [&](std::size_t at) { return std::pair(timeline.spans[at].device, timeline.spans[at].start); };
    if (count > 1 && rank(count - 1) < rank(count - 2))
      object.fail("out of order, expected spans by device, then start_ns");
  }
}

void read_points(const JsonValue& list, Timeline& timeline) {
  auto& [points, ends] = timeline.memory;
  points.reserve(list.size());
  for (const JsonValue& object : list.elements()) {
    const MemoryPoint point = read_point(object);
    const std::size_t device = index(read_device_id(object, timeline));
    const bool first = ends.size() <= device;
    if (ends.size() > device + 1 || (!first && point.time() < points.back().time())) {
      object.fail("out of order, expected points by device, then time_ns");
    }
    ends.resize(device + 1, points.size());
    points.push_back(point);
    ends.back() = points.size();
  }
  if (!points.empty()) ends.resize(timeline.devices.size(), points.size());
}

}  // namespace

bool is_timeline(std::string_view text) {
  constexpr std::size_t kHead = 200;
  return text.substr(0, kHead).find("\"plumbline-timeline\"") != std::string_view::npos;
}

Timeline timeline_from_json(std::string text, const std::string& file_name) {
  const JsonDocument document(std::move(text), file_name);
  const JsonValue root = document.root();
  check_format(root, "plumbline-timeline", 1);
  root.allow_only({"format",
                   "version",
                   "kind",
                   "schedule",
                   "machine",
                   "num_microbatches",
                   "updates",
                   "asynchronous",
                   "steady",
                   "steady_updates",
                   "makespan_ns",
                   "step_time_ns",
                   "longest_device_span_ns",
                   "bubble_fraction",
                   "bubble_rate",
                   "utilization",
                   "samples_per_s",
                   "tokens_per_s",
                   "model_flops_utilization",
                   "tflops_per_device",
                   "send_buffers",
                   "search",
                   "traced",
                   "devices",
                   "critical_path",
                   "delays",
                   "training",
                   "spans",
                   "memory"});
  Timeline timeline;
  read_figures(root, timeline);
  if (const auto buffers = root.find("send_buffers")) timeline.send_buffers = read_send_buffers(*buffers);
  if (const auto traced = root.find("traced")) timeline.traced = read_traced(*traced);
  for (const JsonValue& device : root.at("devices").elements()) {
    timeline.devices.push_back(read_device(device, timeline.makespan));
  }
  if (timeline.devices.empty()) root.at("devices").fail("expected at least one device");
  if (const auto path = root.find("critical_path")) read_critical_path(*path, timeline);
  if (const auto delays = root.find("delays")) {
    for (const JsonValue& object : delays->elements()) timeline.delays.push_back(read_delays(object));
  }
  if (const auto spans = root.find("spans")) read_spans(*spans, timeline);
  if (const auto memory = root.find("memory")) read_points(*memory, timeline);
  return timeline;
}

}  // namespace plumb
