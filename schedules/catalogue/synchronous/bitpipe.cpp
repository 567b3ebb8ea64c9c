#include <algorithm>
#include <array>
#include <vector>

#include "schedules/catalogue/generator.hpp"

namespace plumb {
namespace {

/// One chunk that a device runs on one microbatch of a round (p microbatches, half of them in each direction).
struct ChunkUnit {
  StageId stage{};
  ReplicaId replica{};
  std::int64_t microbatch = 0;
};

/// The order in which a device takes the forwards and the backwards of a round. Lists by number: 0 down, first chunk;
/// 1 up, first chunk; 2 down, second chunk; 3 up, second chunk.
class RoundOrder {
 public:
  RoundOrder(std::int32_t p, std::int32_t device)
      : p_(p),
        half_(p / 2),
        device_(device),
        near_(device / half_),
        far_(1 - near_),
        alone_(device < half_ ? half_ - device : device - half_ + 1) {}

  std::vector<ChunkUnit> forwards() const {
    return in_order({{{near_, 0}, {far_, near_}, {far_, 3 - near_}, {2 + near_, 3 - near_}, {2 + near_, -1}}});
  }
  std::vector<ChunkUnit> backwards() const {
    return in_order({{{2 + near_, 0}, {3 - near_, 2 + near_}, {3 - near_, far_}, {near_, far_}, {near_, -1}}});
  }

  /// Forwards of a device before its first backward, and pairs that follow them.
  std::int64_t warmup() const { return p_ + half_ + std::min(device_, p_ - 1 - device_); }
  std::int64_t pairs() const { return 2 * p_ - warmup(); }

 private:
  /// A phase takes microbatches of one list, or of two in turn.
  struct Phase {
    std::int32_t list = 0;
    std::int32_t other = 0;  ///< in the first phase unused, in the last -1
  };

  /// The five phases of the authors' code. `alone` microbatches of a list pass before a second list joins, which then
  /// finishes its `half - alone` others beside the next.
  std::vector<ChunkUnit> in_order(const std::array<Phase, 5>& phases) const {
    std::vector<ChunkUnit> order;
    const std::int32_t shared = half_ - alone_;
    for (std::int32_t x = 0; x < alone_; ++x) order.push_back(unit(phases[0].list, x));
    for (std::int32_t x = 0; x < shared; ++x) {
      order.push_back(unit(phases[1].list, x));
      order.push_back(unit(phases[1].other, alone_ + x));
    }
    for (std::int32_t x = 0; x < alone_; ++x) {
      order.push_back(unit(phases[2].list, shared + x));
      order.push_back(unit(phases[2].other, x));
    }
    for (std::int32_t x = 0; x < shared; ++x) {
      order.push_back(unit(phases[3].list, x));
      order.push_back(unit(phases[3].other, alone_ + x));
    }
    for (std::int32_t x = 0; x < alone_; ++x) order.push_back(unit(phases[4].list, shared + x));
    return order;
  }

  ChunkUnit unit(std::int32_t list, std::int32_t number) const {
    const std::int32_t up = list % 2;
    const std::int32_t first = up == 0 ? device_ : p_ - 1 - device_;
    return {StageId{list < 2 ? first : 2 * p_ - 1 - first}, ReplicaId{static_cast<std::int16_t>(up)},
            up * half_ + number};
  }

  std::int32_t p_;
  std::int32_t half_;
  std::int32_t device_;
  std::int32_t near_;  ///< direction whose first chunks reach this half of the devices first
  std::int32_t far_;
  std::int32_t alone_;
};

/// Merges the forwards and backwards of all rounds of one device.
class RoundWriter {
 public:
  RoundWriter(ListBuilder& list, const RoundOrder& order, std::int64_t rounds, std::int64_t p)
      : list_(list),
        forwards_(order.forwards()),
        backwards_(order.backwards()),
        warmup_(order.warmup()),
        pairs_(order.pairs()),
        rounds_(rounds),
        p_(p) {}

  void write() {
    forward(warmup_);
    list_.repeat(rounds_ - 1, {.microbatch = static_cast<std::int32_t>(p_)}, [&] {
      pair(pairs_);
      backward(warmup_ - pairs_ + 1);
      pair(pairs_ - 1);
      forward(warmup_ - pairs_ + 1);
    });
    // The loop ran once while writing; what follows belongs to the last round.
    taken_forwards_ = warmup_ + (rounds_ - 1) * 2 * p_;
    taken_backwards_ = (rounds_ - 1) * 2 * p_;
    pair(pairs_);
    backward(2 * p_ - pairs_);
    for (const ChunkUnit& unit : first_chunks()) list_.add_collective(unit.stage, Op::kReduceGrad, unit.replica);
  }

  /// The four chunks of the device: both directions' first ones, then the second ones.
  std::vector<ChunkUnit> chunks() const {
    std::vector<ChunkUnit> all = first_chunks();
    const std::vector<ChunkUnit> firsts = all;
    for (const ChunkUnit& unit : firsts) {
      all.push_back({mirrored(unit.stage), unit.replica, 0});
    }
    return all;
  }

 private:
  StageId mirrored(StageId stage) const {
    return StageId{static_cast<std::int32_t>(2 * p_ - 1) - static_cast<std::int32_t>(stage)};
  }
  bool second(StageId stage) const { return static_cast<std::int32_t>(stage) >= p_; }

  std::vector<ChunkUnit> first_chunks() const {
    std::vector<ChunkUnit> firsts(2);
    for (const ChunkUnit& unit : forwards_) {
      if (!second(unit.stage)) firsts[index(unit.replica)] = unit;
    }
    return firsts;
  }

  void forward(std::int64_t count) {
    for (; count > 0; --count) add(Op::kF, forwards_, taken_forwards_++);
  }
  void backward(std::int64_t count) {
    for (; count > 0; --count) {
      const std::int64_t position = taken_backwards_++;
      const ChunkUnit& unit = add(Op::kB, backwards_, position);
      if (second(unit.stage) && last_of_stage(position)) {
        list_.add_collective(unit.stage, Op::kReduceGrad, unit.replica);
      }
    }
  }
  void pair(std::int64_t count) {
    for (; count > 0; --count) {
      forward(1);
      backward(1);
    }
  }

  const ChunkUnit& add(Op op, const std::vector<ChunkUnit>& order, std::int64_t position) {
    const auto period = static_cast<std::int64_t>(order.size());
    const ChunkUnit& unit = order[static_cast<std::size_t>(position % period)];
    list_.add(unit.stage, op, unit.microbatch + position / period * p_, unit.replica);
    return unit;
  }

  /// In the last round, no further backward of the stage comes after `position`.
  bool last_of_stage(std::int64_t position) const {
    const auto period = static_cast<std::int64_t>(backwards_.size());
    if (position / period + 1 != rounds_) return false;
    const auto at = backwards_.begin() + position % period;
    return std::none_of(at + 1, backwards_.end(), [&](const ChunkUnit& later) {
      return later.stage == at->stage && later.replica == at->replica;
    });
  }

  ListBuilder& list_;
  std::vector<ChunkUnit> forwards_;
  std::vector<ChunkUnit> backwards_;
  std::int64_t warmup_;
  std::int64_t pairs_;
  std::int64_t rounds_;
  std::int64_t p_;
  std::int64_t taken_forwards_ = 0;
  std::int64_t taken_backwards_ = 0;
};

}  // namespace

/// Two V-shaped pipelines in opposite directions, each over 2p stages, two chunks of each on every device: Chimera
/// with chunks half as long, and so half its bubble. Half of the microbatches go each way. Devices keep between 3p/4 +
/// 1/2 and p activations. Needs p even and m a multiple of p. Second chunks reduce their gradients after their last
/// backward, first chunks at the end.
/// (BitPipe: Wu et al., arXiv 2410.19367; wuhouming/BitPipe, megatron/core/pipeline_parallel/bitpipe_schedule.py)
///
///   p = 2, m = 2 (microbatch 1 goes up; reductions and updates left out)
///   d0: 0F0 1:1F1 1:2F1 3F0 3B0 1:2B1 1:1B1 0B0
///   d1: 1:0F1 1F0 2F0 1:3F1 1:3B1 2B0 1B0 1:0B1
Schedule bitpipe(const ScheduleParams& params) {
  const std::int32_t p = params.num_devices;
  const std::int64_t m = params.num_microbatches;
  require(params.chunks == 0 || params.chunks == 2, "bitpipe",
          "chunks per device (" + std::to_string(params.chunks) + ") must be 2 in each direction");
  require(p % 2 == 0, "bitpipe", "num_devices (" + std::to_string(p) + ") must be even");
  require(m % p == 0, "bitpipe",
          "num_microbatches (" + std::to_string(m) + ") must be a multiple of num_devices (" + std::to_string(p) + ")");
  const std::int64_t updates = updates_or(params, 1);
  Schedule schedule = looped_schedule("bitpipe", params, 2, updates);
  schedule.placement.assign(2, {});
  for (std::int32_t stage = 0; stage < 2 * p; ++stage) {
    const std::int32_t down = stage < p ? stage : 2 * p - 1 - stage;
    schedule.placement[0].push_back({DeviceId{down}});
    schedule.placement[1].push_back({DeviceId{p - 1 - down}});
  }
  for (std::int32_t d = 0; d < p; ++d) {
    schedule.devices.push_back(repeat_steps(params, updates, [&](ListBuilder& list) {
      RoundWriter writer(list, RoundOrder(p, d), m / p, p);
      writer.write();
      for (const ChunkUnit& unit : writer.chunks()) list.add(unit.stage, Op::kU, 0, unit.replica);
    }));
  }
  return schedule;
}

}  // namespace plumb
