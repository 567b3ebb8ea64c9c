#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "trainer/cuda/dnn_attention.hpp"
#include "trainer/cuda/dnn_convolution.hpp"
#include "trainer/cuda/dnn_on_gpus.hpp"
#include "trainer/cuda/gpu.hpp"
#include "trainer/cuda/held_work.hpp"
#include "trainer/cuda/op_graphs.hpp"
#include "trainer/cuda/product_plan.hpp"
#include "trainer/streams/stream_machine.hpp"

namespace plumb::cuda {

/// The streams of real GPUs. Devices of a schedule are dealt out to the GPUs, neighbours together; those of one GPU are
/// virtual (`Gpu`). Messages within a GPU go by a kernel that keeps to the link's bandwidth; its latency is waited for
/// by whoever waits for the message, so that the next one may follow at once. Those between GPUs go by peer copies.
class CudaStreams : public StreamMachine {
 public:
  /// Throws `Error` "no CUDA device (...)" where there is none.
  explicit CudaStreams(const StreamOptions& options);
  ~CudaStreams() override;

  StreamId make_stream(DeviceId device, StreamKind kind) override;
  EventId make_event(EventUse use) override;
  void record(EventId event, StreamId stream) override;
  void wait(StreamId stream, EventId event) override;
  void launch(StreamId stream, Work work) override;
  void fill(StreamId stream, std::span<std::byte> bytes, std::byte value) override;
  void copy(StreamId stream, std::byte* to, std::span<const std::byte> from) override;
  void send(StreamId stream, DeviceId peer, std::byte* to, std::span<const std::byte> from) override;
  std::int64_t latency_ns(DeviceId from, DeviceId to) const override;
  void add(StreamId stream, NumberType type, std::span<std::byte> sum, std::span<const std::byte> term) override;
  std::byte* allocate(DeviceId device, std::int64_t bytes) override;
  void free(DeviceId device, std::byte* storage) override;
  std::byte* allocate_shared(std::int64_t bytes) override;
  void free_shared(std::byte* storage) override;
  bool host_reads_devices() const override { return false; }
  void begin_instr(StreamId stream, std::uint32_t instr, const std::string& name) override;
  void begin_part() override;
  bool is_done(EventId event) override;
  void synchronize() override;
  std::int64_t time_ns(EventId event) override;
  void abandon() override { abandoned_ = true; }
  StreamPlace place(StreamId stream) const override;
  std::string description() const override;

 private:
  struct Stream {
    cudaStream_t handle = nullptr;
    Gpu* gpu = nullptr;
    DeviceId device{};
    std::byte* workspace = nullptr;
    const std::int64_t* sent = nullptr;  ///< stamp of its last message by a link with latency
  };
  struct Event {
    EventUse use{};
    std::vector<cudaEvent_t> handles;  ///< by GPU; null: never recorded there
    const Gpu* gpu = nullptr;          ///< where it was recorded last
    DeviceId device{};                 ///< device whose stream recorded it last
    const std::int64_t* sent = nullptr;
  };

  Stream& at(StreamId id) { return streams_[static_cast<std::size_t>(id)]; }
  cudaEvent_t handle(const Event& event) const { return event.handles[place_of(*event.gpu)]; }
  /// Returns the number of `device` among the devices of this process.
  std::size_t local_number(DeviceId device) const {
    return index(device) - static_cast<std::size_t>(options_.first_device);
  }
  // Into `gpus_`.
  std::size_t place_of_gpu(DeviceId device) const {
    return local_number(device) * gpus() / static_cast<std::size_t>(options_.devices);
  }
  std::size_t place_of(const Gpu& gpu) const { return static_cast<std::size_t>(gpu.number() - options_.first_gpu); }
  std::size_t gpus() const { return static_cast<std::size_t>(options_.gpus); }
  bool is_seen_by_kernels(const std::byte* address) const;
  void count(Held work = Held::kCall);
  void open_gates();
  std::int64_t* new_stamp(const Gpu& gpu);

  StreamOptions options_;
  std::vector<std::unique_ptr<Gpu>> gpus_;
  std::vector<Stream> streams_;
  std::vector<std::vector<StreamId>> of_device_;  ///< by device
  std::vector<Event> events_;
  std::map<const std::byte*, std::int64_t> memory_;    ///< bytes of devices' memory, and of what they share
  std::vector<std::shared_ptr<ProductTable>> tables_;  ///< tables of the products, by GPU
  std::unique_ptr<DnnOnGpus<DnnAttention>> attention_;
  std::unique_ptr<DnnOnGpus<DnnConvolution>> convolutions_;
  std::vector<std::vector<std::int64_t*>> stamps_;  ///< by GPU: chunks, used from part to part
  std::vector<std::size_t> stamps_used_;            ///< by GPU
  OpGraphs graphs_;
  std::int64_t passes_ = 0;  ///< launched, replayed or not
  std::string instr_name_;
  HeldWork held_;
  bool checked_ = false;
  bool abandoned_ = false;
};

}  // namespace plumb::cuda
