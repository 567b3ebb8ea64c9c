#include "sim/traces/readers/pp_dumps.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "schedules/document/schedule_io.hpp"
#include "sim/traces/traced_run.hpp"
#include "tests/sim/traces/trace_text.hpp"
#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("sim");

using namespace plumb;

namespace {

constexpr std::size_t kPrimusRanks = 8;

/// A real dump of Primus: ranks and config.json.
std::vector<TraceFile> primus(const std::string& folder) {
  std::vector<TraceFile> files;
  const auto add = [&](const std::string& name) {
    files.push_back({name, read_text_file(testing::in_source("tests/sim/traces/data/" + folder + "/" + name))});
  };
  add("config.json");
  for (std::size_t rank = 0; rank < kPrimusRanks; ++rank) add("pp_rank_" + std::to_string(rank) + ".json");
  return files;
}

/// What the simulator of Primus dumped for its V-shaped zero-bubble schedule.
std::vector<TraceFile> primus_zbv() {
  std::vector<TraceFile> files;
  for (const std::string name :
       {"config.json", "pp_rank_0.json", "pp_rank_1.json", "pp_rank_2.json", "pp_rank_3.json"}) {
    files.push_back({name, read_text_file(testing::in_source("tests/sim/traces/data/primus-zbv4/" + name))});
  }
  return files;
}

std::string dump_refusal(std::vector<TraceFile> files) {
  return testing::error_message([&] { read_traced_run(std::move(files)); });
}

/// A rank of the patch of PP-Schedule-Visualization.
TraceFile timers(int rank, const std::string& times, const std::string& size = "PP2_VPP1") {
  const std::string number = std::to_string(rank);
  return {"logs/event_times_" + size + "_TPxCPxDP_rank_0_pp_rank_" + number + "_rank_" + number + ".json",
          "{" + times + R"(, "total-execution-time": 100.5})"};
}

}  // namespace

TEST_CASE("a real dump of Primus: 1F1B of eight GPUs, its steps, and the times of its actions") {
  const TracedRun run = read_traced_run(primus("primus-pp8"), 1);  // the iteration that its own picture shows
  REQUIRE(run.step_ns.size() == 3);
  CHECK(run.timeline().devices.size() == kPrimusRanks);
  CHECK(run.timeline().num_microbatches == 16);
  // Rank 0 says that the iteration took it 3237.9 ms, begin to end.
  CHECK(static_cast<double>(run.timeline().makespan) == doctest::Approx(3237.8876953125e6).epsilon(0.002));
  std::map<std::pair<int, Op>, Ticks> busy;
  for (const Span& span : run.timeline().spans) {
    if (span.lane != Lane::kCompute) continue;
    CHECK(static_cast<std::int32_t>(span.action.stage) == static_cast<std::int32_t>(span.device));
    busy[{static_cast<int>(span.device), span.action.op}] += span.end - span.start;
  }
  // What the dump's own tool (tools/visualization/pp_vis/vis.py) prints for iteration 7: F and B of ranks 0 and 7.
  CHECK(static_cast<double>(busy[{0, Op::kF}]) / 1e6 == doctest::Approx(925.3797).epsilon(1e-4));
  CHECK(static_cast<double>(busy[{0, Op::kB}]) / 1e6 == doctest::Approx(1133.7070).epsilon(1e-4));
  CHECK(static_cast<double>(busy[{7, Op::kF}]) / 1e6 == doctest::Approx(1068.6938).epsilon(1e-4));
  CHECK(static_cast<double>(busy[{7, Op::kB}]) / 1e6 == doctest::Approx(1197.1928).epsilon(1e-4));
}

TEST_CASE("a real dump of Primus with two chunks per rank: actions get Megatron-LM's chunks and microbatches") {
  const TracedRun run = read_traced_run(primus("primus-pp8-vpp2"));
  CHECK(run.timeline().num_microbatches == 16);
  std::map<std::tuple<int, Op, int>, Ticks> ends;
  std::size_t count = 0;
  for (const Span& span : run.timeline().spans) {
    if (span.lane != Lane::kCompute) continue;
    const int stage = static_cast<int>(span.action.stage);
    CHECK(stage % 8 == static_cast<int>(span.device));
    ends[{stage, span.action.op, static_cast<int>(span.action.microbatch)}] = span.end;
    ++count;
  }
  CHECK(count == 8 * 2 * 2 * 16);
  CHECK(ends.size() == count);  // every action once
  for (const Span& span : run.timeline().spans) {
    if (span.lane != Lane::kCompute || span.action.op != Op::kF || span.action.stage == StageId{0}) continue;
    const auto before =
        ends.at({static_cast<int>(span.action.stage) - 1, Op::kF, static_cast<int>(span.action.microbatch)});
    CHECK(before <= span.start);
  }
}

TEST_CASE("chunks that fold back are told from those that go round the ranks by what was used after it was made") {
  const TracedRun run = read_traced_run(primus_zbv());
  CHECK(run.timeline().num_microbatches == 8);
  CHECK(run.step_ns == std::vector<std::int64_t>{258'000'000});  // the largest of the dump's own totals
  std::map<std::tuple<int, Op, int>, Span> work;
  for (const Span& span : run.timeline().spans) {
    if (span.lane != Lane::kCompute) continue;
    const int stage = static_cast<int>(span.action.stage);
    CHECK(static_cast<int>(span.device) == (stage < 4 ? stage : 7 - stage));
    work[{stage, span.action.op, static_cast<int>(span.action.microbatch)}] = span;
  }
  CHECK(work.size() == 4 * 2 * 8 * 3);  // every F, I and W once
  for (int microbatch = 0; microbatch < 8; ++microbatch) {
    for (int stage = 1; stage < 8; ++stage) {
      CHECK(work.at({stage - 1, Op::kF, microbatch}).end <= work.at({stage, Op::kF, microbatch}).start);
      CHECK(work.at({stage, Op::kI, microbatch}).end <= work.at({stage - 1, Op::kI, microbatch}).start);
    }
  }
  std::vector<TraceFile> some = primus_zbv();
  some.erase(some.begin() + 2, some.begin() + 4);
  CHECK(dump_refusal(some) ==
        "pp_rank_0.json: the times do not tell whether chunks go round the ranks or fold back (V); expected all ranks");
  std::vector<TraceFile> wrong = primus("primus-pp8-vpp2");
  std::swap(wrong[1].bytes, wrong[5].bytes);
  CHECK(
      dump_refusal(wrong).starts_with("pp_rank_0.json: neither with chunks that go round the ranks nor with chunks "));
}

TEST_CASE("the patch of PP-Schedule-Visualization: forwards and backwards of every rank and chunk") {
  const TracedRun run = read_traced_run(
      {timers(0, R"("forward-0-start": 0.5, "forward-0-end": 10.5, "backward-0-start": 40, "backward-0-end": 60)"),
       timers(1, R"("forward-0-start": 11, "forward-0-end": 21, "backward-0-start": 21, "backward-0-end": 39.5)")});
  CHECK(run.step_ns == std::vector<std::int64_t>{59'500'000});
  CHECK(run.timeline().devices[0].busy == 30'000'000);
  CHECK(run.timeline().devices[1].busy == 28'500'000);
  const TracedRun chunks = read_traced_run({timers(
      0, R"("forward-0-0-start": 0, "forward-0-0-end": 1, "forward-1-0-start": 2, "forward-1-0-end": 3)", "PP1_VPP2")});
  REQUIRE(chunks.timeline().spans.size() == 2);
  CHECK(chunks.timeline().spans[1].action.stage == StageId{1});
}

TEST_CASE("with weight gradients of their own, backwards of Primus are I") {
  const std::string lists =
      R"("fwd_start": [0, 1], "fwd_end": [1, 2], "bwd_start": [2, 4], "bwd_end": [3, 5], "wgrad_start": [3, 5],
         "wgrad_end": [4, 6], "fwd_minibatch": [1, 0], "fwd_chunk": [0, 0])";
  const TracedRun run =
      read_traced_run({{"config.json", R"({"pp_size": 1, "vp_size": 1, "num_mbs": 2, "train_iters": 1})"},
                       {"pp_rank_0.json", R"({"1": {"total": 6, "memory": 1, )" + lists + "}}"}});
  std::string order;
  for (const Span& span : run.timeline().spans) {
    order += std::string(kOpNames[static_cast<std::size_t>(span.action.op)]) +
             std::to_string(static_cast<int>(span.action.microbatch));
  }
  CHECK(order == "F1F0I0W0I1W1");
}

TEST_CASE("weight gradients without names come in the order of the backwards; with several chunks nobody knows") {
  const auto files = [](const std::string& chunks, const std::string& lists) {
    return std::vector<TraceFile>{
        {"config.json", R"({"pp_size": 1, "vp_size": )" + chunks + R"(, "num_mbs": 2, "train_iters": 1})"},
        {"pp_rank_0.json", R"({"1": {"total": 6, "memory": 1, )" + lists + "}}"}};
  };
  const std::string one = R"("fwd_start": [0, 1], "fwd_end": [1, 2], "bwd_start": [2, 3], "bwd_end": [3, 4],
    "wgrad_start": [4, 5], "wgrad_end": [5, 6], "fwd_minibatch": [0, 1], "bwd_minibatch": [1, 0])";
  const TracedRun run = read_traced_run(files("1", one));
  CHECK(to_string(run.timeline().spans[4].action) == "0W1");
  CHECK(to_string(run.timeline().spans[5].action) == "0W0");
  const std::string two = R"("fwd_start": [0, 1, 2, 3], "fwd_end": [1, 2, 3, 4], "bwd_start": [4, 5, 6, 7],
    "bwd_end": [5, 6, 7, 8], "wgrad_start": [8, 9, 10, 11], "wgrad_end": [9, 10, 11, 12], "fwd_minibatch": [0, 1, 0, 1],
    "fwd_chunk": [0, 0, 1, 1], "bwd_minibatch": [0, 1, 0, 1], "bwd_chunk": [1, 1, 0, 0])";
  CHECK(dump_refusal(files("2", two)).find("names no microbatches of weight gradients") != std::string::npos);
  const std::string at_once = R"("fwd_start": [0, 1], "fwd_end": [1, 3], "bwd_start": [1, 3], "bwd_end": [3, 4])";
  CHECK(dump_refusal(files("1", at_once)).find("has a forward and a backward with the same times") !=
        std::string::npos);
}

TEST_CASE("chunks and microbatches of a dump count from 0, and the last of each is one less than their number") {
  const auto refusal = [](const std::string& chunks, const std::string& numbers) {
    return dump_refusal({{"config.json", R"({"pp_size": 1, "vp_size": 2, "num_mbs": 2, "train_iters": 1})"},
                         {"pp_rank_0.json", R"({"1": {"total": 9, "memory": 1, "fwd_start": [0, 1, 2, 3],
        "fwd_end": [1, 2, 3, 4], "bwd_start": [4, 5, 6, 7], "bwd_end": [5, 6, 7, 8], "fwd_chunk": [0, 0, 1, )" +
                                                chunks + R"(], "fwd_minibatch": [0, 1, 0, )" + numbers + "]}}"}});
  };
  CHECK(refusal("1", "1").empty());
  CHECK(refusal("1", "2").find("expected an integer from 0 to 1, found 2") != std::string::npos);
  CHECK(refusal("1", "-1").find("expected an integer from 0 to 1, found -1") != std::string::npos);
  CHECK(refusal("2", "1").find("expected an integer from 0 to 1, found 2") != std::string::npos);
  CHECK(refusal("-1", "1").find("expected an integer from 0 to 1, found -1") != std::string::npos);
}

TEST_CASE("a dump that is not whole is refused with the place") {
  std::vector<TraceFile> files = primus("primus-pp8");
  files.erase(files.begin());
  CHECK(dump_refusal(files) ==
        "pp_rank_0.json:1:1: is a rank of Primus's dump; expected config.json of the same folder, too");
  CHECK(dump_refusal({primus("primus-pp8")[0]}) ==
        "config.json: says how large a pipeline is; expected its ranks' files, too");
  files = primus("primus-pp8-vpp2");
  files[0] = primus("primus-pp8")[0];
  CHECK(dump_refusal(files).starts_with(
      "pp_rank_0.json:1:7: 6: expected 16 times in fwd_start and _end (16 microbatches of 1 chunks), found 32 and 32"));
  files = primus("primus-pp8");
  files[3].name = "third.json";
  CHECK(dump_refusal(files) == "third.json: does not tell its rank by its name, expected a name like pp_rank_3.json");
  CHECK(dump_refusal({timers(0, R"("forward-0-start": 5, "forward-0-end": 4)")})
            .find("forward-0-end: expected a number") != std::string::npos);
}
