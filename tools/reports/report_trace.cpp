#include "tools/reports/report_trace.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/document/action_text.hpp"
#include "tools/reports/picture.hpp"
#include "tools/reports/report_limit.hpp"

namespace plumb {
namespace {

std::string padded(std::size_t number, std::size_t count) {
  const std::string digits = std::to_string(number);
  const std::size_t width = std::to_string(count == 0 ? 0 : count - 1).size();
  return std::string(width > digits.size() ? width - digits.size() : 0, '0') + digits;
}

/// Returns a row of the viewer. Names start with a digit because viewers sort them as text.
std::string row_name(const PictureRow& row) {
  std::string name;
  switch (row.lane) {
    case Lane::kCompute:
      name = row.overflow == 0 ? "1 compute" : "2 compute, overlapped";
      break;
    case Lane::kTransfer:
      name = row.op == Op::kSendB ? "5 send gradients" : "4 send activations";
      break;
    case Lane::kCollective:
      name = "6 collectives";
      break;
  }
  if (row.lane == Lane::kTransfer && row.op != Op::kSendF && row.op != Op::kSendB) {
    name = "4 " + std::string(kOpNames[static_cast<std::size_t>(row.op)]);
  }
  return row.lane != Lane::kCompute && row.overflow > 0 ? name + ", " + std::to_string(row.overflow + 1) : name;
}

constexpr std::string_view kIdleRowName = "3 idle";

std::string_view category(Lane lane) {
  switch (lane) {
    case Lane::kCompute:
      return "compute";
    case Lane::kTransfer:
      return "transfer";
    case Lane::kCollective:
      return "collective";
  }
  return "compute";
}

/// Writes events sorted by time, in the order of their kinds where times are equal. What an event says is made up when
/// it is written: before, only its moment and where to look are held.
class TraceWriter {
 public:
  TraceWriter(const Timeline& timeline, const TextSink& sink)
      : timeline_(timeline), rows_(picture_rows(timeline)), json_(sink) {
    std::map<DeviceId, int> used;
    for (const PictureRow& row : rows_) stride_ = std::max(stride_, ++used[row.device] + 2);
  }

  void write() {
    header();
    names();
    slices();
    idle();
    arrows();
    counters();
    std::ranges::stable_sort(events_, {}, &Event::ns);
    for (const Event& event : events_) {
      write(event);
      json_.hand_on_full();
    }
    json_.raw("\n]}\n");
    json_.hand_on();
  }

 private:
  enum class Kind : std::uint8_t { kSlice, kIdle, kArrowStart, kArrowEnd, kMemory };

  struct Event {
    std::int64_t ns = 0;
    Kind kind{};
    std::uint32_t at = 0;  ///< of `slices_`, `gaps_` or `arrows_`; device of memory
  };

  /// Where a slice stands in the file.
  struct Place {
    std::int64_t pid = 0;
    std::int64_t tid = 0;
  };

  struct Slice {
    PictureSpan drawn;
    Place place;
  };

  /// What a device holds at the moment that is being written.
  struct DeviceMemory {
    std::size_t next = 0;  ///< of its points
    MemoryByClass now{};
    MemoryByClass most{};
  };

  std::int64_t ns(Ticks ticks) const { return to_ns(ticks, timeline_.base); }
  static std::int64_t pid(DeviceId device) { return static_cast<std::int64_t>(device) + 1; }
  /// Unique in the file, and never equal to a pid, which viewers take for the main thread.
  std::int64_t tid(DeviceId device, int row) const {
    return static_cast<std::int64_t>(timeline_.devices.size()) + pid(device) * stride_ + row;
  }

  void header() {
    json_.raw(R"({"displayTimeUnit":"ns","otherData":{"schedule":)");
    json_.text(timeline_.schedule);
    json_.key("kind");
    json_.text(timeline_.kind == Timeline::Kind::kSimulated ? "simulated" : "measured");
    json_.key("machine");
    json_.text(timeline_.machine);
    json_.field("makespan_ns", ns(timeline_.makespan));
    json_.raw(R"(},"traceEvents":[)");
  }

  void begin_event(std::string_view name) {
    json_.raw(first_ ? "\n{\"name\":" : ",\n{\"name\":");
    first_ = false;
    json_.text(name);
  }

  void metadata(std::string_view kind, DeviceId device, int row) {
    begin_event(kind);
    json_.raw(R"(,"ph":"M","pid":)");
    json_.number(pid(device));
    if (row > 0) json_.field("tid", tid(device, row));
    json_.raw(R"(,"args":{)");
  }

  void name(std::string_view kind, DeviceId device, int row, std::string_view text) {
    metadata(std::string(kind) + "_name", device, row);
    json_.raw("\"name\":");
    json_.text(text);
    json_.raw("}}");
  }

  void sort_by(std::string_view kind, DeviceId device, int row, std::int64_t number) {
    metadata(std::string(kind) + "_sort_index", device, row);
    json_.raw("\"sort_index\":");
    json_.number(number);
    json_.raw("}}");
  }

  void name_row(DeviceId device, int row, std::string_view text) {
    name("thread", device, row, text);
    sort_by("thread", device, row, text.front() - '0');
  }

  void names() {
    for (std::size_t d = 0; d < timeline_.devices.size(); ++d) {
      const DeviceId device{static_cast<std::int32_t>(d)};
      name("process", device, 0, "device " + padded(d, timeline_.devices.size()));
      sort_by("process", device, 0, static_cast<std::int64_t>(d));
      if (!timeline_.spans.empty()) name_row(device, 1, kIdleRowName);
    }
  }

  void add(std::int64_t when, Kind kind, std::size_t at) {
    events_.push_back({when, kind, static_cast<std::uint32_t>(at)});
  }

  /// All slices of the rows; remembers where each span stands, for the arrows.
  void slices() {
    slices_.reserve(timeline_.spans.size());
    slice_of_.resize(timeline_.spans.size());
    DeviceId device{-1};
    int number = 0;
    for (const PictureRow& row : rows_) {
      number = row.device == device ? number + 1 : 2;
      device = row.device;
      name_row(device, number, row_name(row));
      for (const PictureSpan& drawn : row.spans) {
        slice_of_[drawn.span] = static_cast<std::uint32_t>(slices_.size());
        add(ns(drawn.start), Kind::kSlice, slices_.size());
        slices_.push_back({drawn, {pid(device), tid(device, number)}});
      }
    }
  }

  void idle() {
    if (timeline_.spans.empty()) return;
    gaps_ = idle_gaps(timeline_);
    for (std::size_t at = 0; at < gaps_.size(); ++at) add(ns(gaps_[at].start), Kind::kIdle, at);
  }

  /// Both ends lie inside slices: an arrow leaves a transfer at its start, a compute span just before its end.
  void arrows() {
    arrows_ = picture_arrows(timeline_);
    std::erase_if(arrows_, [&](const PictureArrow& arrow) {
      const Span& from = timeline_.spans[arrow.from];
      const Span& to = timeline_.spans[arrow.to];
      return ns(from.end) == ns(from.start) || ns(to.end) == ns(to.start);
    });
    for (std::size_t at = 0; at < arrows_.size(); ++at) {
      const Span& from = timeline_.spans[arrows_[at].from];
      add(from.lane == Lane::kTransfer ? ns(from.start) : ns(from.end) - 1, Kind::kArrowStart, at);
      add(ns(timeline_.spans[arrows_[at].to].start), Kind::kArrowEnd, at);
    }
  }

  void counters() {
    if (timeline_.memory.empty()) return;
    memory_.resize(timeline_.devices.size());
    for (std::size_t d = 0; d < memory_.size(); ++d) {
      const std::span<const MemoryPoint> points = timeline_.memory.of(d);
      MemoryByClass& most = memory_[d].most;
      for (const MemoryPoint& point : points) {
        auto& of_class = most[static_cast<std::size_t>(point.cls())];
        of_class = std::max(of_class, point.bytes());
      }
      if (std::ranges::all_of(most, [](std::int64_t bytes) { return bytes == 0; })) continue;
      for (std::size_t i = 0; i < points.size(); ++i) {
        if (i == 0 || points[i].time() != points[i - 1].time()) add(ns(points[i].time()), Kind::kMemory, d);
      }
      add(ns(timeline_.makespan), Kind::kMemory, d);
    }
  }

  void write(const Event& event) {
    switch (event.kind) {
      case Kind::kSlice:
        return write_slice(slices_[event.at]);
      case Kind::kIdle:
        return write_idle(gaps_[event.at]);
      case Kind::kArrowStart:
      case Kind::kArrowEnd:
        return write_arrow(event);
      case Kind::kMemory:
        return write_memory(event);
    }
  }

  void write_place(const Place& place) {
    json_.field("pid", place.pid);
    json_.field("tid", place.tid);
  }

  /// Microseconds with all three decimals: 1234567 -> 1234.567.
  void write_micros(std::string_view key, std::int64_t ns) {
    json_.field(key, ns / 1000);
    const auto rest = static_cast<int>(ns % 1000);
    const std::array<char, 4> decimals{'.', static_cast<char>('0' + rest / 100),
                                       static_cast<char>('0' + rest / 10 % 10), static_cast<char>('0' + rest % 10)};
    json_.raw({decimals.data(), decimals.size()});
  }

  /// A slice up to its arguments, which the caller writes.
  void begin_slice(std::string_view name, std::string_view category, const Place& place, std::int64_t start,
                   std::int64_t end) {
    begin_event(name);
    json_.key("cat");
    json_.text(category);
    json_.raw(R"(,"ph":"X")");
    write_place(place);
    write_micros("ts", start);
    write_micros("dur", end - start);
    json_.raw(",\"args\":{");
  }

  void write_slice(const Slice& slice) {
    const Span& span = timeline_.spans[slice.drawn.span];
    begin_slice(action_label(span.action), category(span.lane), slice.place, ns(slice.drawn.start),
                ns(slice.drawn.end));
    action_.clear();
    append_text(action_, span.action);
    json_.raw("\"action\":");
    json_.text(action_);
    json_.field("stage", index(span.action.stage));
    json_.field("microbatch", static_cast<std::int32_t>(span.action.microbatch));
    json_.field("replica", static_cast<int>(span.action.replica));
    if (span.idle_before > 0) {
      json_.field("waited_ns", ns(span.idle_before));
      json_.key("waited_for");
      json_.text(kIdleCauseNames[static_cast<std::size_t>(span.waited_for)]);
    }
    json_.raw("}}");
  }

  void write_idle(const IdleGap& gap) {
    const std::string_view cause = kIdleCauseNames[static_cast<std::size_t>(gap.cause)];
    begin_slice("idle: " + std::string(cause), "bubble", {pid(gap.device), tid(gap.device, 1)}, ns(gap.start),
                ns(gap.end));
    json_.raw("\"cause\":");
    json_.text(cause);
    json_.raw("}}");
  }

  void write_arrow(const Event& event) {
    const PictureArrow& arrow = arrows_[event.at];
    const bool starts = event.kind == Kind::kArrowStart;
    begin_event(is_backward(timeline_.spans[arrow.to].action.op) ? "gradient" : "activation");
    json_.raw(starts ? R"(,"cat":"flow","ph":"s")" : R"(,"cat":"flow","ph":"f")");
    json_.field("id", event.at + 1);
    if (!starts) json_.raw(R"(,"bp":"e")");
    write_place(slices_[slice_of_[starts ? arrow.from : arrow.to]].place);
    write_micros("ts", event.ns);
    json_.raw("}");
  }

  /// All classes that the device ever uses, so that stacked areas stay whole.
  void write_memory(const Event& event) {
    DeviceMemory& held = memory_[event.at];
    const std::span<const MemoryPoint> points = timeline_.memory.of(event.at);
    if (held.next < points.size()) {
      const Ticks time = points[held.next].time();
      for (; held.next < points.size() && points[held.next].time() == time; ++held.next) {
        held.now[static_cast<std::size_t>(points[held.next].cls())] = points[held.next].bytes();
      }
    }
    begin_event("memory, bytes");
    json_.raw(R"(,"ph":"C","pid":)");
    json_.number(event.at + 1);
    write_micros("ts", event.ns);
    json_.raw(",\"args\":{");
    bool first = true;
    for (std::size_t c = 0; c < kMemoryClassCount; ++c) {
      if (held.most[c] == 0) continue;
      json_.raw(first ? "\"" : ",\"");
      first = false;
      json_.raw(kMemoryClassNames[c]);
      json_.raw("\":");
      json_.number(held.now[c]);
    }
    json_.raw("}}");
  }

  const Timeline& timeline_;
  std::vector<PictureRow> rows_;
  std::vector<Slice> slices_;
  std::vector<std::uint32_t> slice_of_;  ///< by span
  std::vector<IdleGap> gaps_;
  std::vector<PictureArrow> arrows_;
  std::vector<DeviceMemory> memory_;  ///< by device
  std::vector<Event> events_;
  std::string action_;  ///< scratch
  JsonPieces json_;
  int stride_ = 3;
  bool first_ = true;
};

}  // namespace

void trace_report(const Timeline& timeline, const TextSink& sink) {
  check_report(kTraceLimit, timeline.spans.size() + timeline.memory.points.size());
  TraceWriter(timeline, sink).write();
}

}  // namespace plumb
