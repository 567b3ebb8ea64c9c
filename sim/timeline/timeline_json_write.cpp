#include <algorithm>
#include <array>
#include <numeric>
#include <span>

#include "schedules/document/action_text.hpp"
#include "sim/timeline/timeline_io.hpp"

namespace plumb {
namespace {

class Writer : JsonPieces {
 public:
  Writer(const Timeline& timeline, const TextSink& sink)
      : JsonPieces(sink), timeline_(timeline), base_(timeline.base) {}

  void write(bool summary, std::string_view training) {
    raw("{\"format\":\"plumbline-timeline\",\"version\":1,\"kind\":");
    text(timeline_.kind == Timeline::Kind::kSimulated ? "simulated" : "measured");
    write_figures(summary);
    if (timeline_.send_buffers) write_send_buffers(*timeline_.send_buffers);
    if (timeline_.traced) write_traced(*timeline_.traced);
    raw(",\n\"devices\":");
    list(timeline_.devices, [this](const DeviceSummary& device) { write_device(device); });
    if (!timeline_.critical_path.empty()) write_critical_path();
    if (!timeline_.delays.empty()) {
      raw(",\n\"delays\":");
      list(timeline_.delays, [this](const StageDelays& delays) { write_delays(delays); });
    }
    if (!training.empty()) {
      raw(",\n\"training\":");
      raw(training);
    }
    if (!summary) {
      raw(",\n\"spans\":");
      list(timeline_.spans, [this](const Span& span) { write_span(span); });
      raw(",\n\"memory\":");
      write_memory();
    }
    raw("}\n");
    hand_on();
  }

 private:
  /// `[` one element per line `]`
  template <class T, class Write>
  void list(const std::vector<T>& elements, Write&& write_element) {
    raw("[");
    for (const T& element : elements) {
      raw(&element == elements.data() ? "\n" : ",\n");
      write_element(element);
      hand_on_full();
    }
    raw("]");
  }

  std::int64_t ns(Ticks ticks) const { return to_ns(ticks, base_); }

  void write_figures(bool summary) {
    key("schedule");
    text(timeline_.schedule);
    key("machine");
    text(timeline_.machine);
    raw("\n");
    field("num_microbatches", timeline_.num_microbatches);
    field("updates", timeline_.updates);
    if (timeline_.asynchronous) {
      key("asynchronous");
      raw("true");
      key("steady");
      raw(timeline_.steady ? "true" : "false");
    }
    if (timeline_.steady_updates && !summary) write_steady(*timeline_.steady_updates);
    raw("\n");
    field("makespan_ns", ns(timeline_.makespan));
    field("step_time_ns", ns(timeline_.step_time));
    field("longest_device_span_ns", ns(timeline_.longest_device_span));
    field("bubble_fraction", timeline_.bubble_fraction);
    field("bubble_rate", timeline_.bubble_rate);
    field("utilization", timeline_.utilization);
    if (timeline_.samples_per_s) field("samples_per_s", *timeline_.samples_per_s);
    if (timeline_.tokens_per_s) field("tokens_per_s", *timeline_.tokens_per_s);
    if (timeline_.model_flops_utilization) field("model_flops_utilization", *timeline_.model_flops_utilization);
    if (timeline_.tflops_per_device) field("tflops_per_device", *timeline_.tflops_per_device);
    if (timeline_.search) {
      raw("\n");
      key("search");
      raw("{\"span_ns\":");
      number(ns(timeline_.search->found));
      field("bound_ns", ns(timeline_.search->bound));
      raw("}");
    }
  }

  void write_steady(const SteadyUpdates& steady) {
    key("steady_updates");
    raw("{\"device\":");
    number(index(steady.device));
    field("first", steady.first);
    field("last", steady.last);
    raw("}");
  }

  void write_send_buffers(const SendBuffers& buffers) {
    raw(",\n\"send_buffers\":{\"asked\":");
    number(buffers.asked);
    field("used", buffers.used);
    field("waits_moved", buffers.waits_moved);
    field("receives_moved", buffers.receives_moved);
    raw("}");
  }

  void write_traced(const TracedFacts& facts) {
    raw(",\n\"traced\":{\"step_ns\":");
    numbers(facts.step_ns);
    field("step", facts.step);
    key("disturbed_steps");
    numbers(facts.disturbed_steps);
    key("ranks");
    numbers(facts.ranks);
    key("missing_ranks");
    numbers(facts.missing_ranks);
    key("clock_offsets_ns");
    numbers(facts.clock_offsets_ns);
    field("clock_residual_ns", facts.clock_residual_ns);
    key("backend");
    text(facts.backend);
    key("left_out");
    raw("[");
    for (std::size_t i = 0; i < facts.left_out.size(); ++i) {
      if (i != 0) raw(",");
      text(facts.left_out[i]);
    }
    raw("]");
    if (facts.profile) {
      key("profile");
      raw(run_profile_to_json(*facts.profile));
    }
    raw("}");
  }

  void write_device(const DeviceSummary& device) {
    const std::int64_t busy_ns = ns(device.busy);
    const std::int64_t idle_ns = ns(timeline_.makespan) - busy_ns;
    raw("{\"busy_ns\":");
    number(busy_ns);
    field("useful_ns", ns(device.useful));
    if (device.slowed != 0) field("slowed_ns", ns(device.slowed));
    field("idle_ns", idle_ns);
    key("idle_causes_ns");
    write_causes(device, idle_ns);
    field("first_start_ns", ns(device.first_start));
    field("last_end_ns", ns(device.last_end));
    field("peak_memory_bytes", device.peak_memory_bytes);
    key("peak_memory_by_class");
    named(kMemoryClassNames, device.peak_memory_by_class);
    field("peak_activations", device.peak_activations);
    if (!device.peak_tensors.empty()) {
      key("peak_tensors");
      list(device.peak_tensors, [this](const PeakTensor& tensor) { write_tensor(tensor); });
    }
    if (device.need) write_need(*device.need);
    if (!device.known) {
      key("known");
      raw("false");
    }
    raw("}");
  }

  void write_need(const MemoryNeed& need) {
    key("memory_need");
    raw("{\"verdict\":");
    text(verdict_word(need.verdict()));
    field("limit_bytes", need.limit_bytes);
    field("needed_bytes", need.needed_bytes);
    field("least_bytes", need.least_bytes);
    field("most_bytes", need.most_bytes);
    raw("}");
  }

  /// Nanoseconds that add up to `sum_ns`, which is the sum of `ticks` rounded by at most one: all are rounded down,
  /// then up where most was cut off.
  std::vector<std::int64_t> rounded(std::span<const Ticks> ticks, std::int64_t sum_ns) const {
    std::vector<std::int64_t> parts;
    std::vector<std::size_t> order(ticks.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (const Ticks part : ticks) sum_ns -= parts.emplace_back(part / base_.ticks_per_ns);
    std::ranges::stable_sort(order, std::ranges::greater(),
                             [&](std::size_t k) { return ticks[k] % base_.ticks_per_ns; });
    for (std::size_t k = 0; sum_ns > 0 && k < order.size(); ++k, --sum_ns) ++parts[order[k]];
    return parts;
  }

  /// No keys when causes were not looked for.
  void write_causes(const DeviceSummary& device, std::int64_t idle_ns) {
    const auto& ticks = device.idle_causes;
    if (std::accumulate(ticks.begin(), ticks.end(), Ticks{0}) != device.idle) {
      raw("{}");
    } else {
      named(kIdleCauseNames, rounded(ticks, idle_ns));
    }
  }

  void write_critical_path() {
    std::vector<Ticks> ticks;
    for (const CriticalShare& share : timeline_.critical_path) ticks.push_back(share.ticks);
    const std::vector<std::int64_t> parts = rounded(ticks, ns(timeline_.makespan));
    raw(",\n\"critical_path\":[");
    for (std::size_t i = 0; i < parts.size(); ++i) {
      raw(i == 0 ? "{\"kind\":" : ",{\"kind\":");
      text(timeline_.critical_path[i].kind);
      field("ns", parts[i]);
      raw("}");
    }
    raw("]");
  }

  void named(std::span<const std::string_view> names, std::span<const std::int64_t> values) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      raw(i == 0 ? "{\"" : ",\"");
      raw(names[i]);
      raw("\":");
      number(values[i]);
    }
    raw("}");
  }

  void write_tensor(const PeakTensor& tensor) {
    raw("{\"class\":");
    text(kMemoryClassNames[static_cast<std::size_t>(tensor.cls)]);
    field("stage", static_cast<std::int32_t>(tensor.stage));
    key("name");
    text(tensor.name);
    field("bytes", tensor.bytes);
    key("microbatches");
    numbers(tensor.microbatches);
    raw("}");
  }

  template <class Number>
  void numbers(const std::vector<Number>& values) {
    raw("[");
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i != 0) raw(",");
      number(values[i]);
    }
    raw("]");
  }

  void write_delays(const StageDelays& delays) {
    raw("{\"replica\":");
    number(static_cast<std::int32_t>(delays.replica));
    field("stage", static_cast<std::int32_t>(delays.stage));
    field("device", static_cast<std::int32_t>(delays.device));
    write_counts("distance", delays.distance);
    write_counts("tau_fwd", delays.forward);
    write_counts("tau_bkwd", delays.backward);
    if (!delays.recompute.empty()) write_counts("tau_recomp", delays.recompute);
    if (!delays.teacher.empty()) write_counts("tau_teacher", delays.teacher);
    field("versions", delays.versions);
    field("copies", delays.copies);
    field("bytes", delays.bytes);
    raw("}");
  }

  /// The mean, and under `<name>_counts` every value with how often it occurs.
  void write_counts(const std::string& name, const DelayCounts& counts) {
    field(name, mean_delay(counts));
    key(name + "_counts");
    raw("[");
    for (const auto& [value, times] : counts) {
      raw(value == counts.begin()->first ? "[" : ",[");
      number(value);
      raw(",");
      number(times);
      raw("]");
    }
    raw("]");
  }

  void write_span(const Span& span) {
    const std::int64_t start_ns = ns(span.start);
    raw("{\"device\":");
    number(static_cast<std::int32_t>(span.device));
    raw(",\"lane\":\"");
    raw(kLaneNames[static_cast<std::size_t>(span.lane)]);
    raw("\",\"action\":\"");
    append_text(pending(), span.action);
    raw(span.action.overlaps_next != 0 ? "\",\"overlaps_next\":true,\"start_ns\":" : "\",\"start_ns\":");
    number(start_ns);
    field("end_ns", ns(span.end));
    if (span.idle_before != 0) field("idle_before_ns", start_ns - ns(span.start - span.idle_before));
    if (span.idle_before != 0 || span.waited_for != IdleCause::kCompute) {
      raw(",\"waited_for\":\"");
      raw(kIdleCauseNames[static_cast<std::size_t>(span.waited_for)]);
      raw("\"");
    }
    raw("}");
  }

  void write_memory() {
    const MemoryCurves& memory = timeline_.memory;
    std::size_t device = 0;
    list(memory.points, [&](const MemoryPoint& point) {
      while (&point >= memory.points.data() + memory.ends[device]) ++device;
      write_point(device, point);
    });
  }

  void write_point(std::size_t device, const MemoryPoint& point) {
    raw("{\"device\":");
    number(static_cast<std::int64_t>(device));
    field("time_ns", ns(point.time()));
    raw(",\"class\":\"");
    raw(kMemoryClassNames[static_cast<std::size_t>(point.cls())]);
    raw("\"");
    field("bytes", point.bytes());
    raw("}");
  }

  const Timeline& timeline_;
  Timebase base_;
};

}  // namespace

void write_timeline_json(const Timeline& timeline, bool summary, const TextSink& sink, std::string_view training) {
  Writer(timeline, sink).write(summary, training);
}

std::string timeline_to_json(const Timeline& timeline, bool summary) {
  return in_one_piece([&](const TextSink& sink) { write_timeline_json(timeline, summary, sink); });
}

}  // namespace plumb
