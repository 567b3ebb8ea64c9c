#include "trainer/cuda/gpu.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "models/ground/error.hpp"
#include "trainer/cuda/cuda_call.hpp"
#include "trainer/cuda/kernels/probes.hpp"
#include "trainer/cuda/op_graphs.hpp"
#include "trainer/ground/run_clock.hpp"

namespace plumb::cuda {
namespace {

constexpr int kSooner = -1;  ///< priority of copies
/// A call that waits for the whole GPU (a kernel is loaded, memory is given out) would never come back from a gate that
/// only the host opens.
constexpr std::int64_t kLongestGateNs = 200'000'000;
/// Between two anchors of the clock of events.
constexpr std::int64_t kAnchorNs = 1'000'000'000;
/// %smid need not be below the number of multiprocessors.
constexpr int kMostMultiprocessors = 1024;
constexpr int kMostLooks = 4;

/// Memory that host and GPU see, for a start-up kernel.
template <class T>
class SharedArray {
 public:
  explicit SharedArray(std::size_t count) {
    PLUMB_CUDA_CALL(cudaHostAlloc(reinterpret_cast<void**>(&data_), count * sizeof(T), cudaHostAllocMapped));
    std::fill_n(data_, count, T{});
  }
  SharedArray(const SharedArray&) = delete;
  SharedArray& operator=(const SharedArray&) = delete;
  ~SharedArray() { cudaFreeHost(data_); }
  T* data() const { return data_; }

 private:
  T* data_ = nullptr;
};

float elapsed_ms(cudaEvent_t from, cudaEvent_t to) {
  float milliseconds = 0;
  PLUMB_CUDA_CALL(cudaEventElapsedTime(&milliseconds, from, to));
  return milliseconds;
}

}  // namespace

Gpu::Gpu(int number, int devices, const StreamOptions& options)
    : number_(number), devices_(devices), clock_(elapsed_ms) {
  activate();
  PLUMB_CUDA_CALL(cudaFree(nullptr));  // makes the primary context, before any part of it
  cudaDeviceProp properties{};
  PLUMB_CUDA_CALL(cudaGetDeviceProperties(&properties, number));
  name_ = properties.name;
  all_sms_ = properties.multiProcessorCount;
  if (devices > 1 || options.sms > 0) cut(options);  // one part alone is what runs are compared with
  PLUMB_CUDA_CALL(cudaEventCreateWithFlags(&gate_event_, cudaEventDisableTiming));
  void* gate = nullptr;
  PLUMB_CUDA_CALL(cudaHostAlloc(&gate, sizeof(unsigned int), cudaHostAllocMapped | cudaHostAllocPortable));
  gate_ = static_cast<volatile unsigned int*>(gate);
  *gate_ = 1;
}

Gpu::~Gpu() {
  open_gate();
  wait_for_streams();
  for (const OwnStream& stream : streams_) {
    if (stream.owned) cudaStreamDestroy(stream.stream);
  }
  for (cudaEvent_t anchor : anchors_) cudaEventDestroy(anchor);
  cudaEventDestroy(gate_event_);
  cudaFreeHost(const_cast<unsigned int*>(gate_));
}

void Gpu::synchronize() const { check(wait_for_streams(), "cudaStreamSynchronize"); }

/// One by one: `cudaDeviceSynchronize` returns while a graph still runs on a part (on an H200 with driver 580 after 23
/// us of a graph of 5 ms; question 9 of the probe asks it).
cudaError_t Gpu::wait_for_streams() const {
  cudaError_t first = cudaSetDevice(number_);
  for (const OwnStream& stream : streams_) {
    const cudaError_t status = cudaStreamSynchronize(stream.stream);
    if (first == cudaSuccess) first = status;
  }
  const cudaError_t rest = cudaDeviceSynchronize();
  return first == cudaSuccess ? rest : first;
}

void Gpu::activate() const { PLUMB_CUDA_CALL(cudaSetDevice(number_)); }

/// Gives up parts: all streams share the multiprocessors. Matrix products are told how many multiprocessors they may
/// use.
void Gpu::share_all(const StreamOptions& options, const std::string& reason) {
  cudaGetLastError();
  partition_.reset();
  if (sms_ == 0) sms_ = options.sms > 0 ? options.sms : all_sms_ / devices_;
  cut_text_ = std::to_string(devices_) + " virtual devices that share all SMs (" + reason + ")";
}

void Gpu::cut(const StreamOptions& options) {
  const GreenDriver driver = load_green_driver();
  if (!driver.complete()) return share_all(options, "the driver has no green contexts");
  CUdevResource all{};
  if (driver.device_resource(number_, &all, CU_DEV_RESOURCE_TYPE_SM) != CUDA_SUCCESS) {
    return share_all(options, "the driver does not tell which SMs there are");
  }
  const PartitionPlan plan = plan_partition(driver, number_, {devices_, options.mode, options.sms});
  sms_ = static_cast<int>(plan.split.sms);
  try {
    partition_ = std::make_unique<GreenPartition>(driver, number_, plan, devices_);
    try_part();
  } catch (const Error& error) {
    return share_all(options, error.what());
  }
  cut_text_ = std::to_string(devices_) + " virtual devices of " + std::to_string(sms_) + " SMs, copies " +
              std::to_string(partition_->sms(GreenPartition::kCopies)) + " SMs, from " + text_of(plan.split);
}

/// A part takes kernels and events of this thread, whose context is another one.
void Gpu::try_part() {
  const cudaStream_t stream = partition_->make_stream(GreenPartition::kCopies, kSooner);
  cudaEvent_t event = nullptr;
  PLUMB_CUDA_CALL(cudaEventCreate(&event));
  kernels::spin(1000, 1, stream);
  cudaError_t status = cudaEventRecord(event, stream);
  if (status == cudaSuccess) status = cudaEventSynchronize(event);
  cudaEventDestroy(event);
  check(status, "cudaEventRecord on a stream of a part");
}

cudaStream_t Gpu::make_stream(int local, StreamKind kind) {
  activate();
  const bool computes = kind == StreamKind::kCompute;
  OwnStream made{nullptr, computes ? local : GreenPartition::kCopies, kind, !partition_};
  if (partition_) {
    made.stream = partition_->make_stream(made.part, computes ? 0 : kSooner);
  } else {
    PLUMB_CUDA_CALL(cudaStreamCreateWithPriority(&made.stream, cudaStreamNonBlocking, computes ? 0 : kSooner));
  }
  streams_.push_back(made);
  return made.stream;
}

int Gpu::sms_of(int part) const { return partition_ ? partition_->sms(part) : all_sms_; }

void Gpu::check_streams() {
  activate();
  gate_stream_ = make_stream(0, StreamKind::kActivations);
  if (partition_) check_places();
  if (partition_) check_graphs();
  if (is_shared()) check_concurrency();
  read_clock();
}

/// Returns where the blocks of a stream really run; those of a graph that was captured on it, where `graphs` is given.
SeenMultiprocessors Gpu::look(const OwnStream& stream, OpGraphs* graphs) const {
  constexpr auto kCount = static_cast<std::size_t>(kMostMultiprocessors);
  const SharedArray<unsigned int> histogram(kCount);
  const auto count = [&] {
    kernels::count_multiprocessors(histogram.data(), kMostMultiprocessors, 64 * all_sms_, stream.stream);
  };
  const bool copies = stream.part == GreenPartition::kCopies;
  const std::string name = copies ? "copies" : "virtual device " + std::to_string(stream.part);
  if (graphs != nullptr) graphs->run(name, stream.stream, [] {});
  SeenMultiprocessors seen{name, std::vector<unsigned int>(kCount), sms_of(stream.part), stream.part};
  // Blocks end at once, so that some multiprocessor may get none of them: then once more.
  for (int tries = 0; tries < kMostLooks && used_multiprocessors(seen) < seen.sms; ++tries) {
    graphs != nullptr ? graphs->run(name, stream.stream, count) : count();  // what comes again is captured
    PLUMB_CUDA_CALL(cudaStreamSynchronize(stream.stream));
    std::copy_n(histogram.data(), kCount, seen.blocks.begin());
  }
  return seen;
}

void Gpu::check_places() {
  std::vector<SeenMultiprocessors> seen;
  for (const OwnStream& stream : streams_) {
    seen.push_back(look(stream, nullptr));
    if (stream.part == GreenPartition::kCopies) continue;
    places_text_ += (places_text_.empty() ? "" : "; ") + text_of_multiprocessors(seen.back().blocks);
  }
  const std::vector<std::string> overlaps = find_overlaps(seen);
  if (!overlaps.empty()) throw Error(name_ + ": " + overlaps.front());
}

/// A graph keeps the multiprocessors of the stream that it was captured on, or there are none.
void Gpu::check_graphs() {
  std::vector<std::string> findings;
  try {
    OpGraphs graphs;
    std::vector<SeenMultiprocessors> seen;
    for (const OwnStream& stream : streams_) {
      if (stream.part != GreenPartition::kCopies) seen.push_back(look(stream, &graphs));
    }
    findings = find_overlaps(seen);
    if (!graphs.refusal().empty()) findings.push_back(graphs.refusal());
  } catch (const Error& error) {
    cudaGetLastError();
    findings.emplace_back(error.what());
  }
  if (findings.empty()) return;
  takes_graphs_ = false;
  cut_text_ += " (no op graphs: " + findings.front() + ")";
}

void Gpu::check_concurrency() {
  constexpr std::int64_t kSpin = 2'000'000;
  for (const OwnStream& stream : streams_) kernels::spin(1000, 1, stream.stream);  // loads the kernel
  PLUMB_CUDA_CALL(cudaDeviceSynchronize());
  const std::int64_t begin = RunClock::steady_ns();
  for (const OwnStream& stream : streams_) kernels::spin(kSpin, 1, stream.stream);
  PLUMB_CUDA_CALL(cudaDeviceSynchronize());
  const SpinTimes times{kSpin, RunClock::steady_ns() - begin, static_cast<int>(streams_.size())};
  const std::vector<std::string> findings = find_false_waits(times);
  if (!findings.empty()) cut_text_ += " (" + findings.front() + ")";
}

void Gpu::read_clock() {
  const SharedArray<kernels::ClockReading> reading(1);
  kernels::read_clock(reading.data(), gate_stream_);
  PLUMB_CUDA_CALL(cudaStreamSynchronize(gate_stream_));
  const kernels::ClockReading& read = *reading.data();
  if (read.nanoseconds > 0) clock_hz_ = 1e9 * static_cast<double>(read.cycles) / static_cast<double>(read.nanoseconds);
}

/// Times of events are given by the host's clock as it was around the narrowest of some records.
void Gpu::restart_clock() {
  activate();
  read_clock();
  constexpr int kTries = 20;
  for (cudaEvent_t anchor : std::exchange(anchors_, {})) cudaEventDestroy(anchor);
  std::int64_t narrowest = std::numeric_limits<std::int64_t>::max();
  for (int i = 0; i < kTries; ++i) {
    const std::int64_t before = RunClock::steady_ns();
    const cudaEvent_t candidate = new_anchor();
    const std::int64_t after = RunClock::steady_ns();
    if (after - before >= narrowest) continue;
    narrowest = after - before;
    anchored_ns_ = before + (after - before) / 2;
    clock_.restart(candidate, anchored_ns_);
  }
}

/// Returns a moment that has passed, of a stream that has nothing else to do.
cudaEvent_t Gpu::new_anchor() {
  cudaEvent_t& anchor = anchors_.emplace_back(nullptr);
  PLUMB_CUDA_CALL(cudaEventCreate(&anchor));
  PLUMB_CUDA_CALL(cudaEventRecord(anchor, gate_stream_));
  PLUMB_CUDA_CALL(cudaEventSynchronize(anchor));
  return anchor;
}

void Gpu::keep_time() {
  if (RunClock::steady_ns() - anchored_ns_ < kAnchorNs) return;
  activate();
  clock_.add(new_anchor());
  anchored_ns_ = RunClock::steady_ns();
}

void Gpu::close_gate() {
  activate();
  *gate_ = 0;
  kernels::wait_for(gate_, kLongestGateNs, gate_stream_);
  PLUMB_CUDA_CALL(cudaEventRecord(gate_event_, gate_stream_));
  for (const OwnStream& stream : streams_) {
    if (stream.stream != gate_stream_) PLUMB_CUDA_CALL(cudaStreamWaitEvent(stream.stream, gate_event_, 0));
  }
}

void Gpu::open_gate() { *gate_ = 1; }

std::string Gpu::description() const {
  std::string text = name_ + ": " + cut_text_;
  if (!places_text_.empty()) text += " (" + places_text_ + ")";
  if (clock_hz_ > 0) text += ", " + std::to_string(static_cast<int>(clock_hz_ / 1e6)) + " MHz";
  return text;
}

}  // namespace plumb::cuda
