#include "sim/traces/readers/whole_steps.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "sim/traces/traced_run.hpp"
#include "tests/sim/traces/trace_text.hpp"
#include "tests/support/error_message.hpp"

// Real traces of two steps, cut as a profiler would have that was started or stopped at another moment.

TEST_SUITE_BEGIN("sim");

using namespace plumb;
using Json = nlohmann::json;

namespace {

/// When the forward of a microbatch on stage 0 begins for the `nth` time, in the trace's microseconds.
double begin_of_forward(const Json& rank0, const std::string& action, int nth) {
  std::vector<double> begins;
  for (const Json& event : rank0.at("traceEvents")) {
    if (event.value("name", "") == "PP:" + action) begins.push_back(event.at("ts"));
  }
  std::ranges::sort(begins);
  return begins.at(static_cast<std::size_t>(nth));
}

std::vector<Json> documents(const std::string& folder) {
  std::vector<Json> ranks;
  for (const TraceFile& file : testing::real_run(folder)) ranks.push_back(Json::parse(testing::unpacked(file)));
  return ranks;
}

/// What a profiler that ran from `from_us` to `to_us` would have kept: what began and ended in between.
std::vector<TraceFile> cut_run(const std::vector<Json>& ranks, double from_us, double to_us) {
  std::vector<TraceFile> files;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    Json kept = ranks[rank];
    kept["traceEvents"] = Json::array();
    for (const Json& event : ranks[rank].at("traceEvents")) {
      const double begin = event.value("ts", from_us);
      if (begin >= from_us && begin + event.value("dur", 0.0) <= to_us) kept["traceEvents"].push_back(event);
    }
    files.push_back({"rank" + std::to_string(rank), kept.dump()});
  }
  return files;
}

constexpr double kEver = 1e16;

/// The real run inside ranges ProfilerStep#5 and #6, of which the first one begins at `begin_us`.
std::vector<TraceFile> with_profiler_steps(std::vector<Json> ranks, double begin_us, double between_us) {
  for (Json& rank : ranks) {
    const auto add = [&](const std::string& name, double begin, double end) {
      rank["traceEvents"].push_back({{"ph", "X"},
                                     {"cat", "user_annotation"},
                                     {"name", name},
                                     {"pid", 0},
                                     {"tid", 99},
                                     {"ts", begin},
                                     {"dur", end - begin},
                                     {"args", Json::object()}});
    };
    add("ProfilerStep#5", begin_us, between_us);
    add("ProfilerStep#6", between_us, between_us + 1e9);
  }
  return cut_run(ranks, -kEver, kEver);
}

}  // namespace

TEST_CASE("a real trace whose clocks run three times as fast tells the same run, three times as long") {
  for (const char* run : {"zb-h1", "dualpipev", "example-1f1b"}) {
    CAPTURE(run);
    const std::size_t count = run == std::string("example-1f1b") ? 3 : 4;
    std::vector<TraceFile> longer = testing::real_run(run, count);
    std::optional<std::int64_t> first_base;
    for (TraceFile& file : longer) {
      Json rank = Json::parse(testing::unpacked(file));
      for (Json& event : rank["traceEvents"]) {
        for (const char* key : {"ts", "dur"}) {
          if (event.contains(key)) event[key] = 3 * event[key].get<double>();
        }
      }
      // Events count from the base: what ranks' bases differ by is three times as long, too.
      const auto base = rank.value("baseTimeNanoseconds", std::int64_t{0});
      if (!first_base) first_base = base;
      if (base != 0) rank["baseTimeNanoseconds"] = *first_base + 3 * (base - *first_base);
      file.bytes = rank.dump();
    }
    const TracedRun one = read_traced_run(testing::real_run(run, count));
    const TracedRun three = read_traced_run(longer);
    const auto is_third = [](Ticks is, Ticks of) { return std::abs(3 * is - of) < 3'000; };
    REQUIRE(three.steps.size() == one.steps.size());
    for (std::size_t step = 0; step < one.steps.size(); ++step) {
      CHECK(is_third(one.step_ns[step], three.step_ns[step]));
      REQUIRE(three.steps[step].spans.size() == one.steps[step].spans.size());
      for (std::size_t at = 0; at < one.steps[step].spans.size(); ++at) {
        CHECK(three.steps[step].spans[at].action == one.steps[step].spans[at].action);
        CHECK(is_third(one.steps[step].spans[at].start, three.steps[step].spans[at].start));
        CHECK(is_third(one.steps[step].spans[at].end, three.steps[step].spans[at].end));
      }
      for (std::size_t device = 0; device < one.steps[step].devices.size(); ++device) {
        const DeviceSummary& shown = one.steps[step].devices[device];
        CHECK(is_third(shown.busy, three.steps[step].devices[device].busy));
        for (std::size_t cause = 0; cause < shown.idle_causes.size(); ++cause) {
          CHECK(is_third(shown.idle_causes[cause], three.steps[step].devices[device].idle_causes[cause]));
        }
      }
    }
  }
}

TEST_CASE("a real trace that begins in the middle of a step loses that step, and says so") {
  const TracedRun whole = read_traced_run(testing::real_run("zb-h1"));
  for (const char* run : {"zb-h1", "dualpipev"}) {
    CAPTURE(run);
    const TracedRun both = read_traced_run(testing::real_run(run));
    const std::vector<Json> ranks = documents(run);
    const double begin = begin_of_forward(ranks[0], run == std::string("zb-h1") ? "0F4" : "0F3", 0);
    const TracedRun cut = read_traced_run(cut_run(ranks, begin, kEver));
    REQUIRE(cut.step_ns.size() == 1);
    CHECK(cut.step_ns[0] == both.step_ns[1]);
    CHECK(cut.timeline().spans == both.steps[1].spans);
    REQUIRE(cut.left_out.size() == 1);
    CHECK(cut.left_out[0].starts_with("The traces begin in the middle of a step (rank"));
    CHECK(cut.left_out[0].ends_with("which is left out: 1 whole step is read."));
    CHECK(cut.timeline().traced->left_out == cut.left_out);
  }
  CHECK(whole.left_out.empty());
}

TEST_CASE("a real trace that ends in the middle of a step loses that step, and says so") {
  const std::vector<Json> ranks = documents("zb-h1");
  const TracedRun both = read_traced_run(testing::real_run("zb-h1"));
  const TracedRun cut = read_traced_run(cut_run(ranks, -kEver, begin_of_forward(ranks[0], "0F6", 1)));
  REQUIRE(cut.step_ns.size() == 1);
  CHECK(cut.timeline().spans == both.steps[0].spans);
  REQUIRE(cut.left_out.size() == 1);
  CHECK(cut.left_out[0].starts_with("The traces end in the middle of a step (rank"));
}

TEST_CASE("ranges ProfilerStep number the steps of a real trace, and what is not whole in them is left out") {
  const std::vector<Json> ranks = documents("zb-h1");
  const TracedRun both = read_traced_run(testing::real_run("zb-h1"));
  const double second = begin_of_forward(ranks[0], "0F0", 1) - 1000;
  const TracedRun whole =
      read_traced_run(with_profiler_steps(ranks, begin_of_forward(ranks[0], "0F0", 0) - 5000, second));
  CHECK(whole.step_ns == both.step_ns);
  CHECK(whole.steps[1].spans == both.steps[1].spans);
  CHECK(whole.left_out.empty());
  // The first range begins late, so that it lacks actions; what ran before it is in none.
  const TracedRun late = read_traced_run(with_profiler_steps(ranks, begin_of_forward(ranks[0], "0F3", 0), second));
  REQUIRE(late.step_ns.size() == 1);
  CHECK(late.timeline().spans == both.steps[1].spans);
  CHECK(late.left_out ==
        std::vector<std::string>{"Left out, because not every rank has all of the step: ProfilerStep#5.",
                                 "What ran outside of the ranges ProfilerStep#n is left out."});
}

TEST_CASE("a trace that lost an action in the middle of a step is refused: no cut explains it") {
  std::vector<Json> ranks = documents("zb-h1");
  Json& events = ranks[2]["traceEvents"];
  const auto lost = std::ranges::find_if(events, [](const Json& event) { return event.value("name", "") == "PP:2I3"; });
  REQUIRE(lost != events.end());
  events.erase(lost);
  const std::string message = testing::error_message([&] { read_traced_run(cut_run(ranks, -kEver, kEver)); });
  CHECK(message.starts_with("rank2: 2I3 occurs 1 times, but other actions 2 times; expected whole steps"));
}

TEST_CASE("a trace that begins behind a receive, before the forward that takes it, lost only that message") {
  RankRun run;
  run.file = "cut";
  for (int step = 0; step < 3; ++step) {
    const std::int64_t at = 100 * step;
    const auto action = [](Op op) { return Action{.stage = StageId{1}, .microbatch = MicrobatchId{0}, .op = op}; };
    if (step > 0) run.messages.push_back({action(Op::kRecvF), step - 1, at, at, at + 5});
    run.work.push_back({action(Op::kF), step, at + 10, at + 10, at + 20});
    run.work.push_back({action(Op::kB), step, at + 30, at + 30, at + 50});
  }
  std::vector<RankRun> runs{run};
  keep_whole_steps(runs);
  REQUIRE(runs.front().left_out.size() == 1);
  CHECK(runs.front().left_out.front() ==
        "The traces begin in the middle of a step (cut), which is left out: 2 whole steps are read.");
  CHECK(runs.front().steps == 2);
  CHECK(runs.front().work.size() == 4);
  CHECK(runs.front().messages.size() == 2);
}

TEST_CASE("of several traces that were cut the first one that shows it is named") {
  const auto rank = [](const std::string& file, std::int64_t begin, bool whole_first) {
    RankRun run;
    run.file = file;
    for (int step = 0; step < 2; ++step) {
      const std::int64_t at = begin + 100 * step;
      const Action forward{.stage = StageId{0}, .microbatch = MicrobatchId{0}, .op = Op::kF};
      const Action backward{.stage = StageId{0}, .microbatch = MicrobatchId{0}, .op = Op::kB};
      if (step > 0 || whole_first) run.work.push_back({forward, step, at, at, at + 10});
      run.work.push_back({backward, step, at + 20, at + 20, at + 40});
    }
    return run;
  };
  std::vector<RankRun> runs{rank("whole", 0, true), rank("first", 1, false), rank("second", 2, false)};
  keep_whole_steps(runs);
  REQUIRE(runs.front().left_out.size() == 1);
  CHECK(runs.front().left_out.front() ==
        "The traces begin in the middle of a step (first), which is left out: 1 whole step is read.");
  for (const RankRun& run : runs) CHECK(run.steps == 1);
}

TEST_SUITE_END();
