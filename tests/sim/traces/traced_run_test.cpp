#include "sim/traces/traced_run.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "schedules/document/action_text.hpp"
#include "sim/timeline/timeline_io.hpp"
#include "sim/traces/readers/counted_work.hpp"
#include "sim/traces/readers/kineto.hpp"
#include "sim/traces/readers/runtime_ranges.hpp"
#include "tests/sim/traces/trace_text.hpp"
#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("sim");

using namespace plumb;

namespace {

constexpr std::size_t kRanks = 4;

std::string text_of(const Action& action) {
  std::string text;
  append_text(text, action);
  return text;
}

TraceFile rank_of_two(int rank, const std::vector<testing::TraceEvent>& events, std::int64_t base_ns = 0) {
  return testing::trace_of(rank, 2, events, base_ns);
}

/// F of microbatch 0 on stage 0, sent to stage 1, whose F waits for it; then B back.
std::vector<TraceFile> small_run(std::int64_t second_base_ns = 0) {
  const std::vector<testing::TraceEvent> first = {{"PP:0F0", "user_annotation", 0, 100},
                                                  {"PP:0SEND_F0", "user_annotation", 110, 120},
                                                  {"PP:0RECV_B0", "user_annotation", 120, 125},
                                                  {"PP:0B0", "user_annotation", 130, 500},
                                                  {"gloo:recv", "user_annotation", 122, 400}};
  const std::vector<testing::TraceEvent> second = {{"PP:1RECV_F0", "user_annotation", 5, 10},
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
  const TracedRun zb = read_traced_run(testing::real_run("zb-h1"));
  REQUIRE(zb.step_ns.size() == 2);
  CHECK(static_cast<double>(zb.step_ns[0]) == doctest::Approx(305.957972e6).epsilon(0.003));
  CHECK(static_cast<double>(zb.step_ns[1]) == doctest::Approx(308.099384e6).epsilon(0.003));
  CHECK(zb.step == 0);
  CHECK(zb.timeline().kind == Timeline::Kind::kMeasured);
  CHECK(zb.timeline().schedule == "traced run");
  CHECK(zb.timeline().num_microbatches == 8);
  const TracedRun pair = read_traced_run(testing::real_run("dualpipev"), 1);
  CHECK(static_cast<double>(pair.timeline().makespan) == doctest::Approx(418.247963e6).epsilon(0.003));
}

TEST_CASE("work in a real trace lasts as long as what its runner wrapped: the wait is not part of it") {
  for (const char* run : {"zb-h1", "dualpipev", "class-1f1b", "class-gpipe"}) {
    CAPTURE(run);
    for (const TraceFile& file : testing::real_run(run)) {
      const RankTrace trace = read_kineto(testing::unpacked(file), file.name).at(0);
      std::map<std::string, std::vector<std::pair<std::int64_t, std::int64_t>>> wrapped;
      for (const TraceRange& range : trace.ranges) {
        if (range.name.starts_with("compute:"))
          wrapped[std::string(range.name.substr(8))].emplace_back(range.start_ns, range.end_ns);
      }
      std::size_t matched = 0;
      std::vector<double> apart;
      std::vector<RankRun> ranks{rank_run(trace)};
      if (trace.rank + 1 == trace.world_size && ranks[0].numbering == Numbering::kCounted) continue;
      number_microbatches(ranks);
      for (const TracedAction& work : ranks[0].work) {
        const auto found = wrapped.find(text_of(work.action));
        REQUIRE(found != wrapped.end());
        const auto [start, end] = found->second.at(static_cast<std::size_t>(work.step));
        // Of a pair's halves and of work without a range only operators are seen, not the Python around them.
        CHECK(work.start_ns <= start + 600'000);
        CHECK(work.end_ns + 600'000 >= end);
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
    const Timeline timeline = read_traced_run(testing::real_run(run)).timeline();
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
  const DeviceSummary& first = run.timeline().devices[0];
  CHECK(first.busy == 200'000);  // F 0 to 100, B 400 to 500: its range begins at 130, its message was there at 400
  // The gap 100 to 400: stage 1 computes until 360, sends until 380; then the message, 20, the only one of its kind.
  CHECK(idle_by(first, IdleCause::kCompute) == 260'000);
  CHECK(idle_by(first, IdleCause::kOverhead) == 20'000);
  CHECK(idle_by(first, IdleCause::kTransferBandwidth) == 20'000);
  CHECK(idle_by(first, IdleCause::kWarmup) == 0);
  const DeviceSummary& second = run.timeline().devices[1];
  CHECK(second.busy == 200'000);  // F 150 to 250, B 260 to 360
  CHECK(idle_by(second, IdleCause::kWarmup) == 150'000);
  CHECK(idle_by(second, IdleCause::kOverhead) == 10'000);  // between F and B: nothing was waited for
  CHECK(idle_by(second, IdleCause::kDrain) == 140'000);
}

TEST_CASE("the most stashes of a rank are counted from its forwards and backwards, as the order's bound says") {
  const auto peaks = [](const std::vector<TraceFile>& files) {
    std::vector<double> counted;
    const TracedRun run = read_traced_run(files);
    for (const DeviceSummary& device : run.timeline().devices) counted.push_back(device.peak_activations);
    return counted;
  };
  CHECK(peaks(testing::real_run("zb-h1")) == std::vector<double>{4, 4, 4, 4});
  CHECK(peaks(testing::real_run("class-1f1b")) == std::vector<double>{4, 3, 2, 1});
  CHECK(peaks(testing::real_run("class-gpipe")) == std::vector<double>{8, 8, 8, 8});
}

TEST_CASE("clocks that differ are aligned: the split of the step no longer depends on them") {
  const TracedRun right = read_traced_run(small_run());
  const TracedRun run = read_traced_run(small_run(-0 + 7'000'000));
  // 50 and 40 us are the slacks of the two messages, so the clocks are known to within that; the middle is taken.
  CHECK(run.clock_offsets_ns[1] == doctest::Approx(-7'000'000).epsilon(0.002));
  CHECK(run.timeline().makespan == right.timeline().makespan);
  CHECK(run.timeline().devices[1].busy == right.timeline().devices[1].busy);
}

TEST_CASE("a run that is not whole is refused with what is missing") {
  const auto refusal = [](std::vector<TraceFile> files) {
    return testing::error_message([&] { read_traced_run(std::move(files)); });
  };
  std::vector<TraceFile> files = testing::real_run("zb-h1");
  files.push_back(files[0]);
  CHECK(refusal(files) == "rank0: is of rank 0, and so is rank0");
  files = testing::real_run("zb-h1");
  files[3].bytes.resize(1000);
  CHECK(refusal(files).starts_with("rank3: is a damaged or cut-off gzip file after "));
  CHECK(refusal({{"a", ""}}) == "a: is empty, expected the trace of a rank");
  CHECK(refusal({{"a", std::string("PK\x03\x04 rank0.json")}}).starts_with("a: is a zip archive, expected the traces"));
  CHECK(refusal({{"a", std::string(257, '0') + "ustar"}}).starts_with("a: is a tar archive, expected the traces"));
  CHECK(refusal({{"a", "\x28\xb5\x2f\xfd"}}).starts_with("a: is packed by zstd, expected the traces"));
  CHECK(refusal({{"a", R"({"traceEvents": []})"}}) ==
        "a: has no ranges of a host or a GPU, expected a trace of PyTorch's profiler");
  CHECK(refusal({rank_of_two(0, {}), rank_of_two(1, {})}).starts_with("rank0: has no ranges 'PP:<action>'"));
  std::vector<TraceFile> uneven = small_run();
  uneven[1] = rank_of_two(
      1,
      {{"PP:1F0", "user_annotation", 0, 1}, {"PP:1B0", "user_annotation", 1, 2}, {"PP:1B0", "user_annotation", 2, 3}});
  CHECK(refusal(uneven).starts_with("rank1: 1F0 occurs 1 times, but other actions 2 times"));
  std::vector<TraceFile> at_once = small_run();
  at_once[1] = rank_of_two(1, {{"PP:1F0", "user_annotation", 0, 10}, {"PP:1B0", "user_annotation", 5, 20}});
  CHECK(refusal(at_once) == "rank1: '1B0' begins before '1F0' ends; expected one action of a rank at a time");
}

TEST_CASE("the timeline document of a traced run tells all that its traces tell but the other steps") {
  const TracedRun run = read_traced_run(testing::real_run("class-gpipe"), 1);
  const std::string text = timeline_to_json(run.timeline());
  const TracedRun read = read_traced_run({{"run.json", text}});
  CHECK(read.timeline() == run.timeline());
  CHECK(read.step_ns == run.step_ns);
  CHECK(read.step == 1);
  CHECK(read.ranks == run.ranks);
  CHECK(read.backend == "gloo");
  CHECK(read.known_profile() == run.known_profile());
  CHECK(read.known_profile().runtime == "pytorch-single");
  const auto refusal = [&](std::vector<TraceFile> files, std::optional<std::int32_t> step) {
    return testing::error_message([&] { read_traced_run(std::move(files), step).known_profile(); });
  };
  CHECK(refusal({{"run.json", text}}, 0) ==
        "run.json: is the timeline of step 1 alone, not of step 0; expected the traces");
  CHECK(refusal({{"run.json", text}, {"again.json", text}}, 0) ==
        "run.json: is of a traced run, which is read alone, so it gives no profile");
  Timeline old = run.timeline();
  old.traced->profile.reset();
  CHECK(refusal({{"old.json", timeline_to_json(old)}}, 1)
            .starts_with("old.json: has no profile of the run that it shows"));
}

TEST_CASE("every step of a traced run that took much longer than the others is told as disturbed, the first one, too") {
  for (const int disturbed : {0, 1, 2}) {
    CAPTURE(disturbed);
    std::vector<testing::TraceEvent> first;
    std::vector<testing::TraceEvent> second;
    for (int step = 0; step < 3; ++step) {
      const int at = 2000 * step;
      first.push_back({"PP:0F0", "user_annotation", at, at + 100});
      second.push_back({"PP:1F0", "user_annotation", at + 150, at + 250});
      second.push_back({"PP:1B0", "user_annotation", at + 260, at + 360});
      first.push_back({"PP:0B0", "user_annotation", at + 400, at + (step == disturbed ? 1500 : 500)});
    }
    const TracedRun run = read_traced_run({rank_of_two(0, first), rank_of_two(1, second)});
    REQUIRE(run.step_ns.size() == 3);
    REQUIRE(run.timeline().traced.has_value());
    CHECK(run.timeline().traced->disturbed_steps == std::vector<std::int32_t>{disturbed});
  }
}

TEST_CASE("ranges whose names only begin like those of GPipe's passes are no passes") {
  const auto work_of = [](const std::string& other) {
    const TraceFile file = testing::trace_of(0, 2,
                                             {{"Forward 0", "user_annotation", 0, 100},
                                              {other, "user_annotation", 100, 150},
                                              {"Backward 0", "user_annotation", 150, 300}});
    return rank_run(read_kineto(file.bytes, file.name).at(0)).work.size();
  };
  CHECK(work_of("Forward 1") == 3);
  for (const char* other :
       {"Forward pass", "Forward ", "Forward 1 again", "Forward -1", "Backward all", "Forwards 1"}) {
    CAPTURE(other);
    CHECK(work_of(other) == 2);
  }
}

TEST_CASE("stages that send nothing are counted by their work: two on one rank are two") {
  const TraceFile file = testing::trace_of(0, 1,
                                           {{"PP:0F0", "user_annotation", 0, 100},
                                            {"PP:1F0", "user_annotation", 100, 150},
                                            {"PP:1B0", "user_annotation", 150, 300},
                                            {"PP:0B0", "user_annotation", 300, 500}});
  CHECK(rank_run(read_kineto(file.bytes, file.name).at(0)).stages == 2);
  CHECK(read_traced_run({file}).timeline().makespan == 500'000);
}

TEST_CASE("clocks that no offset can align are refused") {
  std::vector<TraceFile> files = small_run();
  // The message arrives at 150, but B's gradient is there long before stage 1 has computed it.
  files[0] = rank_of_two(0, {{"PP:0F0", "user_annotation", 0, 100}, {"PP:0B0", "user_annotation", 101, 120}});
  const std::string message = testing::error_message([&] { read_traced_run(std::move(files)); });
  CHECK(message.find("the clocks of the ranks cannot be aligned") != std::string::npos);
}
