#include "tools/reports/report_trace.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/document/schedule_io.hpp"
#include "tools/reports/picture.hpp"
#include "tools/reports/report_limit.hpp"

namespace plumb {
namespace {

std::string json_string(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Microseconds with all three decimals: 1234567 -> 1234.567.
std::string micros(std::int64_t ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%lld.%03lld", static_cast<long long>(ns / 1000), static_cast<long long>(ns % 1000));
  return text;
}

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

/// Collects events and writes them sorted by time, in the order given where times are equal.
class TraceWriter {
 public:
  explicit TraceWriter(const Timeline& timeline) : timeline_(timeline), rows_(picture_rows(timeline)) {
    std::map<DeviceId, int> used;
    for (const PictureRow& row : rows_) stride_ = std::max(stride_, ++used[row.device] + 2);
  }

  std::string write() {
    names();
    slices();
    idle();
    arrows();
    counters();
    std::stable_sort(events_.begin(), events_.end(), [](const Event& a, const Event& b) { return a.ns < b.ns; });
    std::string out = header();
    for (std::size_t i = 0; i < events_.size(); ++i) {
      out += i == 0 ? "\n" : ",\n";
      out += events_[i].text;
    }
    return out + "\n]}\n";
  }

 private:
  struct Event {
    std::int64_t ns = 0;  ///< -1: metadata, before everything
    std::string text;
  };

  /// Where a slice stands in the file.
  struct Place {
    std::int64_t pid = 0;
    std::int64_t tid = 0;
  };

  std::int64_t ns(Ticks ticks) const { return to_ns(ticks, timeline_.base); }
  static std::int64_t pid(DeviceId device) { return static_cast<std::int64_t>(device) + 1; }
  /// Unique in the file, and never equal to a pid, which viewers take for the main thread.
  std::int64_t tid(DeviceId device, int row) const {
    return static_cast<std::int64_t>(timeline_.devices.size()) + pid(device) * stride_ + row;
  }

  static std::string at(const Place& place) {
    return "\"pid\":" + std::to_string(place.pid) + ",\"tid\":" + std::to_string(place.tid);
  }

  std::string header() const {
    return R"({"displayTimeUnit":"ns","otherData":{"schedule":)" + json_string(timeline_.schedule) + R"(,"kind":")" +
           (timeline_.kind == Timeline::Kind::kSimulated ? "simulated" : "measured") + R"(","machine":)" +
           json_string(timeline_.machine) + R"(,"makespan_ns":)" + std::to_string(ns(timeline_.makespan)) +
           R"(},"traceEvents":[)";
  }

  void metadata(std::string_view kind, const std::string& where, const std::string& args) {
    events_.push_back(
        {-1, R"({"name":")" + std::string(kind) + R"(","ph":"M",)" + where + R"(,"args":{)" + args + "}}"});
  }

  void name_row(DeviceId device, int row, std::string_view name) {
    const std::string where = at({pid(device), tid(device, row)});
    metadata("thread_name", where, "\"name\":" + json_string(name));
    metadata("thread_sort_index", where, "\"sort_index\":" + std::string(name.substr(0, 1)));
  }

  void names() {
    for (std::size_t d = 0; d < timeline_.devices.size(); ++d) {
      const DeviceId device{static_cast<std::int32_t>(d)};
      const std::string where = "\"pid\":" + std::to_string(pid(device));
      metadata("process_name", where, "\"name\":" + json_string("device " + padded(d, timeline_.devices.size())));
      metadata("process_sort_index", where, "\"sort_index\":" + std::to_string(d));
      if (!timeline_.spans.empty()) name_row(device, 1, kIdleRowName);
    }
  }

  /// All slices of the rows; remembers where each span stands, for the arrows.
  void slices() {
    places_.resize(timeline_.spans.size());
    DeviceId device{-1};
    int number = 0;
    for (const PictureRow& row : rows_) {
      number = row.device == device ? number + 1 : 2;
      device = row.device;
      name_row(device, number, row_name(row));
      for (const PictureSpan& drawn : row.spans) {
        places_[drawn.span] = {pid(device), tid(device, number)};
        slice(drawn);
      }
    }
  }

  void slice(const PictureSpan& drawn) {
    const Span& span = timeline_.spans[drawn.span];
    const std::int64_t start = ns(drawn.start);
    std::string args = "\"action\":" + json_string(to_string(span.action)) +
                       ",\"stage\":" + std::to_string(index(span.action.stage)) +
                       ",\"microbatch\":" + std::to_string(static_cast<std::int32_t>(span.action.microbatch)) +
                       ",\"replica\":" + std::to_string(static_cast<int>(span.action.replica));
    if (span.idle_before > 0) {
      args += ",\"waited_ns\":" + std::to_string(ns(span.idle_before)) + ",\"waited_for\":\"" +
              std::string(kIdleCauseNames[static_cast<std::size_t>(span.waited_for)]) + "\"";
    }
    complete(action_label(span.action), category(span.lane), places_[drawn.span], {start, ns(drawn.end)}, args);
  }

  void complete(std::string_view name, std::string_view cat, const Place& place,
                std::pair<std::int64_t, std::int64_t> interval, const std::string& args) {
    const auto [start, end] = interval;
    events_.push_back({start, "{\"name\":" + json_string(name) + ",\"cat\":\"" + std::string(cat) + R"(","ph":"X",)" +
                                  at(place) + ",\"ts\":" + micros(start) + ",\"dur\":" + micros(end - start) +
                                  ",\"args\":{" + args + "}}"});
  }

  void idle() {
    if (timeline_.spans.empty()) return;
    for (const IdleGap& gap : idle_gaps(timeline_)) {
      const auto cause = std::string(kIdleCauseNames[static_cast<std::size_t>(gap.cause)]);
      complete("idle: " + cause, "bubble", {pid(gap.device), tid(gap.device, 1)}, {ns(gap.start), ns(gap.end)},
               "\"cause\":\"" + cause + "\"");
    }
  }

  /// Both ends lie inside slices: an arrow leaves a transfer at its start, a compute span just before its end.
  void arrows() {
    std::size_t id = 0;
    for (const PictureArrow& arrow : picture_arrows(timeline_)) {
      const Span& from = timeline_.spans[arrow.from];
      const Span& to = timeline_.spans[arrow.to];
      if (ns(from.end) == ns(from.start) || ns(to.end) == ns(to.start)) continue;
      const std::int64_t leaves = from.lane == Lane::kTransfer ? ns(from.start) : ns(from.end) - 1;
      const std::string_view name = is_backward(to.action.op) ? "gradient" : "activation";
      ++id;
      arrow_end('s', name, id, places_[arrow.from], leaves);
      arrow_end('f', name, id, places_[arrow.to], ns(to.start));
    }
  }

  void arrow_end(char phase, std::string_view name, std::size_t id, const Place& place, std::int64_t when) {
    events_.push_back({when, "{\"name\":\"" + std::string(name) + R"(","cat":"flow","ph":")" + phase +
                                 "\",\"id\":" + std::to_string(id) + (phase == 'f' ? R"(,"bp":"e")" : "") + "," +
                                 at(place) + ",\"ts\":" + micros(when) + "}"});
  }

  void counters() {
    if (timeline_.memory.empty()) return;
    for (std::size_t d = 0; d < timeline_.devices.size(); ++d) {
      const DeviceId device{static_cast<std::int32_t>(d)};
      const std::span<const MemoryPoint> points = timeline_.memory.of(d);
      MemoryByClass seen{};
      for (const MemoryPoint& point : points) {
        auto& most = seen[static_cast<std::size_t>(point.cls())];
        most = std::max(most, point.bytes());
      }
      MemoryByClass now{};
      for (std::size_t i = 0; i < points.size();) {
        const Ticks time = points[i].time();
        for (; i < points.size() && points[i].time() == time; ++i) {
          now[static_cast<std::size_t>(points[i].cls())] = points[i].bytes();
        }
        counter(device, ns(time), now, seen);
      }
      if (!points.empty()) counter(device, ns(timeline_.makespan), now, seen);
    }
  }

  /// All classes that the device ever uses, so that stacked areas stay whole.
  void counter(DeviceId device, std::int64_t when, const MemoryByClass& now, const MemoryByClass& seen) {
    std::string args;
    for (std::size_t c = 0; c < kMemoryClassCount; ++c) {
      if (seen[c] == 0) continue;
      args += (args.empty() ? "\"" : ",\"") + std::string(kMemoryClassNames[c]) + "\":" + std::to_string(now[c]);
    }
    if (args.empty()) return;
    events_.push_back({when, R"({"name":"memory, bytes","ph":"C","pid":)" + std::to_string(pid(device)) +
                                 ",\"ts\":" + micros(when) + ",\"args\":{" + args + "}}"});
  }

  const Timeline& timeline_;
  std::vector<PictureRow> rows_;
  std::vector<Place> places_;
  std::vector<Event> events_;
  int stride_ = 3;
};

}  // namespace

std::string trace_report(const Timeline& timeline) {
  check_report(kTraceLimit, timeline.spans.size() + timeline.memory.points.size());
  return TraceWriter(timeline).write();
}

}  // namespace plumb
