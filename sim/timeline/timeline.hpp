#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/costs/memory_class.hpp"
#include "models/ground/units.hpp"
#include "schedules/document/action.hpp"
#include "schedules/program/send_buffers.hpp"
#include "schedules/versions/delays.hpp"
#include "sim/timeline/memory_curves.hpp"
#include "sim/timeline/memory_need.hpp"
#include "sim/timeline/stash_curves.hpp"
#include "sim/timeline/steady_updates.hpp"
#include "sim/timeline/traced_facts.hpp"

namespace plumb {

/// Why a device was idle. The causes of a device add up to its idle time exactly.
enum class IdleCause : std::uint8_t {
  kWarmup,             ///< before the device's first action
  kDrain,              ///< after the device's last action
  kCompute,            ///< another device still computes what is needed
  kTransferLatency,    ///< the message is on its way
  kTransferBandwidth,  ///< the message is being sent
  kTransferQueue,      ///< the message is queued after another one, or waits for the receive to be posted
  kCollective,         ///< a collective or update
  kMemory,             ///< a copy to or from another memory (EVICT, LOAD), or a memory limit
  kOverhead,           ///< the runtime itself: its host, calls that send and receive
  kUnknown,            ///< a device of which nothing is known (a rank whose trace is missing)
};

inline constexpr std::size_t kIdleCauseCount = 10;
inline constexpr std::array<std::string_view, kIdleCauseCount> kIdleCauseNames{
    "warmup",         "drain",      "compute", "transfer_latency", "transfer_bandwidth",
    "transfer_queue", "collective", "memory",  "overhead",         "unknown"};

/// What a span occupies; the rows of a device in a picture.
enum class Lane : std::uint8_t { kCompute, kTransfer, kCollective };

/// One executed action. A transfer belongs to the sending device, with the op SEND_F or SEND_B.
struct Span {
  Action action;
  DeviceId device{};
  Lane lane = Lane::kCompute;
  IdleCause waited_for = IdleCause::kCompute;  ///< main cause of the idle time just before it, when there was any
  Ticks start = 0;
  Ticks end = 0;
  Ticks idle_before = 0;  ///< compute lane: idle time between the previous action and this one

  friend bool operator==(const Span&, const Span&) = default;
};

/// A tensor that is alive on a device at its memory peak, and for which microbatches.
struct PeakTensor {
  MemoryClass cls{};
  StageId stage{};
  std::string name;
  std::int64_t bytes = 0;  ///< bytes of one microbatch's tensor
  std::vector<std::int64_t> microbatches;

  friend bool operator==(const PeakTensor&, const PeakTensor&) = default;
};

struct DeviceSummary {
  Ticks busy = 0;
  Ticks useful = 0;  ///< busy without recompute and extra work
  Ticks slowed = 0;  ///< part of busy that contention added (simulated runs)
  Ticks idle = 0;
  std::array<Ticks, kIdleCauseCount> idle_causes{};
  Ticks first_start = 0;
  Ticks last_end = 0;
  std::int64_t peak_memory_bytes = 0;
  MemoryByClass peak_memory_by_class{};  ///< at the moment of the peak
  double peak_activations = 0;           ///< stashes of one stage and microbatch, or abstract memory units
  std::vector<PeakTensor> peak_tensors;  ///< composition of the peak, when asked for
  std::optional<MemoryNeed> need = {};   ///< of a job whose device rates say what is needed beside tensors
  bool known = true;                     ///< false: nobody recorded what it did (measured runs); no figure counts it

  friend bool operator==(const DeviceSummary&, const DeviceSummary&) = default;
};

/// How much of the critical path one kind of action ("F", "W", "F+B") or cause ("transfer_latency") makes up. When all
/// actions of the kind became a small share x faster, the makespan would fall by x times `ticks` (less where another
/// path is as long).
struct CriticalShare {
  std::string kind;
  Ticks ticks = 0;

  friend bool operator==(const CriticalShare&, const CriticalShare&) = default;
};

/// What is known of an order that was searched: its longest device span, and one that no order can beat, with the costs
/// that the search was given.
struct SearchedSpan {
  Ticks found = 0;
  Ticks bound = 0;

  friend bool operator==(const SearchedSpan&, const SearchedSpan&) = default;
};

/// One run of a schedule, simulated or measured; nothing else distinguishes the two. sim/SPECIFICATION.md defines
/// the figures.
struct Timeline {
  enum class Kind : std::uint8_t { kSimulated, kMeasured };

  Kind kind = Kind::kSimulated;
  std::string schedule;  ///< name of the schedule
  std::string machine;   ///< description of the machine (measured) or of the costs (simulated)
  Timebase base;
  std::int64_t num_microbatches = 0;
  std::int64_t updates = 1;
  bool asynchronous = false;  ///< updates need not wait for the pipeline to drain

  Ticks makespan = 0;
  Ticks step_time = 0;
  bool steady = false;  ///< of an asynchronous run: step time and utilization are those of steady updates ...
  std::optional<SteadyUpdates> steady_updates;  ///< ... namely of these; empty in a summary
  Ticks longest_device_span = 0;
  double bubble_fraction = 0;
  double bubble_rate = 0;
  double utilization = 0;
  std::optional<double> samples_per_s;
  std::optional<double> tokens_per_s;
  std::optional<double> model_flops_utilization;
  /// FLOPs of the model on every device of the cluster, without what is computed again, in 10^12 a second.
  std::optional<double> tflops_per_device;
  std::optional<SearchedSpan> search;  ///< of one update of an order that was searched for this simulation

  /// Where the program could not keep the number of send buffers that was asked for.
  std::optional<SendBuffers> send_buffers;
  std::optional<TracedFacts> traced;  ///< of a real run that was read from its traces

  std::vector<DeviceSummary> devices;
  /// Largest first, adding up to the makespan; empty in a summary and in a measured run.
  std::vector<CriticalShare> critical_path;
  std::vector<StageDelays> delays;  ///< how stale weights are; empty when not asked for (`stage_delays`)
  std::vector<Span> spans;          ///< by device, then start; empty in a summary
  MemoryCurves memory;              ///< empty in a summary
  StashCurves stashes;              ///< empty unless asked for

  friend bool operator==(const Timeline&, const Timeline&) = default;
};

}  // namespace plumb
