#include "trainer/cuda/cuda_streams.hpp"

#include <cstdint>
#include <cstdlib>
#include <utility>

#include <nvtx3/nvToolsExt.h>

#include "models/error.hpp"
#include "trainer/cuda/cuda_call.hpp"
#include "trainer/cuda/kernels/blocks.hpp"
#include "trainer/cuda/kernels/probes.hpp"
#include "trainer/cuda_devices.hpp"

namespace plumb::cuda {
namespace {

constexpr std::int64_t kWorkspaceBytes = 32 << 20;  ///< what cuBLASLt wants on Hopper
constexpr int kMostStreams = 32;                    ///< hardware queues of a GPU
/// A stream takes about a thousand launches before the host must wait for it, which it must not do in front of a gate.
constexpr int kMostHeldLaunches = 500;
constexpr std::uintptr_t kLinkAlignment = 16;

bool is_aligned(const std::byte* address, std::size_t bytes) {
  return (reinterpret_cast<std::uintptr_t>(address) | bytes) % kLinkAlignment == 0;
}

}  // namespace

CudaStreams::CudaStreams(const StreamOptions& options) : options_(options) {
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);  // NOLINT(concurrency-mt-unsafe): before the first CUDA call
  const CudaDevices found = cuda_devices();
  if (found.names.empty()) throw Error(found.reason);
  const auto count = static_cast<int>(found.names.size());
  if (options.gpus < 1 || options.gpus > count) {
    throw Error("--gpus " + std::to_string(options.gpus) + "; expected 1 to " + std::to_string(count));
  }
  options_.gpus = std::min(options.gpus, options.devices);
  std::vector<int> devices(static_cast<std::size_t>(options_.gpus));
  for (std::int32_t device = 0; device < options.devices; ++device) {
    ++devices[static_cast<std::size_t>(gpu_number(DeviceId{device}))];
  }
  for (int gpu = 0; gpu < options_.gpus; ++gpu) {
    gpus_.push_back(std::make_unique<Gpu>(gpu, devices[static_cast<std::size_t>(gpu)], options));
  }
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
    return;
  }
  for (const Stream& stream : streams_) cudaFree(stream.workspace);
  for (const Event& event : events_) {
    for (const cudaEvent_t handle : event.handles) {
      if (handle != nullptr) cudaEventDestroy(handle);
    }
  }
}

StreamId CudaStreams::make_stream(DeviceId device, StreamKind kind) {
  of_device_.resize(static_cast<std::size_t>(options_.devices));
  std::vector<StreamId>& own = of_device_[index(device)];
  const int per_device = 3 * options_.devices > kMostStreams * options_.gpus ? 2 : 3;
  if (static_cast<int>(own.size()) == per_device) return own.back();
  Gpu& gpu = *gpus_[static_cast<std::size_t>(gpu_number(device))];
  int local = 0;
  while (gpu_number(DeviceId{static_cast<std::int32_t>(index(device)) - local - 1}) == gpu.number() &&
         local < static_cast<int>(index(device))) {
    ++local;
  }
  Stream stream{gpu.make_stream(local, kind), &gpu, nullptr};
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
  event.gpu->activate();
  cudaEvent_t& own = event.handles[static_cast<std::size_t>(event.gpu->number())];
  const unsigned int flags = event.use == EventUse::kTime ? cudaEventDefault : cudaEventDisableTiming;
  if (own == nullptr) PLUMB_CUDA_CALL(cudaEventCreateWithFlags(&own, flags));
  PLUMB_CUDA_CALL(cudaEventRecord(own, at(stream).handle));
  count_launch();
}

void CudaStreams::wait(StreamId stream, EventId id) {
  const Event& event = events_[static_cast<std::size_t>(id)];
  if (event.gpu == nullptr) return;
  at(stream).gpu->activate();
  PLUMB_CUDA_CALL(cudaStreamWaitEvent(at(stream).handle, handle(event), 0));
  count_launch();
}

void CudaStreams::launch(StreamId id, Work work) {
  const Stream& stream = at(id);
  stream.gpu->activate();
  const std::string& name = instr_name_.empty() ? work.name : instr_name_;
  nvtxRangePushA(name.c_str());
  try {
    graphs_.run(options_.graphs ? work.replay : std::string(), stream.handle, work.run);
    check(cudaGetLastError(), work.name.c_str());
  } catch (...) {
    nvtxRangePop();
    throw;
  }
  nvtxRangePop();
  count_launch();
}

void CudaStreams::fill(StreamId stream, std::span<std::byte> bytes, std::byte value) {
  at(stream).gpu->activate();
  PLUMB_CUDA_CALL(cudaMemsetAsync(bytes.data(), static_cast<int>(value), bytes.size(), at(stream).handle));
  count_launch();
}

bool CudaStreams::is_on_device(const std::byte* address) const {
  auto memory = memory_.upper_bound(address);
  return memory != memory_.begin() && address < std::prev(memory)->first + std::prev(memory)->second;
}

void CudaStreams::copy(StreamId stream, std::byte* to, std::span<const std::byte> from) {
  at(stream).gpu->activate();
  if (is_on_device(to) && is_on_device(from.data())) {
    kernels::copy_bytes(to, from.data(), static_cast<std::int64_t>(from.size()), at(stream).handle);
    return count_launch();
  }
  for (const auto& gpu : gpus_) gpu->open_gate();  // the host may have to wait for its own memory
  held_launches_ = -1;
  PLUMB_CUDA_CALL(cudaMemcpyAsync(to, from.data(), from.size(), cudaMemcpyDefault, at(stream).handle));
}

void CudaStreams::send(StreamId id, DeviceId peer, std::byte* to, std::span<const std::byte> from) {
  const Stream& stream = at(id);
  stream.gpu->activate();
  count_launch();
  if (gpu_number(peer) != stream.gpu->number()) {
    PLUMB_CUDA_CALL(cudaMemcpyAsync(to, from.data(), from.size(), cudaMemcpyDefault, stream.handle));  // peer copy
    return;
  }
  if (!is_aligned(to, from.size()) || !is_aligned(from.data(), 0)) {
    return kernels::copy_bytes(to, from.data(), static_cast<std::int64_t>(from.size()), stream.handle);
  }
  kernels::link_copy({.to = to,
                      .from = from.data(),
                      .bytes = static_cast<std::int64_t>(from.size()),
                      .latency_ns = static_cast<std::int64_t>(options_.link_latency_s * 1e9),
                      .bytes_per_s = options_.link_bytes_per_s},
                     stream.handle);
}

void CudaStreams::add(StreamId stream, NumberType type, std::span<std::byte> sum, std::span<const std::byte> term) {
  at(stream).gpu->activate();
  if (type == NumberType::kFloat64) throw Error("back end cuda: numbers float64; expected float32 or bfloat16");
  auto* to = reinterpret_cast<float*>(sum.data());
  const auto* from = reinterpret_cast<const float*>(term.data());
  kernels::add(to, from, static_cast<std::int64_t>(sum.size() / sizeof(float)), at(stream).handle);
  count_launch();
}

std::byte* CudaStreams::allocate(DeviceId device, std::int64_t bytes) {
  gpus_[static_cast<std::size_t>(gpu_number(device))]->activate();
  void* storage = nullptr;
  PLUMB_CUDA_CALL(cudaMalloc(&storage, static_cast<std::size_t>(bytes)));
  memory_[static_cast<std::byte*>(storage)] = bytes;
  return static_cast<std::byte*>(storage);
}

void CudaStreams::free(DeviceId, std::byte* storage) {
  memory_.erase(storage);
  if (abandoned_) return;
  for (const auto& gpu : gpus_) gpu->open_gate();
  cudaFree(storage);
}

std::byte* CudaStreams::allocate_shared(std::int64_t bytes) {
  void* storage = nullptr;
  PLUMB_CUDA_CALL(
      cudaHostAlloc(&storage, static_cast<std::size_t>(bytes), cudaHostAllocMapped | cudaHostAllocPortable));
  return static_cast<std::byte*>(storage);
}

void CudaStreams::free_shared(std::byte* storage) {
  if (!abandoned_) cudaFreeHost(storage);
}

void CudaStreams::begin_instr(StreamId, std::uint32_t, const std::string& name) { instr_name_ = name; }

void CudaStreams::begin_part() {
  for (const auto& gpu : gpus_) {
    if (!checked_) gpu->check_streams();
    gpu->restart_clock();
    gpu->close_gate();
  }
  checked_ = true;
  held_launches_ = 0;
}

/// Opens the gates before the host would have to wait in front of them.
void CudaStreams::count_launch() {
  if (held_launches_ < 0 || ++held_launches_ < kMostHeldLaunches) return;
  for (const auto& gpu : gpus_) gpu->open_gate();
  held_launches_ = -1;
}

bool CudaStreams::is_done(EventId id) {
  const Event& event = events_[static_cast<std::size_t>(id)];
  for (const auto& gpu : gpus_) gpu->open_gate();
  held_launches_ = -1;
  if (event.gpu == nullptr) return true;
  const cudaError_t status = cudaEventQuery(handle(event));
  if (status == cudaErrorNotReady) return false;
  check(status, "cudaEventQuery");
  return true;
}

void CudaStreams::synchronize() {
  for (const auto& gpu : gpus_) gpu->open_gate();
  held_launches_ = -1;
  for (const auto& gpu : gpus_) {
    gpu->activate();
    PLUMB_CUDA_CALL(cudaDeviceSynchronize());
  }
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
          .product_workspace_bytes = stream.workspace == nullptr ? 0 : kWorkspaceBytes};
}

std::string CudaStreams::description() const {
  std::string text;
  for (const auto& gpu : gpus_) text += (text.empty() ? "" : "; ") + gpu->description();
  return text;
}

}  // namespace plumb::cuda
