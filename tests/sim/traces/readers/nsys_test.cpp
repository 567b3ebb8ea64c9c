#include "sim/traces/readers/nsys.hpp"

#include <doctest/doctest.h>
#include <sqlite3.h>

#include <algorithm>
#include <map>

#include "sim/traces/readers/kineto.hpp"
#include "sim/traces/traced_run.hpp"
#include "tests/sim/traces/trace_text.hpp"
#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("sim");

using namespace plumb;

namespace {

/// The columns that the reader asks for, of the tables of a real export (schema 2.9.1).
constexpr const char* kTables = R"(
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT,
                          globalTid INTEGER, textId INTEGER REFERENCES StringIds(id));
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, globalTid INTEGER,
                                          correlationId INTEGER, nameId INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, streamId INTEGER NOT NULL,
                                         correlationId INTEGER, globalPid INTEGER, shortName INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER NOT NULL, end INTEGER NOT NULL, streamId INTEGER NOT NULL,
                                              correlationId INTEGER, globalPid INTEGER, graphId INTEGER NOT NULL);)";
constexpr std::int64_t kEpochNs = 1'700'000'000'000'000'000;

/// Serialized ids of the k-th process and of one of its threads.
std::int64_t process_id(std::int64_t process) { return (std::int64_t{0x1000001} << 48U) / 1 | (process + 100) << 24U; }
std::int64_t thread_id(std::int64_t process, std::int64_t thread) { return process_id(process) | (thread + 7); }

/// An export that a test writes row by row.
class Export {
 public:
  Export() {
    sqlite3_open(":memory:", &database_);
    run(kTables);
    run("INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (" + std::to_string(kEpochNs) + ", '', '')");
  }
  ~Export() { sqlite3_close(database_); }
  Export(const Export&) = delete;
  Export& operator=(const Export&) = delete;

  void run(const std::string& statement) {
    REQUIRE(sqlite3_exec(database_, statement.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
  }

  void annotate(std::int64_t process, const std::string& name, std::int64_t start, std::int64_t end,
                std::int64_t thread = 0) {
    run("INSERT INTO NVTX_EVENTS VALUES (" + std::to_string(start) + ", " + std::to_string(end) + ", 59, '" + name +
        "', " + std::to_string(thread_id(process, thread)) + ", NULL)");
  }

  void launch(std::int64_t process, std::int64_t at, std::int64_t correlation, std::int64_t start, std::int64_t end,
              const std::string& kernel = "gemm") {
    call(process, at, correlation);
    run("INSERT OR IGNORE INTO StringIds VALUES (" + std::to_string(kernel.size()) + ", '" + kernel + "')");
    run("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (" + std::to_string(start) + ", " + std::to_string(end) +
        ", 7, " + std::to_string(correlation) + ", " + std::to_string(process_id(process)) + ", " +
        std::to_string(kernel.size()) + ")");
  }

  /// A captured graph, traced as one thing that ran.
  void launch_graph(std::int64_t process, std::int64_t at, std::int64_t correlation, std::int64_t start,
                    std::int64_t end) {
    call(process, at, correlation);
    run("INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (" + std::to_string(start) + ", " + std::to_string(end) +
        ", 7, " + std::to_string(correlation) + ", " + std::to_string(process_id(process)) + ", 3)");
  }

  TraceFile file(const std::string& name) const {
    sqlite3_int64 size = 0;
    unsigned char* bytes = sqlite3_serialize(database_, "main", &size, 0);
    TraceFile file{name, std::string(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size))};
    sqlite3_free(bytes);
    return file;
  }

 private:
  void call(std::int64_t process, std::int64_t at, std::int64_t correlation) {
    const std::string times = std::to_string(at) + ", " + std::to_string(at + 1);
    run("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (" + times + ", " + std::to_string(thread_id(process, 3)) +
        ", " + std::to_string(correlation) + ", 0)");
  }

  sqlite3* database_ = nullptr;
};

/// What the host did in a real run, as an export of PyTorch under emit_nvtx has it: without ranks.
TraceFile exported(const std::string& folder) {
  Export data;
  for (const TraceFile& file : testing::real_run(folder)) {
    const RankTrace trace = read_kineto(testing::unpacked(file), file.name).at(0);
    data.run("BEGIN");
    for (const TraceRange& range : trace.ranges) {
      const std::string suffix = range.kind == RangeKind::kOperator ? ", seq = 7, sizes = [[4]]" : "";
      data.annotate(3 - trace.rank, std::string(range.name) + suffix, range.start_ns - kEpochNs,
                    range.end_ns - kEpochNs, range.thread);
    }
    data.run("COMMIT");
  }
  return data.file("run");
}

/// Two processes of Megatron-LM that run 1F1B with two microbatches, as `--nvtx-ranges` annotates their calls. Every
/// forward takes 10 on the GPU, every backward 20, and their kernels run 5 after the host asked.
void megatron_calls(Export& data, std::int64_t process, bool first, std::int64_t at) {
  const std::string path = "megatron.core.pipeline_parallel.p2p_communication.";
  const auto call = [&](const char* name, std::int64_t begin, std::int64_t end) {
    data.annotate(process, path + name, at + begin, at + end);
  };
  static std::int64_t correlation = 0;
  const auto work = [&](std::int64_t begin, std::int64_t takes) {
    data.launch(process, at + begin, ++correlation, at + begin + 5, at + begin + 5 + takes);
    data.launch(process, at + begin + 1, ++correlation, at + begin, at + begin + 500, "ncclDevKernel_SendRecv");
  };
  call("recv_forward", 0, first ? 1 : 20);
  if (first) {
    work(2, 10);
    call("send_forward", 4, 18);
    call("recv_forward", 19, 20);
    work(21, 10);
    call("send_forward_recv_backward", 25, 70);
    work(71, 20);
    call("send_backward", 75, 76);
    call("recv_backward", 77, 110);
    work(111, 20);
    call("send_backward", 115, 116);
  } else {
    work(21, 10);
    call("send_forward_recv_backward", 22, 37);
    work(38, 20);
    call("send_backward_recv_forward", 40, 64);
    work(65, 10);
    call("send_forward_recv_backward", 66, 76);
    work(77, 20);
    call("send_backward", 79, 103);
  }
}

std::vector<Span> work_spans(const Timeline& timeline) {
  std::vector<Span> spans;
  std::ranges::copy_if(timeline.spans, std::back_inserter(spans),
                       [](const Span& s) { return s.lane == Lane::kCompute; });
  return spans;
}

}  // namespace

TEST_CASE("a real export of Nsight Systems: ranges, launches and kernels of its process") {
  const TraceFile packed{"saxpy",
                         read_text_file(testing::in_source("tests/sim/traces/data/nsys-saxpy/rank0.sqlite.gz"))};
  REQUIRE(is_sqlite(testing::unpacked(packed)));
  const std::vector<RankTrace> traces = read_nsys(testing::unpacked(packed), "saxpy");
  REQUIRE(traces.size() == 1);
  CHECK(traces[0].file == "saxpy (process 1230493)");
  std::map<RangeKind, int> kinds;
  for (const TraceRange& range : traces[0].ranges) ++kinds[range.kind];
  CHECK(kinds[RangeKind::kAnnotation] == 22);  // of 24 events two are not ranges
  CHECK(kinds[RangeKind::kLaunch] == 95);
  CHECK(kinds[RangeKind::kKernel] == 20);  // five kernels, fifteen copies
  const auto saxpy = std::ranges::find(traces[0].ranges, "saxpy", &TraceRange::name);
  REQUIRE(saxpy != traces[0].ranges.end());
  CHECK(saxpy->kind == RangeKind::kAnnotation);
  CHECK(saxpy->start_ns > 1'687'813'257'637'297'504);
  CHECK(testing::error_message([&] {
          read_traced_run({packed});
        }).starts_with("saxpy: has no NVTX ranges of a pipeline; expected 'PP:<action>' of PyTorch"));
}

TEST_CASE(
    "a real run read from an export is the same run as from its own traces, also of the classes without actions") {
  for (const char* folder : {"zb-h1", "class-gpipe", "class-1f1b"}) {
    CAPTURE(folder);
    const TracedRun expected = read_traced_run(testing::real_run(folder));
    const TracedRun run = read_traced_run({exported(folder)});
    CHECK(run.ranks == std::vector<std::int32_t>{0, 1, 2, 3});
    CHECK(run.step_ns == expected.step_ns);
    CHECK(run.timeline().spans == expected.timeline().spans);
    CHECK(run.timeline().devices == expected.timeline().devices);
    CHECK(run.known_profile().runtime == expected.known_profile().runtime);
    CHECK(run.known_profile().stages == expected.known_profile().stages);
  }
}

TEST_CASE(
    "a captured graph that is traced as one thing is the work of the range that launched it, as its kernels are") {
  const auto run_of = [](bool graphs) {
    Export data;
    std::int64_t correlation = 0;
    const auto work = [&](std::int64_t process, const char* name, std::int64_t at, std::int64_t from, std::int64_t to) {
      data.annotate(process, name, at, at + 5);
      if (graphs) return data.launch_graph(process, at + 1, ++correlation, from, to);
      data.launch(process, at + 1, ++correlation, from, (from + to) / 2);
      data.launch(process, at + 2, ++correlation, (from + to) / 2, to);
    };
    work(0, "PP:0F0", 0, 10, 40);
    work(1, "PP:1F0", 30, 50, 90);
    work(1, "PP:1B0", 40, 90, 170);
    work(0, "PP:0B0", 20, 180, 260);
    return read_traced_run({data.file("node0")});
  };
  const TracedRun run = run_of(true);
  CHECK(run.timeline().makespan == 250);  // from the first work on
  CHECK(run.timeline().spans == run_of(false).timeline().spans);
  CHECK(run.timeline().devices == run_of(false).timeline().devices);
}

TEST_CASE("processes of ScheduleGPipe on clocks that differ by more than a forward have no order of ranks") {
  Export data;
  for (const std::int64_t process : {0, 1}) {
    data.annotate(process, "Forward 0", 10 * process, 10 * process + 9);
    data.annotate(process, "Forward 1", 30 - 10 * process, 30 - 10 * process + 9);
    data.annotate(process, "Backward 0", 50, 59);
    data.annotate(process, "Backward 1", 60, 69);
  }
  CHECK(testing::error_message([&] {
          read_traced_run({data.file("node0")});
        }).find("so that the order of their ranks is not known; expected the processes of one pipeline") !=
        std::string::npos);
}

TEST_CASE("Megatron-LM's calls tell forwards from backwards, warm-up tells ranks, and kernels when they ran") {
  Export data;
  for (const std::int64_t step : {0, 1}) {
    megatron_calls(data, 0, false, 1000 * step);  // the processes' numbers say nothing about ranks
    megatron_calls(data, 1, true, 1000 * step);
  }
  data.annotate(2, "loader of data", 0, 5);
  const TracedRun run = read_traced_run({data.file("node0")});
  CHECK(run.step_ns.size() == 2);
  std::vector<std::string> orders(2);
  for (const Span& span : work_spans(run.timeline())) {
    CHECK(span.end - span.start == (span.action.op == Op::kF ? 10 : 20));
    orders[static_cast<std::size_t>(span.device)] +=
        (span.action.op == Op::kF ? 'F' : 'B') + std::to_string(static_cast<int>(span.action.microbatch));
    CHECK(static_cast<std::int32_t>(span.action.stage) == static_cast<std::int32_t>(span.device));
  }
  CHECK(orders == std::vector<std::string>{"F0F1B0B1", "F0B0F1B1"});
}

TEST_CASE("ranges named like Megatron-LM's functions and timers are forwards and backwards") {
  Export data;
  data.annotate(0, "megatron.core.pipeline_parallel.schedules.forward_step", 0, 30);
  data.annotate(0, "forward-compute", 2, 28);  // its timer, inside
  data.annotate(0, "forward_step", 40, 70);
  data.annotate(0, "backward_step", 200, 240);
  data.annotate(0, "backward_step", 250, 290);
  data.annotate(1, "forward_step", 50, 80);
  data.annotate(1, "backward_step", 80, 120);
  data.annotate(1, "forward_step", 120, 150);
  data.annotate(1, "backward_step", 150, 190);
  const TracedRun run = read_traced_run({data.file("node0")});
  const std::vector<Span> spans = work_spans(run.timeline());
  REQUIRE(spans.size() == 8);
  CHECK(spans[0].start == 0);
  CHECK(spans[0].end == 30);
}

TEST_CASE("exports that are not whole pipelines are refused in one line") {
  const auto refusal = [](const TraceFile& file) { return testing::error_message([&] { read_traced_run({file}); }); };
  Export one;
  megatron_calls(one, 0, true, 0);
  CHECK(refusal(one.file("node0")) ==
        "node0 (process 100): runs 2 forwards before its first backward, expected 1 of rank 0 of 1 that run 1F1B; give "
        "the processes of one pipeline, all of them");
  Export interleaved;
  interleaved.annotate(0, "megatron.core.pipeline_parallel.p2p_communication.send_forward_recv_forward", 0, 1);
  CHECK(refusal(interleaved.file("node0"))
            .starts_with(
                "node0 (process 100): has calls of send_forward_recv_forward, so it ran Megatron-LM's interleaved"));
  CHECK(refusal({"cut", std::string("SQLite format 3\0 and so on", 26)})
            .starts_with("cut: cannot be read as what `nsys export --type sqlite` writes: "));
  Export empty;
  CHECK(refusal(empty.file("empty")) ==
        "empty: has no NVTX ranges; expected those of PyTorch's pipelining or of Megatron-LM");
  empty.run("DROP TABLE NVTX_EVENTS");
  CHECK(refusal(empty.file("empty")).starts_with("empty: has no table NVTX_EVENTS; expected a run that was profiled"));
}

TEST_CASE("a database that computes its columns is refused before one of them is computed") {
  const auto refusal = [](const std::string& column) {
    Export data;
    data.run("CREATE TABLE Others (a INTEGER, b TEXT " + column + ")");
    return testing::error_message([&] { read_traced_run({data.file("node0")}); });
  };
  const std::string computed =
      "node0: table Others has a computed column, expected one that `nsys export --type sqlite` writes";
  CHECK(refusal("AS (printf('%.*c', 900000000, 'x')) VIRTUAL") == computed);
  CHECK(refusal("AS (a + 1) STORED") == computed);
  CHECK(refusal("").starts_with("node0: has no NVTX ranges;"));
}

TEST_CASE("views and virtual tables in the place of tables are not read") {
  for (const char* put :
       {"CREATE VIEW NVTX_EVENTS AS SELECT 1 AS start", "CREATE VIRTUAL TABLE NVTX_EVENTS USING fts5(a)"}) {
    Export data;
    data.run("DROP TABLE NVTX_EVENTS");
    data.run(put);
    CHECK(testing::error_message([&] {
            read_traced_run({data.file("node0")});
          }).starts_with("node0: has no table NVTX_EVENTS;"));
  }
}

TEST_CASE("a text whose number is there twice is refused, so that no range is read many times") {
  Export data;
  data.run("DROP TABLE StringIds");
  data.run("CREATE TABLE StringIds (id INTEGER, value TEXT)");
  data.run("INSERT INTO StringIds VALUES (3, 'a'), (3, 'b')");
  CHECK(testing::error_message([&] { read_traced_run({data.file("node0")}); }) ==
        "node0: has the text 3 twice, expected each number once in StringIds");
}

TEST_CASE("ranges of one name share its text, of which the beginning is kept") {
  Export data;
  data.run("INSERT INTO StringIds VALUES (1, '" + std::string(100'000, 'n') + "')");
  for (int k = 0; k < 3; ++k) {
    data.run("INSERT INTO NVTX_EVENTS VALUES (" + std::to_string(k) + ", 9, 59, NULL, " +
             std::to_string(thread_id(0, 0)) + ", 1)");
  }
  const std::vector<RankTrace> traces = read_nsys(data.file("node0").bytes, "node0");
  REQUIRE(traces.size() == 1);
  REQUIRE(traces.front().ranges.size() == 3);
  for (const TraceRange& range : traces.front().ranges) {
    CHECK(range.name.size() == 4096);
    CHECK(range.name.data() == traces.front().ranges.front().name.data());
  }
}

TEST_CASE("a database whose pages contradict each other is refused before its rows are followed") {
  Export data;
  for (int k = 0; k < 2000; ++k) data.annotate(0, "PP:0F0", k, k + 1);
  TraceFile file = data.file("node0");
  const std::size_t page = 4096;
  REQUIRE(file.bytes.size() > 8 * page);
  std::copy_n(file.bytes.begin() + static_cast<std::ptrdiff_t>(page), page,
              file.bytes.end() - static_cast<std::ptrdiff_t>(page));
  CHECK(testing::error_message([&] { read_traced_run({file}); }).find("node0: ") == 0);
}

TEST_CASE("a run of more than 2,000 steps is refused, because every step keeps the lengths of all") {
  const auto refusal = [](int steps) {
    Export data;
    data.run("BEGIN");
    for (int step = 0; step < steps; ++step) data.annotate(0, "PP:0F0", step, step + 1);
    data.run("COMMIT");
    return testing::error_message([&] { read_traced_run({data.file("node0")}); });
  };
  CHECK(refusal(2'000).empty());
  CHECK(refusal(2'001) == "node0 (process 100): has 2001 steps, expected at most 2000 of one run");
}

TEST_CASE("traces of more values than a run has are refused before they take memory") {
  CHECK(testing::error_message([&] {
          read_traced_run({{"rank0.json", "{\"traceEvents\":[" + std::string(60'000'000, ',') + "]}"}});
        }) == "rank0.json: has 60000003 keys and values, expected a trace of at most 50000000");
}
