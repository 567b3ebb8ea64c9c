#include "tests/support/synthetic_timeline.hpp"

#include <algorithm>
#include <vector>

namespace plumb::testing {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

/// Deterministic number in [-1, 1) from a counter (xorshift-multiply hash).
double jitter(std::uint64_t n) {
  n = (n + 1) * 0x9E3779B97F4A7C15U;
  n ^= n >> 31U;
  n *= 0xBF58476D1CE4E5B9U;
  n ^= n >> 29U;
  return static_cast<double>(n >> 11U) / static_cast<double>(std::uint64_t{1} << 52U) - 1;
}

class Synthesis {
 public:
  explicit Synthesis(const SyntheticRun& run) : run_(run) {
    const auto p = static_cast<std::size_t>(run.devices);
    const auto m = static_cast<std::size_t>(run.microbatches);
    done_.assign(2, std::vector<std::vector<Ticks>>(p, std::vector<Ticks>(m, -1)));
    free_.assign(p, 0);
    for (std::size_t d = 0; d < p; ++d) orders_.push_back(order(static_cast<int>(d)));
  }

  Timeline make() {
    std::vector<std::size_t> next(orders_.size(), 0);
    bool moved = true;
    while (moved) {
      moved = false;
      for (std::size_t d = 0; d < orders_.size(); ++d) {
        while (next[d] < orders_[d].size() && run(d, orders_[d][next[d]])) {
          ++next[d];
          moved = true;
        }
      }
    }
    return finish();
  }

 private:
  std::vector<Action> order(int device) const {
    std::vector<Action> list;
    const auto add = [&](Op op, int microbatch) {
      list.push_back({.stage = StageId(device), .microbatch = MicrobatchId(microbatch), .op = op});
    };
    const int warmup = run_.all_forwards_first ? run_.microbatches : std::min(run_.microbatches, run_.devices - device);
    int f = 0;
    int b = 0;
    while (f < warmup) add(Op::kF, f++);
    while (b < run_.microbatches) {
      add(Op::kB, b++);
      if (f < run_.microbatches) add(Op::kF, f++);
    }
    add(Op::kU, 0);
    return list;
  }

  Ticks duration(Op op, std::size_t device, std::int32_t microbatch) const {
    const Ticks base = op == Op::kF ? run_.forward_ns : op == Op::kB ? run_.backward_ns : run_.update_ns;
    const auto n = static_cast<std::uint64_t>(device * 1000003U) + static_cast<std::uint64_t>(microbatch) * 2 +
                   (op == Op::kF ? 0U : 1U);
    return base + static_cast<Ticks>(static_cast<double>(base) * run_.noise * jitter(n));
  }

  /// Runs `action` when what it reads is there.
  bool run(std::size_t device, const Action& action) {
    const auto m = index(action.microbatch);
    const bool backward = action.op == Op::kB;
    const std::size_t last = orders_.size() - 1;
    Ticks ready = 0;
    if (action.op != Op::kU && !(backward ? device == last : device == 0)) {
      const Ticks made = done_[backward ? 1 : 0][backward ? device + 1 : device - 1][m];
      if (made < 0) return false;
      ready = made + run_.transfer_ns;
    }
    const Ticks start = std::max(free_[device], ready);
    const Ticks end = start + duration(action.op, device, static_cast<std::int32_t>(action.microbatch));
    emit(device, action, start, end, ready);
    if (action.op != Op::kU) done_[backward ? 1 : 0][device][m] = end;
    if (run_.transfer_ns > 0 && action.op != Op::kU && !(backward ? device == 0 : device == last)) {
      Action send = action;
      send.op = backward ? Op::kSendB : Op::kSendF;
      timeline_.spans.push_back({.action = send,
                                 .device = DeviceId(static_cast<std::int32_t>(device)),
                                 .lane = Lane::kTransfer,
                                 .start = end,
                                 .end = end + run_.transfer_ns});
    }
    return true;
  }

  void emit(std::size_t device, const Action& action, Ticks start, Ticks end, Ticks ready) {
    const Ticks idle = start - free_[device];
    Span span{.action = action,
              .device = DeviceId(static_cast<std::int32_t>(device)),
              .start = start,
              .end = end,
              .idle_before = idle};
    span.waited_for = free_[device] == 0                          ? IdleCause::kWarmup
                      : ready - run_.transfer_ns <= free_[device] ? IdleCause::kTransferBandwidth
                                                                  : IdleCause::kCompute;
    timeline_.spans.push_back(span);
    free_[device] = end;
    timeline_.makespan = std::max(timeline_.makespan, end);
  }

  Timeline finish() {
    std::stable_sort(timeline_.spans.begin(), timeline_.spans.end(), [](const Span& a, const Span& b) {
      return a.device != b.device ? a.device < b.device : a.start < b.start;
    });
    timeline_.kind = run_.kind;
    timeline_.schedule = run_.name;
    timeline_.machine = "synthetic";
    timeline_.num_microbatches = run_.microbatches;
    timeline_.step_time = timeline_.makespan;
    timeline_.devices.resize(orders_.size());
    for (const Span& span : timeline_.spans) count(span);
    for (std::size_t d = 0; d < orders_.size(); ++d) close(d);
    const double total = static_cast<double>(timeline_.makespan) * static_cast<double>(orders_.size());
    timeline_.utilization = static_cast<double>(busy_) / total;
    timeline_.bubble_fraction = 1 - timeline_.utilization;
    timeline_.bubble_rate = timeline_.bubble_fraction;
    timeline_.samples_per_s = static_cast<double>(run_.microbatches) * 4e9 / static_cast<double>(timeline_.makespan);
    return std::move(timeline_);
  }

  void count(const Span& span) {
    if (span.lane != Lane::kCompute) return;
    DeviceSummary& device = timeline_.devices[index(span.device)];
    if (device.busy == 0) device.first_start = span.start;
    device.busy += span.end - span.start;
    device.useful = device.busy;
    device.last_end = span.end;
    device.idle_causes[static_cast<std::size_t>(span.waited_for)] += span.idle_before;
    busy_ += span.end - span.start;
  }

  void close(std::size_t d) {
    DeviceSummary& device = timeline_.devices[d];
    device.idle = timeline_.makespan - device.busy;
    device.idle_causes[static_cast<std::size_t>(IdleCause::kDrain)] += timeline_.makespan - device.last_end;
    timeline_.longest_device_span = std::max(timeline_.longest_device_span, device.last_end - device.first_start);
    remember(d);
  }

  /// Weights, gradients and optimizer state all the time, a stash from each forward to its backward.
  void remember(std::size_t d) {
    DeviceSummary& device = timeline_.devices[d];
    const DeviceId id{static_cast<std::int32_t>(d)};
    MemoryByClass now{};
    const auto change = [&](Ticks time, MemoryClass cls, std::int64_t bytes) {
      const auto c = static_cast<std::size_t>(cls);
      now[c] += bytes;
      timeline_.memory.points.emplace_back(time, cls, now[c]);
      std::int64_t total = 0;
      for (const std::int64_t part : now) total += part;
      if (total <= device.peak_memory_bytes) return;
      device.peak_memory_bytes = total;
      device.peak_memory_by_class = now;
    };
    change(0, MemoryClass::kWeights, 256 * kMiB);
    change(0, MemoryClass::kGradients, 256 * kMiB);
    change(0, MemoryClass::kOptimizer, 512 * kMiB);
    std::int64_t alive = 0;
    for (const Span& span : timeline_.spans) {
      if (span.device != id || span.lane != Lane::kCompute || span.action.op == Op::kU) continue;
      const bool forward = span.action.op == Op::kF;
      change(span.start, MemoryClass::kWorkspace, 24 * kMiB);
      if (forward) change(span.start, MemoryClass::kKeptForInputGrad, 96 * kMiB);
      if (forward) change(span.start, MemoryClass::kKeptForWeightGrad, 48 * kMiB);
      if (!forward) change(span.end, MemoryClass::kKeptForInputGrad, -96 * kMiB);
      if (!forward) change(span.end, MemoryClass::kKeptForWeightGrad, -48 * kMiB);
      change(span.end, MemoryClass::kWorkspace, -24 * kMiB);
      alive += forward ? 1 : -1;
      device.peak_activations = std::max(device.peak_activations, static_cast<double>(alive));
    }
    timeline_.memory.ends.push_back(timeline_.memory.points.size());
    device.peak_tensors = {
        {MemoryClass::kWeights, StageId(static_cast<std::int32_t>(d)), "all weights", 256 * kMiB, {}},
        {MemoryClass::kKeptForInputGrad,
         StageId(static_cast<std::int32_t>(d)),
         "layer0.attention.probabilities",
         64 * kMiB,
         {0, 1, 2}},
        {MemoryClass::kKeptForWeightGrad,
         StageId(static_cast<std::int32_t>(d)),
         "layer0.mlp.in",
         48 * kMiB,
         {0, 1, 2}}};
  }

  SyntheticRun run_;
  Timeline timeline_;
  std::vector<std::vector<Action>> orders_;
  std::vector<std::vector<std::vector<Ticks>>> done_;  ///< [backward][device][microbatch]
  std::vector<Ticks> free_;
  Ticks busy_ = 0;
};

}  // namespace

Timeline synthetic_timeline(const SyntheticRun& run) { return Synthesis(run).make(); }

}  // namespace plumb::testing
