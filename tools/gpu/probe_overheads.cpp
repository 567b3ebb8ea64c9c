#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>
#include "sim/comparison/estimate.hpp"

#include "tools/gpu/probe_kernels.hpp"
#include "tools/gpu/probe_parts.hpp"
#include "tools/gpu/probe_questions.hpp"
#include "trainer/cuda/kernels/probes.hpp"
#include "trainer/cuda/partition_check.hpp"

namespace plumb::cuda {
namespace {

using Answer = nlohmann::ordered_json;

double ns_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
}

/// Host time of one record of an event.
double record_ns(cudaStream_t stream) {
  constexpr int kTimes = 1000;
  cudaEvent_t event = nullptr;
  PLUMB_CUDA_CALL(cudaEventCreate(&event));
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kTimes; ++i) PLUMB_CUDA_CALL(cudaEventRecord(event, stream));
  const double ns = ns_since(begin) / kTimes;
  PLUMB_CUDA_CALL(cudaDeviceSynchronize());
  PLUMB_CUDA_CALL(cudaEventDestroy(event));
  return ns;
}

/// From the end of work on one part to the first instruction of what waits for it on another.
double wait_to_start_ns(const CutGpu& gpu) {
  constexpr int kTimes = 50;
  const HostArray<std::int64_t> stamps(2);
  cudaEvent_t event = nullptr;
  PLUMB_CUDA_CALL(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  std::vector<double> waits;
  for (int i = 0; i < kTimes; ++i) {
    kernels::spin(100'000, 1, gpu.compute[0]);
    kernels::stamp(stamps.data(), gpu.compute[0]);
    PLUMB_CUDA_CALL(cudaEventRecord(event, gpu.compute[0]));
    PLUMB_CUDA_CALL(cudaStreamWaitEvent(gpu.compute[1], event, 0));
    kernels::stamp(stamps.data() + 1, gpu.compute[1]);
    PLUMB_CUDA_CALL(cudaDeviceSynchronize());
    waits.push_back(static_cast<double>(stamps[1] - stamps[0]));
  }
  PLUMB_CUDA_CALL(cudaEventDestroy(event));
  return median_of(std::move(waits));
}

/// A graph of one small kernel, captured on a stream of a part. `record`, if any, is recorded inside.
class SmallGraph {
 public:
  SmallGraph(const CutGpu& gpu, int part, unsigned int* histogram, cudaEvent_t record) {
    const cudaStream_t stream = gpu.compute[static_cast<std::size_t>(part)];
    const int sms = all_multiprocessors();
    PLUMB_CUDA_CALL(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    kernels::count_multiprocessors(histogram, sms, 64 * sms, stream);
    if (record != nullptr) PLUMB_CUDA_CALL(cudaEventRecordWithFlags(record, stream, cudaEventRecordExternal));
    cudaGraph_t graph = nullptr;
    PLUMB_CUDA_CALL(cudaStreamEndCapture(stream, &graph));
    PLUMB_CUDA_CALL(cudaGraphInstantiate(&launchable_, graph, 0));
    PLUMB_CUDA_CALL(cudaGraphDestroy(graph));
  }
  SmallGraph(const SmallGraph&) = delete;
  SmallGraph& operator=(const SmallGraph&) = delete;
  ~SmallGraph() { cudaGraphExecDestroy(launchable_); }
  void launch(cudaStream_t stream) const { PLUMB_CUDA_CALL(cudaGraphLaunch(launchable_, stream)); }

 private:
  cudaGraphExec_t launchable_ = nullptr;
};

/// 8. Constants of the runtime.
Answer constants() {
  constexpr int kTimes = 200;
  const CutGpu gpu(8, 8, PartitionMode::kAccuracy);
  const int sms = all_multiprocessors();
  const HostArray<unsigned int> histogram(static_cast<std::size_t>(sms));
  const SmallGraph graph(gpu, 0, histogram.data(), nullptr);
  graph.launch(gpu.compute[0]);
  PLUMB_CUDA_CALL(cudaDeviceSynchronize());
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kTimes; ++i) graph.launch(gpu.compute[0]);
  const double launch_ns = ns_since(begin) / kTimes;
  PLUMB_CUDA_CALL(cudaDeviceSynchronize());
  constexpr int kReadings = 20000;
  const HostArray<long long> times(kReadings);
  read_times(times.data(), kReadings, gpu.compute[0]);
  PLUMB_CUDA_CALL(cudaDeviceSynchronize());
  long long tick = 0;
  for (std::size_t i = 1; i < kReadings; ++i) {
    const long long step = times[i] - times[i - 1];
    if (step > 0 && (tick == 0 || step < tick)) tick = step;
  }
  return {{"event_record_ns", record_ns(gpu.compute[0])},
          {"wait_to_start_ns", wait_to_start_ns(gpu)},
          {"graph_launch_ns", launch_ns},
          {"globaltimer_tick_ns", tick}};
}

/// How long the host waits for a graph that runs for `kSpin` on a part, by each of two calls.
Answer graph_waits(const CutGpu& gpu) {
  constexpr std::int64_t kSpin = 5'000'000;
  const cudaStream_t stream = gpu.compute[1];
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t launchable = nullptr;
  PLUMB_CUDA_CALL(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  kernels::spin(kSpin, 1, stream);
  PLUMB_CUDA_CALL(cudaStreamEndCapture(stream, &graph));
  PLUMB_CUDA_CALL(cudaGraphInstantiate(&launchable, graph, 0));
  PLUMB_CUDA_CALL(cudaGraphDestroy(graph));
  Answer waits = {{"spin_ns", kSpin}};
  for (const bool all : {true, false, true, false}) {
    PLUMB_CUDA_CALL(cudaStreamSynchronize(stream));
    const auto begin = std::chrono::steady_clock::now();
    PLUMB_CUDA_CALL(cudaGraphLaunch(launchable, stream));
    PLUMB_CUDA_CALL(all ? cudaDeviceSynchronize() : cudaStreamSynchronize(stream));
    waits[all ? "cudaDeviceSynchronize_ns" : "cudaStreamSynchronize_ns"].push_back(ns_since(begin));
  }
  PLUMB_CUDA_CALL(cudaStreamSynchronize(stream));
  PLUMB_CUDA_CALL(cudaGraphExecDestroy(launchable));
  return waits;
}

/// 9. Graphs captured on a part's stream: do they stay on it when they are replayed there, and on another one? And
/// which calls wait for them?
Answer captured_graphs() {
  const CutGpu gpu(8, 8, PartitionMode::kAccuracy);
  const auto count = static_cast<std::size_t>(all_multiprocessors());
  cudaEvent_t inside = nullptr;
  PLUMB_CUDA_CALL(cudaEventCreate(&inside));
  Answer rows = Answer::array();
  for (const auto& [captured, replayed] : {std::pair{0, 0}, {0, 1}, {1, 1}, {2, 2}}) {
    const HostArray<unsigned int> histogram(count);
    const SmallGraph graph(gpu, captured, histogram.data(), inside);
    graph.launch(gpu.compute[static_cast<std::size_t>(replayed)]);
    PLUMB_CUDA_CALL(cudaStreamSynchronize(gpu.compute[static_cast<std::size_t>(replayed)]));
    const std::vector<unsigned int> blocks(histogram.data(), histogram.data() + count);
    rows.push_back({{"captured_on", captured}, {"replayed_on", replayed}, {"ran_on", text_of_multiprocessors(blocks)}});
  }
  const bool recorded = cudaEventQuery(inside) == cudaSuccess;
  PLUMB_CUDA_CALL(cudaEventDestroy(inside));
  return {{"graphs", rows}, {"waits", graph_waits(gpu)}, {"external_event", recorded}};
}

}  // namespace

std::vector<Question> overhead_questions() {
  return {{8, "what recording, waiting and launching cost", [] { return constants().dump(); }},
          {9, "graphs captured on a part", [] { return captured_graphs().dump(); }}};
}

}  // namespace plumb::cuda
