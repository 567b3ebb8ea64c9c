#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trainer/cuda/event_clock.hpp"
#include "trainer/cuda/green_partition.hpp"
#include "trainer/cuda/partition_check.hpp"
#include "trainer/streams/stream_machine.hpp"

namespace plumb::cuda {

class OpGraphs;

/// One GPU and the virtual devices that it carries: the streams of each, the clock of its events, and the gate that
/// holds its streams until a step has been asked for.
///
/// How it is cut: one device has all of it; several have green contexts; where the driver has none, or refuses to make
/// or use them, they share all multiprocessors, and matrix products are told how many they may use ("soft").
class Gpu {
 public:
  Gpu(int number, int devices, const StreamOptions& options);
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;
  ~Gpu();

  int number() const { return number_; }
  const std::string& name() const { return name_; }
  /// CUDA calls of this thread are for this GPU from now on.
  void activate() const;
  /// Waits for everything that was launched on its streams, graphs too. Throws `Error` when something of it failed.
  void synchronize() const;
  /// Waits for all streams, and returns the first failure.
  cudaError_t wait_for_streams() const;
  /// `local`: of its virtual devices.
  cudaStream_t make_stream(int local, StreamKind kind);
  /// Multiprocessors of a virtual device; 0: all.
  int sms() const { return sms_; }
  bool is_shared() const { return devices_ > 1; }

  /// Streams behave as they should: throws `Error` when virtual devices share multiprocessors. Once, before the first
  /// work.
  void check_streams();

  /// Returns whether work that is replayed stays on its multiprocessors. Known after `check_streams`.
  bool takes_graphs() const { return takes_graphs_; }

  /// A moment from which the times of the following events are counted. Nothing runs.
  void restart_clock();
  std::int64_t time_ns(cudaEvent_t event) const { return clock_.time_ns(event); }
  /// Call now and then while work is under way and the gate is open, so that times stay exact in long runs.
  void keep_time();

  /// All streams wait from now on, until the gate is opened.
  void close_gate();
  void open_gate();

  /// "NVIDIA H200: 8 virtual devices of 8 SMs (0-7; 8-15; ...), copies 8 SMs (64-71), 1980 MHz".
  std::string description() const;

 private:
  struct OwnStream {
    cudaStream_t stream = nullptr;
    int part = 0;
    StreamKind kind{};
    bool owned = false;
  };

  void cut(const StreamOptions& options);
  void share_all(const StreamOptions& options, const std::string& reason);
  void try_part();
  SeenMultiprocessors look(const OwnStream& stream, OpGraphs* graphs) const;
  void check_places();
  void check_graphs();
  void check_concurrency();
  void read_clock();
  cudaEvent_t new_anchor();
  int sms_of(int part) const;

  int number_;
  int devices_;
  int all_sms_ = 0;
  int sms_ = 0;
  std::string name_;
  std::string cut_text_ = "undivided";
  std::string places_text_;
  bool takes_graphs_ = true;
  double clock_hz_ = 0;
  std::unique_ptr<GreenPartition> partition_;
  std::vector<OwnStream> streams_;
  cudaStream_t gate_stream_ = nullptr;
  volatile unsigned int* gate_ = nullptr;  ///< in memory that the GPU sees, too
  cudaEvent_t gate_event_ = nullptr;
  std::vector<cudaEvent_t> anchors_;  ///< anchors of the clock
  EventClock<cudaEvent_t> clock_;
  std::int64_t anchored_ns_ = 0;  ///< when the last anchor was set, by `RunClock::steady_ns`
};

}  // namespace plumb::cuda
