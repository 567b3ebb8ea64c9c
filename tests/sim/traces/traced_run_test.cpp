#include "sim/traces/traced_run.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "models/ground/text_file.hpp"
#include "schedules/document/action_text.hpp"
#include "sim/traces/gzip.hpp"
#include "sim/traces/rank_run.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/source_directory.hpp"

TEST_SUITE_BEGIN("sim");

using namespace plumb;

namespace {

constexpr std::size_t kRanks = 4;

std::string trace_path(const std::string& run, std::size_t rank) {
  return testing::in_source("tests/sim/traces/data/" + run + "/rank" + std::to_string(rank) + ".json.gz");
}

std::vector<TraceFile> files_of(const std::string& run) {
  std::vector<TraceFile> files;
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    files.push_back({"rank" + std::to_string(rank), read_text_file(trace_path(run, rank))});
  }
  return files;
}

std::string unpacked(const TraceFile& file) { return gunzip(file.bytes, file.name, 1U << 30U); }

std::string text_of(const Action& action) {
  std::string text;
  append_text(text, action);
  return text;
}

/// A rank of a job of two: ranges (name, category, begin and end in microseconds).
struct Event {
  std::string name;
  std::string category;
  int begin = 0;
  int end = 0;
};

TraceFile rank_of_two(int rank, const std::vector<Event>& events, std::int64_t base_ns = 0) {
  std::string text = R"({"distributedInfo": {"rank": )" + std::to_string(rank) +
                     R"(, "world_size": 2, "backend": "gloo"}, "baseTimeNanoseconds": )" + std::to_string(base_ns) +
                     R"(, "traceEvents": [)";
  for (const Event& event : events) {
    text += std::string(text.ends_with('[') ? "" : ",") + R"({"ph": "X", "cat": ")" + event.category +
            R"(", "name": ")" + event.name + R"(", "pid": 1, "tid": 2, "ts": )" + std::to_string(event.begin) +
            R"(, "dur": )" + std::to_string(event.end - event.begin) + "}";
  }
  return {"rank" + std::to_string(rank), text + "]}"};
}

/// F of microbatch 0 on stage 0, sent to stage 1, whose F waits for it; then B back.
std::vector<TraceFile> small_run(std::int64_t second_base_ns = 0) {
  const std::vector<Event> first = {{"PP:0F0", "user_annotation", 0, 100},
                                    {"PP:0SEND_F0", "user_annotation", 110, 120},
                                    {"PP:0RECV_B0", "user_annotation", 120, 125},
                                    {"PP:0B0", "user_annotation", 130, 500},
                                    {"gloo:recv", "user_annotation", 122, 400}};
  const std::vector<Event> second = {{"PP:1RECV_F0", "user_annotation", 5, 10},
                                     {"gloo:recv", "user_annotation", 8, 150},
                                     {"PP:1F0", "user_annotation", 20, 250},
                                     {"PP:1B0", "user_annotation", 260, 360},
                                     {"PP:1SEND_B0", "user_annotation", 360, 380}};
  return {rank_of_two(0, first), rank_of_two(1, second, second_base_ns)};
}

Ticks idle_by(const DeviceSummary& device, IdleCause cause) {
  return device.idle_causes[static_cast<std::size_t>(cause)];
}

}  // namespace

TEST_CASE("a real run's steps are as long as the runner's own clock says") {
  const TracedRun zb = read_traced_run(files_of("zb-h1"));
  REQUIRE(zb.step_ns.size() == 2);
  CHECK(static_cast<double>(zb.step_ns[0]) == doctest::Approx(305.957972e6).epsilon(0.003));
  CHECK(static_cast<double>(zb.step_ns[1]) == doctest::Approx(308.099384e6).epsilon(0.003));
  CHECK(zb.step == 0);
  CHECK(zb.timeline.kind == Timeline::Kind::kMeasured);
  CHECK(zb.timeline.schedule == "traced run");
  CHECK(zb.timeline.num_microbatches == 8);
  const TracedRun pair = read_traced_run(files_of("dualpipev"), 1);
  CHECK(static_cast<double>(pair.timeline.makespan) == doctest::Approx(418.247963e6).epsilon(0.003));
}

TEST_CASE("work in a real trace lasts as long as what its runner wrapped: the wait is not part of it") {
  for (const char* run : {"zb-h1", "dualpipev"}) {
    CAPTURE(run);
    for (const TraceFile& file : files_of(run)) {
      const RankTrace trace = read_kineto(unpacked(file), file.name);
      std::map<std::string, std::vector<std::pair<std::int64_t, std::int64_t>>> wrapped;
      for (const TraceRange& range : trace.ranges) {
        if (range.name.starts_with("compute:"))
          wrapped[range.name.substr(8)].emplace_back(range.start_ns, range.end_ns);
      }
      std::size_t matched = 0;
      std::vector<double> apart;
      for (const TracedAction& work : rank_run(trace).work) {
        const auto found = wrapped.find(text_of(work.action));
        REQUIRE(found != wrapped.end());
        const auto [start, end] = found->second.at(static_cast<std::size_t>(work.step));
        // Of a pair's halves only the operators are seen, not the Python around them.
        CHECK(work.start_ns <= start + 400'000);
        CHECK(work.end_ns + 400'000 >= end);
        apart.push_back(static_cast<double>((start - work.start_ns) + std::abs(work.end_ns - end)));
        ++matched;
      }
      CHECK(matched == 2 * wrapped.size());
      std::ranges::sort(apart);
      CHECK(apart[apart.size() / 2] < 200'000);  // of 5 to 10 ms
    }
  }
}

TEST_CASE("of every device of a real run the causes add up to its idle time") {
  for (const char* run : {"zb-h1", "dualpipev"}) {
    const Timeline timeline = read_traced_run(files_of(run)).timeline;
    REQUIRE(timeline.devices.size() == kRanks);
    for (const DeviceSummary& device : timeline.devices) {
      CHECK(device.busy + device.idle == timeline.makespan);
      CHECK(std::accumulate(device.idle_causes.begin(), device.idle_causes.end(), Ticks{0}) == device.idle);
    }
  }
}

TEST_CASE("the gaps of a small run are split by hand") {
  const TracedRun run = read_traced_run(small_run());
  CHECK(run.step_ns == std::vector<std::int64_t>{500'000});
  CHECK(run.clock_offsets_ns == std::vector<std::int64_t>{0, 0});
  const DeviceSummary& first = run.timeline.devices[0];
  CHECK(first.busy == 200'000);  // F 0 to 100, B 400 to 500: its range begins at 130, its message was there at 400
  // The gap 100 to 400: stage 1 computes until 360, sends until 380; then the message, 20, the only one of its kind.
  CHECK(idle_by(first, IdleCause::kCompute) == 260'000);
  CHECK(idle_by(first, IdleCause::kOverhead) == 20'000);
  CHECK(idle_by(first, IdleCause::kTransferBandwidth) == 20'000);
  CHECK(idle_by(first, IdleCause::kWarmup) == 0);
  const DeviceSummary& second = run.timeline.devices[1];
  CHECK(second.busy == 200'000);  // F 150 to 250, B 260 to 360
  CHECK(idle_by(second, IdleCause::kWarmup) == 150'000);
  CHECK(idle_by(second, IdleCause::kOverhead) == 10'000);  // between F and B: nothing was waited for
  CHECK(idle_by(second, IdleCause::kDrain) == 140'000);
}

TEST_CASE("clocks that differ are aligned: the split of the step no longer depends on them") {
  const TracedRun right = read_traced_run(small_run());
  const TracedRun run = read_traced_run(small_run(-0 + 7'000'000));
  // 50 and 40 us are the slacks of the two messages, so the clocks are known to within that; the middle is taken.
  CHECK(run.clock_offsets_ns[1] == doctest::Approx(-7'000'000).epsilon(0.002));
  CHECK(run.timeline.makespan == right.timeline.makespan);
  CHECK(run.timeline.devices[1].busy == right.timeline.devices[1].busy);
}

TEST_CASE("a run that is not whole is refused with what is missing") {
  const auto refusal = [](std::vector<TraceFile> files) {
    return testing::error_message([&] { read_traced_run(std::move(files)); });
  };
  std::vector<TraceFile> files = files_of("zb-h1");
  files.erase(files.begin() + 2);
  CHECK(refusal(files) == "rank0: is of a job of 4 ranks, but the traces of these are missing: 2");
  files.push_back(files[0]);
  CHECK(refusal(files) == "rank0: is of rank 0, and so is rank0");
  files = files_of("zb-h1");
  files[3].bytes.resize(1000);
  CHECK(refusal(files).starts_with("rank3: is a damaged or cut-off gzip file after "));
  CHECK(refusal({{"a", R"({"traceEvents": []})"}}) ==
        "a: does not say which rank it is, expected distributedInfo with rank and world_size, which PyTorch's profiler "
        "writes in a process group");
  CHECK(refusal({rank_of_two(0, {}), rank_of_two(1, {})}).starts_with("rank0: has no ranges 'PP:<action>'"));
  std::vector<TraceFile> uneven = small_run();
  uneven[1] = rank_of_two(
      1,
      {{"PP:1F0", "user_annotation", 0, 1}, {"PP:1B0", "user_annotation", 1, 2}, {"PP:1B0", "user_annotation", 2, 3}});
  CHECK(refusal(uneven).starts_with("rank1: 1F0 occurs 1 times, but other actions 2 times"));
}

TEST_CASE("clocks that no offset can align are refused") {
  std::vector<TraceFile> files = small_run();
  // The message arrives at 150, but B's gradient is there long before stage 1 has computed it.
  files[0] = rank_of_two(0, {{"PP:0F0", "user_annotation", 0, 100}, {"PP:0B0", "user_annotation", 101, 120}});
  const std::string message = testing::error_message([&] { read_traced_run(std::move(files)); });
  CHECK(message.find("the clocks of the ranks cannot be aligned") != std::string::npos);
}
