#include "trainer/cuda/cuda_streams.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include <nvtx3/nvToolsExt.h>

#include "models/ground/error.hpp"
#include "trainer/cuda/cuda_call.hpp"
#include "trainer/cuda/cuda_devices.hpp"
#include "trainer/cuda/kernels/blocks.hpp"
#include "trainer/cuda/kernels/probes.hpp"
#include "trainer/cuda/lt_products.hpp"

namespace plumb::cuda {
namespace {

constexpr std::int64_t kWorkspaceBytes = 32 << 20;  ///< what cuBLASLt wants on Hopper
constexpr int kMostStreams = 32;                    ///< hardware queues of a GPU
constexpr std::uintptr_t kLinkAlignment = 16;
constexpr std::size_t kStampsOfChunk = 4096;

bool is_aligned(const std::byte* address, std::size_t bytes) {
  return (reinterpret_cast<std::uintptr_t>(address) | bytes) % kLinkAlignment == 0;
}

}  // namespace

CudaStreams::CudaStreams(const StreamOptions& options) : options_(options) {
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);  // NOLINT(concurrency-mt-unsafe): before the first CUDA call
  // To load a kernel late the driver may wait for all that runs, among it links that wait for the kernel.
  if (options.links) setenv("CUDA_MODULE_LOADING", "EAGER", 0);  // NOLINT(concurrency-mt-unsafe): likewise
  const CudaDevices found = cuda_devices();
  if (found.names.empty()) throw Error(found.reason);
  const auto count = static_cast<int>(found.names.size());
  if (options.gpus < 1 || options.gpus > count) {
    throw Error("GPUs: " + std::to_string(options.gpus) + "; expected 1 to " + std::to_string(count));
  }
  options_.gpus = std::min(options.gpus, options.devices);
  options_.first_gpu = options.first_gpu % (count - options_.gpus + 1);
  std::vector<int> devices(static_cast<std::size_t>(options_.gpus));
  for (std::int32_t device = 0; device < options.devices; ++device) {
    ++devices[place_of_gpu(DeviceId{options.first_device + device})];
  }
  for (std::size_t gpu = 0; gpu < devices.size(); ++gpu) {
    gpus_.push_back(std::make_unique<Gpu>(options_.first_gpu + static_cast<int>(gpu), devices[gpu], options));
    // Equal GPUs have one table: what is the fastest on one of them stands for all, as it does in the file.
    const bool first = gpu == 0 || gpus_.back()->name() != gpus_.front()->name();
    const std::string head = product_table_head(gpus_.back()->name());
    tables_.push_back(first ? std::make_shared<ProductTable>(head, options.product_trials) : tables_.front());
    if (first && !options.product_table.empty()) tables_.back()->load(options.product_table);
  }
  attention_ =
      std::make_unique<DnnOnGpus<DnnAttention>>("attention", options.attention, options.attention_table, gpus_);
  convolutions_ = std::make_unique<DnnOnGpus<DnnConvolution>>("convolutions", options.convolutions,
                                                              options.convolution_table, gpus_);
  stamps_.resize(gpus_.size());
  stamps_used_.resize(gpus_.size());
  for (const auto& gpu : gpus_) {
    for (const auto& peer : gpus_) {
      gpu->activate();
      int possible = 0;
      if (gpu != peer) PLUMB_CUDA_CALL(cudaDeviceCanAccessPeer(&possible, gpu->number(), peer->number()));
      if (possible != 0) PLUMB_CUDA_CALL(cudaDeviceEnablePeerAccess(peer->number(), 0));
    }
  }
}

CudaStreams::~CudaStreams() {
  if (abandoned_) {
    for (auto& gpu : gpus_) static_cast<void>(gpu.release());  // a GPU that hangs cannot be waited for
    attention_->abandon();
    convolutions_->abandon();
    return;
  }
  open_gates();  // what has failed half-way may have left them closed, and memory is given back after all work
  for (const auto& gpu : gpus_) gpu->wait_for_streams();
  for (const Stream& stream : streams_) cudaFree(stream.workspace);
  for (const auto& chunks : stamps_) {
    for (std::int64_t* chunk : chunks) cudaFree(chunk);
  }
  for (const Event& event : events_) {
    for (const cudaEvent_t handle : event.handles) {
      if (handle != nullptr) cudaEventDestroy(handle);
    }
  }
}

StreamId CudaStreams::make_stream(DeviceId device, StreamKind kind) {
  of_device_.resize(static_cast<std::size_t>(options_.devices));
  std::vector<StreamId>& own = of_device_[local_number(device)];
  const int per_device = 3 * options_.devices > kMostStreams * options_.gpus ? 2 : 3;
  const bool is_link = kind == StreamKind::kLink;
  if (!is_link && static_cast<int>(own.size()) == per_device) return own.back();
  // One more is the gate's. Streams that share a queue wait for each other, and links that do may wait for ever.
  if (is_link && static_cast<int>(streams_.size()) + 1 >= kMostStreams) {
    throw Error("device " + std::to_string(index(device)) + ": more than " + std::to_string(kMostStreams - 4) +
                " links to other devices; expected the transport mpi");
  }
  Gpu& gpu = *gpus_[place_of_gpu(device)];
  int local = 0;  // of the GPU's devices
  for (std::int32_t other = options_.first_device; other < static_cast<std::int32_t>(index(device)); ++other) {
    if (place_of_gpu(DeviceId{other}) == place_of_gpu(device)) ++local;
  }
  Stream stream{.handle = gpu.make_stream(local, kind), .gpu = &gpu, .device = device};
  if (kind == StreamKind::kCompute) {
    void* workspace = nullptr;
    PLUMB_CUDA_CALL(cudaMalloc(&workspace, kWorkspaceBytes));
    stream.workspace = static_cast<std::byte*>(workspace);
  }
  streams_.push_back(stream);
  own.push_back(StreamId{static_cast<std::uint32_t>(streams_.size() - 1)});
  return own.back();
}

EventId CudaStreams::make_event(EventUse use) {
  events_.push_back({use, std::vector<cudaEvent_t>(gpus_.size()), nullptr});
  return EventId{static_cast<std::uint32_t>(events_.size() - 1)};
}

void CudaStreams::record(EventId id, StreamId stream) {
  Event& event = events_[static_cast<std::size_t>(id)];
  event.gpu = at(stream).gpu;
  event.device = at(stream).device;
  event.sent = at(stream).sent;
  event.gpu->activate();
  cudaEvent_t& own = event.handles[place_of(*event.gpu)];
  const unsigned int flags = event.use == EventUse::kTime ? cudaEventDefault : cudaEventDisableTiming;
  if (own == nullptr) PLUMB_CUDA_CALL(cudaEventCreateWithFlags(&own, flags));
  PLUMB_CUDA_CALL(cudaEventRecord(own, at(stream).handle));
  count();
}

void CudaStreams::wait(StreamId stream, EventId id) {
  const Event& event = events_[static_cast<std::size_t>(id)];
  if (event.gpu == nullptr) return;
  at(stream).gpu->activate();
  PLUMB_CUDA_CALL(cudaStreamWaitEvent(at(stream).handle, handle(event), 0));
  count();
  if (event.sent == nullptr || event.device == at(stream).device) return;
  kernels::wait_since(event.sent, latency_ns(event.device, at(stream).device), at(stream).handle);
  count();
}

void CudaStreams::launch(StreamId id, Work work) {
  const Stream& stream = at(id);
  stream.gpu->activate();
  const std::string key = options_.graphs ? work.replay : std::string();
  if (!work.replay.empty()) ++passes_;
  if (work.waits) {
    count(Held::kHostWaits);
  } else if (graphs_.is_one_launch(key)) {
    count();
  } else {
    count(work.replay.empty() ? Held::kFewKernels : Held::kPass);
  }
  const std::string& name = instr_name_.empty() ? work.name : instr_name_;
  nvtxRangePushA(name.c_str());
  try {
    graphs_.run(key, stream.handle, work.run);
    check(cudaGetLastError(), work.name.c_str());
  } catch (...) {
    nvtxRangePop();
    throw;
  }
  nvtxRangePop();
}

void CudaStreams::fill(StreamId stream, std::span<std::byte> bytes, std::byte value) {
  at(stream).gpu->activate();
  PLUMB_CUDA_CALL(cudaMemsetAsync(bytes.data(), static_cast<int>(value), bytes.size(), at(stream).handle));
  count();
}

bool CudaStreams::is_seen_by_kernels(const std::byte* address) const {
  auto memory = memory_.upper_bound(address);
  return memory != memory_.begin() && address < std::prev(memory)->first + std::prev(memory)->second;
}

void CudaStreams::copy(StreamId stream, std::byte* to, std::span<const std::byte> from) {
  at(stream).gpu->activate();
  if (is_seen_by_kernels(to) && is_seen_by_kernels(from.data())) {
    kernels::copy_bytes(to, from.data(), static_cast<std::int64_t>(from.size()), at(stream).handle);
    return count();
  }
  open_gates();  // the host may have to wait for its own memory
  PLUMB_CUDA_CALL(cudaMemcpyAsync(to, from.data(), from.size(), cudaMemcpyDefault, at(stream).handle));
}

void CudaStreams::send(StreamId id, DeviceId peer, std::byte* to, std::span<const std::byte> from) {
  Stream& stream = at(id);
  stream.gpu->activate();
  count();
  if (place_of_gpu(peer) != place_of(*stream.gpu)) {
    PLUMB_CUDA_CALL(cudaMemcpyAsync(to, from.data(), from.size(), cudaMemcpyDefault, stream.handle));  // peer copy
    return;
  }
  if (!is_aligned(to, from.size()) || !is_aligned(from.data(), 0)) {
    return kernels::copy_bytes(to, from.data(), static_cast<std::int64_t>(from.size()), stream.handle);
  }
  kernels::link_copy({.to = to,
                      .from = from.data(),
                      .bytes = static_cast<std::int64_t>(from.size()),
                      .bytes_per_s = options_.link_bytes_per_s},
                     stream.handle);
  if (options_.link_latency_s <= 0) return;
  std::int64_t* sent = new_stamp(*stream.gpu);
  kernels::stamp(sent, stream.handle);
  stream.sent = sent;
  count();
}

std::int64_t CudaStreams::latency_ns(DeviceId from, DeviceId to) const {
  return place_of_gpu(from) == place_of_gpu(to) ? std::llround(options_.link_latency_s * 1e9) : 0;
}

std::int64_t* CudaStreams::new_stamp(const Gpu& gpu) {
  std::vector<std::int64_t*>& chunks = stamps_[place_of(gpu)];
  const std::size_t number = stamps_used_[place_of(gpu)]++;
  if (number == chunks.size() * kStampsOfChunk) {
    void* chunk = nullptr;
    PLUMB_CUDA_CALL(cudaMalloc(&chunk, kStampsOfChunk * sizeof(std::int64_t)));
    chunks.push_back(static_cast<std::int64_t*>(chunk));
  }
  return chunks[number / kStampsOfChunk] + number % kStampsOfChunk;
}

void CudaStreams::add(StreamId stream, NumberType type, std::span<std::byte> sum, std::span<const std::byte> term) {
  at(stream).gpu->activate();
  if (type == NumberType::kFloat64) throw Error("back end cuda: numbers float64; expected float32 or bf16");
  auto* to = reinterpret_cast<float*>(sum.data());
  const auto* from = reinterpret_cast<const float*>(term.data());
  kernels::add(to, from, static_cast<std::int64_t>(sum.size() / sizeof(float)), at(stream).handle);
  count();
}

std::byte* CudaStreams::allocate(DeviceId device, std::int64_t bytes) {
  gpus_[place_of_gpu(device)]->activate();
  void* storage = nullptr;
  PLUMB_CUDA_CALL(cudaMalloc(&storage, static_cast<std::size_t>(bytes)));
  memory_[static_cast<std::byte*>(storage)] = bytes;
  return static_cast<std::byte*>(storage);
}

void CudaStreams::free(DeviceId device, std::byte* storage) {
  memory_.erase(storage);
  if (abandoned_) return;
  open_gates();
  if (graphs_.size() > 0) gpus_[place_of_gpu(device)]->wait_for_streams();  // cudaFree does not
  cudaFree(storage);
}

std::byte* CudaStreams::allocate_shared(std::int64_t bytes) {
  void* storage = nullptr;
  PLUMB_CUDA_CALL(
      cudaHostAlloc(&storage, static_cast<std::size_t>(bytes), cudaHostAllocMapped | cudaHostAllocPortable));
  memory_[static_cast<std::byte*>(storage)] = bytes;
  return static_cast<std::byte*>(storage);
}

void CudaStreams::free_shared(std::byte* storage) {
  memory_.erase(storage);
  if (!abandoned_) cudaFreeHost(storage);
}

void CudaStreams::begin_instr(StreamId, std::uint32_t, const std::string& name) { instr_name_ = name; }

void CudaStreams::begin_part() {
  for (const auto& gpu : gpus_) {
    if (!checked_) gpu->check_streams();
    options_.graphs = options_.graphs && gpu->takes_graphs();
    gpu->restart_clock();
    gpu->close_gate();
  }
  for (Stream& stream : streams_) stream.sent = nullptr;
  std::ranges::fill(stamps_used_, 0);
  checked_ = true;
  held_.close();
}

/// Before the host would have to wait for them.
void CudaStreams::count(Held work) {
  if (held_.must_open(work)) open_gates();
}

void CudaStreams::open_gates() {
  for (const auto& gpu : gpus_) gpu->open_gate();
  held_.open();
}

bool CudaStreams::is_done(EventId id) {
  const Event& event = events_[static_cast<std::size_t>(id)];
  open_gates();
  for (const auto& gpu : gpus_) gpu->keep_time();
  if (event.gpu == nullptr) return true;
  const cudaError_t status = cudaEventQuery(handle(event));
  if (status == cudaErrorNotReady) {
    cudaGetLastError();  // no error, and not to be found by the next launch
    return false;
  }
  check(status, "cudaEventQuery");
  return true;
}

void CudaStreams::synchronize() {
  open_gates();
  for (const auto& gpu : gpus_) gpu->synchronize();
  if (!options_.product_table.empty()) tables_.front()->save(options_.product_table);
  attention_->save();
  convolutions_->save();
}

std::int64_t CudaStreams::time_ns(EventId id) {
  const Event& event = events_[static_cast<std::size_t>(id)];
  return event.gpu->time_ns(handle(event));
}

StreamPlace CudaStreams::place(StreamId id) const {
  const Stream& stream = streams_[static_cast<std::size_t>(id)];
  return {.stream = stream.handle,
          .gpu = stream.gpu->number(),
          .sms = stream.gpu->sms(),
          .product_workspace = stream.workspace,
          .product_workspace_bytes = stream.workspace == nullptr ? 0 : kWorkspaceBytes,
          .product_table = tables_[place_of(*stream.gpu)].get(),
          .attention = attention_->of(place_of(*stream.gpu)),
          .convolutions = convolutions_->of(place_of(*stream.gpu))};
}

std::string CudaStreams::description() const {
  std::string text;
  for (const auto& gpu : gpus_) text += (text.empty() ? "" : "; ") + gpu->description();
  if (graphs_.size() > 0) {
    text += "; " + std::to_string(graphs_.size()) + " op graphs, " + std::to_string(graphs_.replays()) +
            " replays of " + std::to_string(passes_) + " passes";
  }
  for (const std::string& answers : {attention_->description(), convolutions_->description()}) {
    if (!answers.empty()) text += "; " + answers;
  }
  if (!graphs_.refusal().empty()) text += "; without op graphs (" + graphs_.refusal() + ")";
  return text;
}

}  // namespace plumb::cuda
