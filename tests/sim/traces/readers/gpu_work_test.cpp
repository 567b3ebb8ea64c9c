#include "sim/traces/readers/gpu_work.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "sim/traces/readers/kineto.hpp"
#include "sim/traces/readers/runtime_ranges.hpp"
#include "sim/traces/traced_run.hpp"
#include "tests/sim/traces/trace_text.hpp"
#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("sim");

using namespace plumb;
using testing::TraceEvent;

namespace {

constexpr int kBackwardThread = 9;
constexpr int kStream = 7;
constexpr int kMessageStream = 20;

TraceEvent launch(int begin, int correlation, int thread = 2) {
  return {
      "cudaLaunchKernel", "cuda_runtime", begin, begin + 2, "\"correlation\": " + std::to_string(correlation), thread};
}

TraceEvent kernel(const char* name, int begin, int end, int correlation, int stream = kStream, const char* more = "") {
  return {name, "kernel", begin, end, "\"correlation\": " + std::to_string(correlation) + more, stream, 0};
}

/// The host is done with everything at 50 us; the GPU works until 400.
std::vector<TraceEvent> first_rank() {
  return {{"PP:0F0", "user_annotation", 0, 10},
          launch(1, 1),
          launch(4, 2),
          {"PP:0SEND_F0", "user_annotation", 11, 15},
          launch(12, 3),
          {"PP:0RECV_B0", "user_annotation", 16, 20},
          launch(17, 4),
          {"PP:0B0", "user_annotation", 21, 50},
          launch(30, 5, kBackwardThread),
          launch(35, 6, kBackwardThread),
          kernel("gemm", 20, 60, 1),
          kernel("Memcpy DtoD (Device -> Device)", 60, 100, 2),
          kernel("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", 105, 140, 3, kMessageStream),
          kernel("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", 141, 290, 4, kMessageStream),
          kernel("gemm", 300, 350, 5),
          kernel("gemm", 350, 400, 6)};
}

std::vector<TraceEvent> second_rank() {
  return {{"PP:1RECV_F0", "user_annotation", 0, 5},
          launch(1, 1),
          {"PP:1F0", "user_annotation", 6, 10},
          launch(7, 2),
          {"PP:1B0", "user_annotation", 11, 30},
          launch(15, 3, kBackwardThread),
          {"PP:1SEND_B0", "user_annotation", 31, 35},
          launch(32, 4),
          kernel("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", 10, 140, 1, kMessageStream),
          kernel("gemm", 150, 200, 2),
          kernel("gemm", 200, 270, 3),
          kernel("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", 272, 290, 4, kMessageStream)};
}

std::vector<std::pair<Ticks, Ticks>> work_of(const Timeline& timeline, std::int32_t device) {
  std::vector<std::pair<Ticks, Ticks>> times;
  for (const Span& span : timeline.spans) {
    if (span.device == DeviceId{device} && span.lane == Lane::kCompute) times.emplace_back(span.start, span.end);
  }
  return times;
}

using Times = std::vector<std::pair<Ticks, Ticks>>;

/// A real trace in which the annotation that begins with `name` is called PP:0F0.
std::string real_with_action(const std::string& folder, const std::string& name) {
  const std::vector<TraceFile> files = testing::real_run(folder, 1);
  std::string text = testing::unpacked(files[0]);
  const std::string category = R"("cat":"user_annotation","name":")";
  const std::size_t at = text.find(category + name) + category.size();
  text.replace(at, text.find('"', at) - at, "PP:0F0");
  return text;
}

}  // namespace

TEST_CASE("a real trace of a GPU: the kernels of a range are where the profiler itself says that the GPU saw it") {
  std::string text = real_with_action("kernels-h100", "ProfilerStep#6");
  text.insert(1, R"("distributedInfo":{"rank":0,"world_size":1},)");
  const RankTrace trace = read_kineto(text, "h100").at(0);
  const auto seen = std::ranges::find(trace.ranges, RangeKind::kGpuAnnotation, &TraceRange::kind);
  REQUIRE(seen != trace.ranges.end());
  const RankRun run = rank_run(trace);
  REQUIRE(run.work.size() == 1);
  CHECK(std::abs(run.work[0].start_ns - seen->start_ns) <= 1);  // both are rounded to whole nanoseconds
  CHECK(std::abs(run.work[0].end_ns - seen->end_ns) <= 1);
}

TEST_CASE("a real trace of a captured graph: all of its kernels have the correlation of its one launch") {
  const RankTrace trace = read_kineto(real_with_action("graph-mi300", "execute_32"), "mi300").at(0);
  const RankRun run = rank_run(trace);
  REQUIRE(run.work.size() == 1);
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  std::int64_t last = 0;
  int kernels = 0;
  for (const TraceRange& range : trace.ranges) {
    if (range.kind != RangeKind::kKernel) continue;
    first = std::min(first, range.start_ns);
    last = std::max(last, range.end_ns);
    ++kernels;
  }
  CHECK(kernels == 434);
  CHECK(run.work[0].start_ns == first);
  CHECK(run.work[0].end_ns == last);
}

TEST_CASE("on a GPU work is from the first to the last kernel that its range launched, on any thread, without NCCL's") {
  const TracedRun run =
      read_traced_run({testing::trace_of(0, 2, first_rank()), testing::trace_of(1, 2, second_rank())});
  CHECK(run.clock_offsets_ns == std::vector<std::int64_t>{0, 0});
  CHECK(work_of(run.timeline(), 0) == Times{{10'000, 90'000}, {290'000, 390'000}});  // from the first receive, at 10
  CHECK(work_of(run.timeline(), 1) == Times{{140'000, 190'000}, {190'000, 260'000}});
  const DeviceSummary& second = run.timeline().devices[1];
  CHECK(second.busy + second.idle == run.timeline().makespan);
}

TEST_CASE("a message is there when the kernel that receives it ends: what the work waits for then is the host") {
  const TracedRun run =
      read_traced_run({testing::trace_of(0, 2, first_rank()), testing::trace_of(1, 2, second_rank())});
  const auto idle = [](const DeviceSummary& device, IdleCause cause) {
    return device.idle_causes[static_cast<std::size_t>(cause)];
  };
  // Rank 0 is idle from 100 to 300: stage 1 computes until 270, its kernel that sends begins at 272, the one that
  // receives ends at 290.
  const DeviceSummary& first = run.timeline().devices[0];
  CHECK(idle(first, IdleCause::kCompute) == 170'000);
  CHECK(idle(first, IdleCause::kTransferBandwidth) == 18'000);
  CHECK(idle(first, IdleCause::kTransferQueue) == 0);
  CHECK(idle(first, IdleCause::kOverhead) == 2'000 + 10'000);
  std::vector<std::pair<Ticks, Ticks>> messages;  // from the first receive, at 10
  for (const Span& span : run.timeline().spans) {
    if (span.lane == Lane::kTransfer) messages.emplace_back(span.start, span.end);
  }
  CHECK(messages == Times{{95'000, 130'000}, {262'000, 280'000}});
  // So the profile knows what messages took (35 and 18 us), and the host before 1F0 and 0B0 (10 us each).
  const RunProfile& profile = run.known_profile();
  REQUIRE(profile.messages.size() == 1);
  CHECK(profile.messages[0].message.count == 2);
  CHECK(profile.messages[0].message.p10_ns == 18'000);
  CHECK(profile.messages[0].message.p90_ns == 35'000);
  CHECK(profile.host.f.p10_ns <= 10'000);
  CHECK(profile.host.b.p90_ns == 10'000);
}

TEST_CASE("an action without kernels keeps its place, behind the value that it takes, though the host is far ahead") {
  // As 0I of PyTorch's first stage, which has nothing to compute.
  std::vector<TraceEvent> first = first_rank();
  for (TraceEvent& event : first) {
    if (event.name == "PP:0B0") event.name = "PP:0W0";
  }
  first.push_back({"PP:0I0", "user_annotation", 20, 21});
  std::vector<TraceEvent> second = second_rank();
  for (TraceEvent& event : second) {
    if (event.name == "PP:1B0") event.name = "PP:1I0";
  }
  second.push_back({"PP:1W0", "user_annotation", 40, 50});
  const TracedRun run = read_traced_run({testing::trace_of(0, 2, first), testing::trace_of(1, 2, second)});
  CHECK(run.clock_offsets_ns == std::vector<std::int64_t>{0, 0});
  // 0I0 is where the kernel that receives ends, at 290; 1W0 behind 1I0.
  CHECK(work_of(run.timeline(), 0) == Times{{10'000, 90'000}, {280'000, 280'000}, {290'000, 390'000}});
  CHECK(work_of(run.timeline(), 1) == Times{{140'000, 190'000}, {190'000, 260'000}, {260'000, 260'000}});
}

TEST_CASE("kernels that a captured graph annotates are work without any range of the host") {
  const char* forward = R"(, "graph node id": 11, "name": "PP:0F0")";
  const char* backward = R"(, "graph node id": 12, "name": "0B0")";
  const char* nothing = R"(, "graph node id": 13)";
  std::vector<TraceEvent> events;
  for (int step = 0; step < 2; ++step) {
    const int at = 1000 * step;
    events.push_back({"cudaGraphLaunch", "cuda_runtime", at, at + 5, "\"correlation\": " + std::to_string(step)});
    events.push_back(kernel("gemm", at + 10, at + 20, step, kStream, forward));
    events.push_back(kernel("gemm", at + 30, at + 40, step, kStream, forward));
    events.push_back(kernel("memset", at + 41, at + 45, step, kStream, nothing));
    events.push_back(kernel("gemm", at + 50, at + 90, step, kStream, backward));
  }
  const TracedRun run = read_traced_run({testing::trace_of(0, 1, events)});
  CHECK(run.step_ns == std::vector<std::int64_t>{80'000, 80'000});
  CHECK(work_of(run.timeline(), 0) == Times{{0, 30'000}, {40'000, 80'000}});
}

TEST_CASE("a graph that a range of the host launches is its work, with all kernels") {
  const std::vector<TraceEvent> events = {
      {"PP:0F0", "user_annotation", 0, 10},
      {"cudaGraphLaunch", "cuda_runtime", 2, 5, "\"correlation\": 5"},
      kernel("gemm", 20, 30, 5, kStream, R"(, "graph node id": 1)"),
      kernel("gemm", 30, 70, 5, kStream, R"(, "graph node id": 2)"),
  };
  CHECK(work_of(read_traced_run({testing::trace_of(0, 1, events)}).timeline(), 0) == Times{{0, 50'000}});
}

TEST_CASE("a run over NCCL that was traced without its GPU is refused: what its host did is not its work") {
  const auto refusal = [](std::vector<TraceFile> files) {
    return testing::error_message([&] { read_traced_run(std::move(files)); });
  };
  const std::string expected =
      "rank0: the ranks talk by NCCL, so that GPUs ran the work, but the trace has no kernels; expected a profile with "
      "activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], of Nsight Systems with --trace=nvtx,cuda";
  std::vector<TraceFile> files = testing::real_run("zb-h1");
  for (TraceFile& file : files) {
    file.bytes = testing::unpacked(file);
    file.bytes.replace(file.bytes.find("\"gloo\""), 6, "\"nccl\"");
  }
  CHECK(refusal(files) == expected);
  CHECK(refusal({testing::trace_of(
            0, 1, {{"PP:0F0", "user_annotation", 0, 10}, {"nccl:send 0->1", "user_annotation", 11, 12}})}) == expected);
}

TEST_CASE("kernels and graphs that no range of a forward, or of a backward, launched are refused") {
  const std::vector<TraceEvent> events = {{"PP:0F0", "user_annotation", 0, 10},
                                          launch(2, 1),
                                          kernel("gemm", 5, 30, 1),
                                          {"PP:0B0", "user_annotation", 11, 20},
                                          {"cudaGraphLaunch", "cuda_runtime", 22, 25, "\"correlation\": 5"},
                                          kernel("gemm", 40, 80, 5, kStream, R"(, "graph node id": 1)")};
  CHECK(testing::error_message([&] {
          read_traced_run({testing::trace_of(0, 1, events)});
        }).starts_with("rank0: none of the kernels and captured graphs was launched in a range of a backward; "));
}

TEST_CASE("without kernels the annotations of the busiest stream are the work") {
  const std::vector<TraceEvent> events = {{"PP:0F0", "user_annotation", 0, 10},
                                          {"PP:0F0", "gpu_user_annotation", 20, 90, "", kStream},
                                          {"PP:0F0", "gpu_user_annotation", 30, 40, "", kMessageStream}};
  CHECK(work_of(read_traced_run({testing::trace_of(0, 1, events)}).timeline(), 0) == Times{{0, 70'000}});
}
