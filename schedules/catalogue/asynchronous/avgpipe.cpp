#include <algorithm>
#include <string>

#include "schedules/catalogue/generator.hpp"

namespace plumb {
namespace {

constexpr std::string_view kAvgPipe = "avgpipe";
constexpr std::int64_t kMostCopies = std::int64_t{1} << 20;  ///< of stages

/// One device of `avgpipe`. Microbatches come in batches of `batch`, one for each pipeline in turn.
class AvgPipeDevice {
 public:
  AvgPipeDevice(StageId stage, std::int64_t pipelines, std::int64_t batch, std::int64_t warmup)
      : stage_(stage), pipelines_(pipelines), batch_(batch), warmup_(warmup) {}

  /// A period is a batch of every pipeline; the first and the last one differ from those between.
  DeviceList write(std::int64_t updates) {
    const std::int64_t period = pipelines_ * batch_;
    all_ = updates * period;
    turns(0, period);
    const Advance next{.microbatch = static_cast<std::int32_t>(period), .update = 1};
    list_.repeat(updates - 2, next, [&] { turns(period, 2 * period); });
    if (updates > 1) turns((updates - 1) * period, all_);
    return list_.take();
  }

 private:
  std::int64_t batch_end(std::int64_t microbatch) const { return (microbatch / batch_ + 1) * batch_; }

  /// Where the forwards end that may stand before backward `b`: those of a batch wait for the update of its pipeline.
  std::int64_t open_before(std::int64_t b) const { return std::min((b / batch_ + pipelines_) * batch_, all_); }

  /// Forwards that stand before backward `b`.
  std::int64_t forwards_before(std::int64_t b) const { return b < 0 ? 0 : std::min(b + 1 + warmup_, open_before(b)); }

  /// Backwards [begin, end) with what stands between them.
  void turns(std::int64_t begin, std::int64_t end) {
    while (begin < end) {
      const std::int64_t f = forwards_before(begin - 1);
      const std::int64_t more = forwards_before(begin) - f;
      std::int64_t stop = begin + 1;
      if (more == 0) stop = batch_end(begin);
      if (more == 1) {
        const std::int64_t turns = std::min(batch_end(f) - f, open_before(begin) - warmup_ - begin);
        stop = std::min(batch_end(begin), begin + std::max<std::int64_t>(turns, 1));
      }
      if (more > 1) forwards(f, f + more);
      list_.each(stop - begin, [&] {
        if (more == 1) list_.add(stage_, Op::kF, f, owner(f));
        list_.add(stage_, Op::kB, begin, owner(begin));
      });
      if (stop % batch_ == 0) list_.add(stage_, Op::kU, (stop - 1) / (pipelines_ * batch_), owner(stop - 1));
      begin = stop;
    }
  }

  void forwards(std::int64_t begin, std::int64_t end) {
    while (begin < end) {
      const std::int64_t stop = std::min(batch_end(begin), end);
      list_.each(stop - begin, [&] { list_.add(stage_, Op::kF, begin, owner(begin)); });
      begin = stop;
    }
  }

  ReplicaId owner(std::int64_t microbatch) const {
    return ReplicaId{static_cast<std::int16_t>(microbatch / batch_ % pipelines_)};
  }

  StageId stage_;
  std::int64_t pipelines_;
  std::int64_t batch_;
  std::int64_t warmup_;
  std::int64_t all_ = 0;
  ListBuilder list_;
};

}  // namespace

/// Several pipelines, each with its own copy of the model, share the devices; each is flushed for its own update while
/// the others keep the devices busy. Batches of m / pipelines microbatches go to the pipelines in turn, 1F1B within and
/// across them; a copy's first forward waits for its update. `pipelines=N` (default 2). AvgPipeDevice d runs p - 1 - d
/// forwards ahead; with `warmup=advance` 2(p - 1 - d) (advance forward propagation, as far as the paper's figure goes;
/// it hides transfers, and wants batches as long). Copies are held together by elastic averaging with a reference
/// model (method elastic), which is part of the update and on the same device: no message, and nobody waits. m a
/// multiple of N. AvgPipeDevice d keeps its forwards ahead + 1 activations, and N copies. (AvgPipe, PPoPP 2023; the
/// order of its pipelines on a device is ours, the paper leaves it to the GPU)
///
///   p = 2, m = 4, 2 updates, warmup=1f1b (1: is the second pipeline)
///   d0: 0F0 0F1 0B0 1:0F2 0B1 0U0 1:0F3 1:0B2 0F4 1:0B3 1:0U0 0F5 0B4 1:0F6 0B5 0U1 1:0F7 1:0B6 1:0B7 1:0U1
///   d1: 1F0 1B0 1F1 1B1 1U0 1:1F2 1:1B2 1:1F3 1:1B3 1:1U0 1F4 1B4 1F5 1B5 1U1 1:1F6 1:1B6 1:1F7 1:1B7 1:1U1
Schedule avgpipe(const ScheduleParams& params) {
  require_one_chunk(kAvgPipe, params);
  const std::int64_t pipelines = whole_number(kAvgPipe, params, "pipelines", 2);
  const std::string warmup = choice(kAvgPipe, params, "warmup", {"1f1b", "advance"});
  const std::int64_t m = params.num_microbatches;
  const std::int64_t most = std::min<std::int64_t>(kMostCopies / params.num_devices, 1024);
  require(pipelines <= most, kAvgPipe,
          "pipelines (" + std::to_string(pipelines) + ") must be at most " + std::to_string(most));
  require(m % pipelines == 0, kAvgPipe,
          "num_microbatches (" + std::to_string(m) + ") must be a multiple of pipelines (" + std::to_string(pipelines) +
              ")");
  const std::int64_t updates = updates_or(params, std::clamp<std::int64_t>(kMostMicrobatches / m, 1, 8));
  Schedule schedule = looped_schedule(kAvgPipe, params, 1, updates);
  schedule.parameters["updates"] = updates;
  schedule.parameters["pipelines"] = pipelines;
  schedule.parameters["warmup"] = warmup;
  schedule.weights.policy = WeightPolicy::kLatest;
  if (pipelines > 1) schedule.weights.methods = {{"elastic", {}}};
  schedule.placement.resize(static_cast<std::size_t>(pipelines), std::vector(schedule.placement[0]));
  schedule.reduce_groups = {{}};
  for (std::int32_t d = 0; d < params.num_devices; ++d) {
    const std::int64_t ahead = params.num_devices - 1 - d;
    AvgPipeDevice device(StageId{d}, pipelines, m / pipelines, warmup == "advance" ? 2 * ahead : ahead);
    schedule.devices.push_back(device.write(updates));
  }
  return schedule;
}

}  // namespace plumb
