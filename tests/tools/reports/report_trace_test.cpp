#include "tools/reports/report_trace.hpp"

#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/support/golden.hpp"
#include "tests/support/synthetic_timeline.hpp"

TEST_SUITE_BEGIN("tools");

namespace plumb {
namespace {

using testing::golden;
using testing::synthetic_timeline;
using testing::SyntheticRun;

using Json = nlohmann::json;

const SyntheticRun kRun{.devices = 4, .microbatches = 6, .transfer_ns = 250'123, .noise = 0.3};

/// Nanoseconds of a time in microseconds, which the trace writes with three decimals.
std::int64_t ns(const Json& micros) { return static_cast<std::int64_t>(micros.get<double>() * 1000 + 0.5); }

std::vector<Json> events_of(const Json& trace, std::string_view phase) {
  std::vector<Json> found;
  for (const Json& event : trace.at("traceEvents")) {
    if (event.at("ph") == phase) found.push_back(event);
  }
  return found;
}

struct Slice {
  std::int64_t start = 0;
  std::int64_t end = 0;
};

std::map<std::int64_t, std::vector<Slice>> slices_by_tid(const Json& trace) {
  std::map<std::int64_t, std::vector<Slice>> slices;
  for (const Json& event : events_of(trace, "X")) {
    const std::int64_t start = ns(event.at("ts"));
    slices[event.at("tid")].push_back({start, start + ns(event.at("dur"))});
  }
  return slices;
}

TEST_CASE("the trace of two devices and two microbatches is the reviewed one") {
  const std::string trace =
      in_one_piece(trace_report, synthetic_timeline({.devices = 2, .microbatches = 2, .transfer_ns = 250'000}));
  CHECK(trace == golden("reports/two_by_two.trace.json", trace));
}

TEST_CASE("slices of a row never overlap") {
  for (const auto& [tid, slices] : slices_by_tid(Json::parse(in_one_piece(trace_report, synthetic_timeline(kRun))))) {
    CAPTURE(tid);
    for (std::size_t i = 1; i < slices.size(); ++i) CHECK(slices[i].start >= slices[i - 1].end);
  }
}

TEST_CASE("both ends of every arrow lie inside a slice of their row, with equal names, in the order of time") {
  const Json trace = Json::parse(in_one_piece(trace_report, synthetic_timeline(kRun)));
  const auto slices = slices_by_tid(trace);
  const auto inside = [&](const Json& end) {
    for (const Slice& slice : slices.at(end.at("tid"))) {
      if (slice.start <= ns(end.at("ts")) && ns(end.at("ts")) < slice.end) return true;
    }
    return false;
  };
  std::map<int, Json> starts;
  for (const Json& start : events_of(trace, "s")) {
    CHECK(starts.emplace(start.at("id"), start).second);
    CHECK(inside(start));
  }
  const std::vector<Json> ends = events_of(trace, "f");
  // Per boundary and microbatch: maker to message and message to reader, forwards and backwards.
  CHECK(ends.size() == 3 * 6 * 2 * 2);
  CHECK(starts.size() == ends.size());
  for (const Json& end : ends) {
    const Json& start = starts.at(end.at("id"));
    CHECK(end.at("bp") == "e");
    CHECK(end.at("name") == start.at("name"));
    CHECK(end.at("cat") == start.at("cat"));
    CHECK(ns(start.at("ts")) <= ns(end.at("ts")));
    CHECK(inside(end));
  }
}

TEST_CASE("idle slices with their cause fill what compute leaves of the makespan") {
  const Timeline timeline = synthetic_timeline(kRun);
  const Json trace = Json::parse(in_one_piece(trace_report, timeline));
  std::map<int, std::int64_t> filled;
  for (const Json& event : events_of(trace, "X")) {
    if (event.at("cat") == "transfer") continue;
    filled[event.at("pid")] += ns(event.at("dur"));
    if (event.at("cat") == "bubble") CHECK(event.at("args").contains("cause"));
  }
  CHECK(filled.size() == 4);
  for (const auto& [pid, sum] : filled) CHECK(sum == timeline.makespan);
}

TEST_CASE("rows are named, and no row's number is that of a process") {
  const Json trace =
      Json::parse(in_one_piece(trace_report, synthetic_timeline({.devices = 20, .microbatches = 2, .transfer_ns = 5})));
  std::set<std::int64_t> named;
  std::set<std::int64_t> processes;
  for (const Json& event : events_of(trace, "M")) {
    if (event.at("name") == "thread_name") CHECK(named.insert(event.at("tid").get<std::int64_t>()).second);
    if (event.at("name") == "process_name") processes.insert(event.at("pid").get<std::int64_t>());
  }
  for (const auto& [tid, slices] : slices_by_tid(trace)) {
    CHECK(named.contains(tid));
    CHECK_FALSE(processes.contains(tid));
  }
}

TEST_CASE("memory counters follow the curve, class by class, and close at the makespan") {
  const Timeline timeline = synthetic_timeline(kRun);
  const Json trace = Json::parse(in_one_piece(trace_report, timeline));
  std::map<int, std::int64_t> peak;
  std::map<int, std::int64_t> last;
  for (const Json& event : events_of(trace, "C")) {
    std::int64_t total = 0;
    for (const auto& [name, bytes] : event.at("args").items()) total += bytes.get<std::int64_t>();
    peak[event.at("pid")] = std::max(peak[event.at("pid")], total);
    last[event.at("pid")] = ns(event.at("ts"));
  }
  REQUIRE(peak.size() == 4);
  for (const auto& [pid, bytes] : peak) {
    CHECK(bytes <= timeline.devices[static_cast<std::size_t>(pid - 1)].peak_memory_bytes);
    CHECK(bytes > timeline.devices[static_cast<std::size_t>(pid - 1)].peak_memory_bytes * 9 / 10);
    CHECK(last[pid] == timeline.makespan);
  }
}

TEST_CASE("times keep every nanosecond in three decimals") {
  Timeline timeline = synthetic_timeline({.devices = 1, .microbatches = 1, .forward_ns = 1'234'567, .backward_ns = 3});
  const std::string trace = in_one_piece(trace_report, timeline);
  CHECK(trace.find("\"ts\":0.000,\"dur\":1234.567") != std::string::npos);
  CHECK(trace.find("\"ts\":1234.567,\"dur\":0.003") != std::string::npos);
}

TEST_CASE("a hostile name is a string of the trace and nothing more") {
  const std::string name = "a\"},{\"b\n\xff";
  const Json trace =
      Json::parse(in_one_piece(trace_report, synthetic_timeline({.name = name, .devices = 1, .microbatches = 1})));
  CHECK(trace.at("otherData").at("schedule").get<std::string>().starts_with("a\"},{\"b\n"));
}

}  // namespace
}  // namespace plumb

TEST_SUITE_END();
