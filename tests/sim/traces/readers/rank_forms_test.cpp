#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include <nlohmann/json.hpp>

#include "schedules/document/action_text.hpp"
#include "sim/traces/traced_run.hpp"
#include "tests/sim/traces/trace_text.hpp"
#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("sim");

using namespace plumb;
using testing::TraceEvent;

namespace {

/// The work of a device as one line: "0F0 0F1 0B0 0B1".
std::string order_of(const Timeline& timeline, std::int32_t device) {
  std::string text;
  for (const Span& span : timeline.spans) {
    if (span.device != DeviceId{device} || span.lane != Lane::kCompute) continue;
    if (!text.empty()) text += ' ';
    append_text(text, span.action);
  }
  return text;
}

std::string refusal(std::vector<TraceFile> files) {
  return testing::error_message([&] { read_traced_run(std::move(files)); });
}

/// Steps of 1F1B of two ranks and two microbatches as the class Schedule1F1B leaves them behind: no ranges, only calls,
/// waits and operators. Between the steps the optimizer runs.
std::vector<TraceFile> unnamed_run(int steps) {
  std::vector<TraceEvent> first;
  std::vector<TraceEvent> second;
  const auto op = [](std::vector<TraceEvent>& events, const char* name, int begin, int end) {
    events.push_back({name, "cpu_op", begin, end});
  };
  for (int step = 0; step < steps; ++step) {
    const int at = 10'000 * step;
    op(first, "aten::mm", at + 0, at + 100);
    op(first, "c10d::send", at + 110, at + 120);
    op(first, "aten::mm", at + 130, at + 230);
    first.push_back({"wait", "user_annotation", at + 235, at + 240});
    op(first, "aten::detach", at + 241, at + 242);
    op(first, "c10d::send", at + 250, at + 255);
    op(first, "c10d::recv_", at + 256, at + 260);
    first.push_back({"wait", "user_annotation", at + 261, at + 450});
    op(first, "autograd::engine::evaluate_function: MmBackward0", at + 455, at + 600);
    op(first, "aten::mm", at + 456, at + 590);
    op(first, "c10d::recv_", at + 610, at + 620);
    first.push_back({"wait", "user_annotation", at + 621, at + 800});
    op(first, "autograd::engine::evaluate_function: MmBackward0", at + 810, at + 950);
    first.push_back({"Optimizer.step#SGD.step", "user_annotation", at + 960, at + 1100});
    op(first, "aten::add_", at + 965, at + 1090);

    op(second, "c10d::recv_", at + 5, at + 10);
    second.push_back({"wait", "user_annotation", at + 11, at + 140});
    op(second, "aten::mm", at + 145, at + 240);
    op(second, "autograd::engine::evaluate_function: MmBackward0", at + 250, at + 400);
    op(second, "c10d::send", at + 410, at + 420);
    op(second, "c10d::recv_", at + 421, at + 430);
    second.push_back({"wait", "user_annotation", at + 431, at + 440});
    op(second, "aten::mm", at + 445, at + 600);
    op(second, "autograd::engine::evaluate_function: MmBackward0", at + 610, at + 760);
    op(second, "c10d::send", at + 770, at + 780);
    second.push_back({"Optimizer.step#SGD.step", "user_annotation", at + 960, at + 1100});
    op(second, "aten::add_", at + 965, at + 1090);
  }
  return {testing::trace_of(0, 2, first), testing::trace_of(1, 2, second)};
}

/// A merged file of the real run: events of all ranks in one list, without `distributedInfo`.
std::string merged(const std::string& rank_argument) {
  std::string text = R"({"baseTimeNanoseconds": 1790857026000000000, "traceEvents": [)";
  for (const TraceFile& file : testing::real_run("class-gpipe")) {
    std::string one = testing::unpacked(file);
    const std::size_t begin = one.find('[', one.find("\"traceEvents\"")) + 1;
    one = one.substr(begin, one.rfind(']') - begin);
    if (!rank_argument.empty()) {
      for (std::size_t at = one.find("\"args\""); at != std::string::npos; at = one.find("\"args\"", at + 1)) {
        const std::size_t brace = one.find('{', at) + 1;
        const bool empty = one[one.find_first_not_of(" \n", brace)] == '}';
        one.insert(brace, "\"" + rank_argument + "\": " + file.name.substr(4) + (empty ? "" : ","));
      }
    }
    text += (text.ends_with('[') ? "" : ",") + one;
  }
  return text + "]}";
}

}  // namespace

TEST_CASE("classes that name no actions are read from their operators: real runs of Schedule1F1B and ScheduleGPipe") {
  const TracedRun one = read_traced_run(testing::real_run("class-1f1b"));
  CHECK(order_of(one.timeline(), 0) == "0F0 0F1 0F2 0F3 0B0 0F4 0B1 0F5 0B2 0F6 0B3 0F7 0B4 0B5 0B6 0B7");
  CHECK(order_of(one.timeline(), 3) == "3F0 3B0 3F1 3B1 3F2 3B2 3F3 3B3 3F4 3B4 3F5 3B5 3F6 3B6 3F7 3B7");
  REQUIRE(one.step_ns.size() == 2);
  CHECK(static_cast<double>(one.step_ns[0]) == doctest::Approx(356.606387e6).epsilon(0.003));
  CHECK(static_cast<double>(one.step_ns[1]) == doctest::Approx(362.705169e6).epsilon(0.003));
  const TracedRun gpipe = read_traced_run(testing::real_run("class-gpipe"), 1);
  CHECK(order_of(gpipe.timeline(), 2) == "2F0 2F1 2F2 2F3 2F4 2F5 2F6 2F7 2B0 2B1 2B2 2B3 2B4 2B5 2B6 2B7");
  CHECK(static_cast<double>(gpipe.timeline().makespan) == doctest::Approx(360.086687e6).epsilon(0.003));
  for (const DeviceSummary& device : one.timeline().devices) {
    CHECK(std::accumulate(device.idle_causes.begin(), device.idle_causes.end(), Ticks{0}) == device.idle);
  }
}

TEST_CASE("unnamed work is what lies between calls: not the optimizer, not what follows a wait for a send") {
  const TracedRun run = read_traced_run(unnamed_run(3));
  CHECK(run.step_ns.size() == 3);
  CHECK(order_of(run.timeline(), 0) == "0F0 0F1 0B0 0B1");
  CHECK(order_of(run.timeline(), 1) == "1F0 1B0 1F1 1B1");
  std::vector<std::pair<Ticks, Ticks>> first;
  for (const Span& span : run.timeline().spans) {
    if (span.device == DeviceId{0} && span.lane == Lane::kCompute) first.emplace_back(span.start, span.end);
  }
  // The second forward begins where the call before it ends, the backwards where the waits before them end.
  CHECK(first ==
        std::vector<std::pair<Ticks, Ticks>>{{0, 100'000}, {120'000, 230'000}, {450'000, 600'000}, {800'000, 950'000}});
}

TEST_CASE("unnamed work that is not whole steps is refused") {
  std::vector<TraceFile> files = unnamed_run(2);
  files[0] = unnamed_run(1)[0];
  CHECK(refusal(files) == "rank1: has 2 steps, but rank0 1; expected the same steps of all ranks");
  files = {unnamed_run(2)[1]};
  CHECK(refusal(files) ==
        "rank1: is of the last rank, which does not tell where its steps end; expected another rank's, too");
  files = {testing::trace_of(0, 2, {{"aten::mm", "cpu_op", 0, 10}, {"c10d::send", "cpu_op", 20, 30}})};
  CHECK(refusal(files).starts_with("rank0: has 1 forwards and 0 backwards between its calls"));
}

TEST_CASE("a missing rank is named and its lane unknown, wherever it stands") {
  const TracedRun whole = read_traced_run(testing::real_run("zb-h1"), 0);
  for (const std::int32_t missing : {0, 2, 3}) {
    CAPTURE(missing);
    std::vector<TraceFile> files = testing::real_run("zb-h1");
    files.erase(files.begin() + missing);
    const TracedRun run = read_traced_run(files, 0);
    CHECK(run.missing_ranks == std::vector<std::int32_t>{missing});
    CHECK(run.ranks == std::vector<std::int32_t>{0, 1, 2, 3});
    REQUIRE(run.timeline().devices.size() == 4);
    double busy = 0;
    Ticks unknown = 0;
    for (std::int32_t device = 0; device < 4; ++device) {
      const DeviceSummary& summary = run.timeline().devices[static_cast<std::size_t>(device)];
      CHECK(summary.known == (device != missing));
      if (device == missing) continue;
      busy += static_cast<double>(summary.busy);
      unknown += summary.idle_causes[static_cast<std::size_t>(IdleCause::kUnknown)];
      CHECK(summary.busy == whole.timeline().devices[static_cast<std::size_t>(device)].busy);
      CHECK(std::accumulate(summary.idle_causes.begin(), summary.idle_causes.end(), Ticks{0}) == summary.idle);
    }
    const double area = 3 * static_cast<double>(run.timeline().makespan);
    CHECK(run.timeline().bubble_fraction == doctest::Approx(1 - busy / area));
    CHECK(unknown > 0);  // its neighbours waited for it
  }
}

TEST_CASE("ranks of the job that are not of the pipeline are none of its business; replicas are refused") {
  std::vector<TraceFile> files = {
      testing::trace_of(0, 4, {{"PP:0F0", "user_annotation", 0, 10}, {"PP:0SEND_F0", "user_annotation", 11, 12}}),
      testing::trace_of(2, 4, {{"PP:1RECV_F0", "user_annotation", 0, 1}, {"PP:1F0", "user_annotation", 20, 30}})};
  const TracedRun run = read_traced_run(files);
  CHECK(run.ranks == std::vector<std::int32_t>{0, 2});
  CHECK(run.missing_ranks.empty());
  files.push_back(testing::trace_of(3, 4, {{"PP:1F0", "user_annotation", 20, 30}}));
  CHECK(refusal(files) ==
        "rank3: holds stage 1, as an earlier rank does; expected the traces of one pipeline, without its replicas");
  files.resize(1);
  CHECK(
      refusal(files) ==
      "rank0: is of a pipeline whose stage 1 no given trace holds, and it cannot be told which of the 3 missing ranks "
      "does; expected the traces of all ranks of one pipeline");
}

TEST_CASE("one file with all ranks gives the same run as a file each") {
  const TracedRun apart = read_traced_run(testing::real_run("class-gpipe"));
  for (const char* argument : {"", "rank"}) {  // the processes of the real run are numbered by rank
    CAPTURE(argument);
    const TracedRun together = read_traced_run({{"merged", merged(argument)}});
    CHECK(together.timeline().spans == apart.timeline().spans);
    CHECK(together.step_ns == apart.step_ns);
  }
  const std::string named = R"({"ph": "M", "name": "process_name", "pid": 7, "args": {"name": "RANK 1 - CPU"}},)"
                            R"({"ph": "M", "name": "process_labels", "pid": 3, "args": {"labels": "rank 0"}},)" +
                            testing::events_text({{"PP:0F0", "user_annotation", 0, 10, "", 1, 3},
                                                  {"PP:1F0", "user_annotation", 20, 30, "", 1, 7}});
  CHECK(read_traced_run({{"named", R"({"traceEvents": [)" + named + "]}"}}).ranks == std::vector<std::int32_t>{0, 1});
  const std::string unknown = testing::events_text({{"PP:0F0", "user_annotation", 0, 10, "", 1, 31}});
  CHECK(refusal({{"unknown", R"({"traceEvents": [)" + unknown + "]}"}})
            .starts_with("unknown: does not say which rank it is, expected distributedInfo"));
}

TEST_CASE("in a job with replicas the ranks count in the pipeline's group, where PyTorch names it") {
  // The real run of 1F1B, as ranks 1, 3, 5 and 7 of a job of eight whose device mesh has two replicas.
  const auto member = [](const char* others) {
    return [others](std::size_t rank, std::string text) {
      const std::string own = R"("rank":)" + std::to_string(rank) + R"(,"world_size":4,)";
      const std::size_t at = text.find(own);
      REQUIRE(at != std::string::npos);
      text.replace(at, own.size(), R"("rank":)" + std::to_string(2 * rank + 1) + R"(,"world_size":8,)");
      const std::string groups = R"("pg_config":[)";
      text.insert(text.find(groups) + groups.size(), others);
      return text;
    };
  };
  const auto run_of = [&](std::size_t replica_of_last) {
    std::vector<TraceFile> files = testing::real_run("class-1f1b");
    for (std::size_t rank = 0; rank < files.size(); ++rank) {
      const bool other = rank + 1 == files.size() && replica_of_last == 0;
      const auto as = member(other ? R"({"pg_name":"3","pg_desc":"mesh_pp","pg_size":4,"ranks":[7,5,3,1]},)"
                                   : R"({"pg_name":"3","pg_desc":"mesh_dp","pg_size":2,"ranks":[0,1]},)"
                                     R"({"pg_name":"4","pg_desc":"mesh_pp","pg_size":4,"ranks":[1,3,5,7]},)");
      files[rank].bytes = as(rank, testing::unpacked(files[rank]));
    }
    return files;
  };
  const TracedRun whole = read_traced_run(testing::real_run("class-1f1b"));
  const TracedRun replica = read_traced_run(run_of(1));
  CHECK(replica.ranks == std::vector<std::int32_t>{0, 1, 2, 3});
  CHECK(replica.step_ns == whole.step_ns);
  CHECK(replica.timeline().spans == whole.timeline().spans);
  CHECK(refusal(run_of(0)).find("; expected the traces of one pipeline, without its replicas") != std::string::npos);
}

TEST_CASE("what c10d records of a call inside it is no work") {
  // As PyTorch writes it beside NCCL, put into real traces.
  for (const char* folder : {"class-1f1b", "class-gpipe", "dualpipev"}) {
    CAPTURE(folder);
    std::vector<TraceFile> files = testing::real_run(folder);
    for (TraceFile& file : files) {
      nlohmann::json rank = nlohmann::json::parse(testing::unpacked(file));
      nlohmann::json& events = rank.at("traceEvents");
      for (std::size_t at = events.size(); at-- > 0;) {
        nlohmann::json event = events[at];
        if (event.at("name") != "c10d::send" && event.at("name") != "c10d::recv_") continue;
        event["name"] = "record_param_comms";
        event["ts"] = event.at("ts").get<double>() + event.at("dur").get<double>() / 4;
        event["dur"] = event.at("dur").get<double>() / 2;
        events.push_back(event);
      }
      file.bytes = rank.dump();
    }
    const TracedRun plain = read_traced_run(testing::real_run(folder));
    const TracedRun recorded = read_traced_run(std::move(files));
    CHECK(recorded.step_ns == plain.step_ns);
    CHECK(recorded.timeline().spans == plain.timeline().spans);
    CHECK(recorded.known_profile() == plain.known_profile());
  }
}
