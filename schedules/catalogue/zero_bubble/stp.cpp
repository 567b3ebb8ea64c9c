#include <array>
#include <deque>
#include <string>

#include "schedules/catalogue/v_placement.hpp"
#include "schedules/catalogue/zero_bubble/v_order.hpp"

namespace plumb {
namespace {

/// Writes one device's step. Symbols: p devices, the device r, m microbatches, chunk 0 on the way down the V and chunk
/// 1 on the way up. Passes of a chunk take microbatches in order; W takes what has waited longest on the device.
class StpWriter {
 public:
  StpWriter(std::int64_t p, std::int64_t r, std::int64_t m, ListBuilder& list) : p_(p), r_(r), m_(m), list_(list) {}

  /// Everything but updates. Needs m >= 3p - 1.
  void write() {
    fill();
    steady();
    drain();
  }

 private:
  struct Chunk {
    std::int64_t forwards = 0;   ///< the next F, ...
    std::int64_t backwards = 0;  ///< ... and the next B or I
  };

  struct Waiting {
    std::size_t chunk = 0;
    std::int64_t microbatch = 0;
  };

  StageId stage(std::size_t chunk) const {
    return v_stage(static_cast<std::int32_t>(p_), static_cast<std::int32_t>(chunk), static_cast<std::int32_t>(r_));
  }

  Action forward(std::size_t chunk) { return ListBuilder::action(stage(chunk), Op::kF, chunks_[chunk].forwards++); }
  Action backward(std::size_t chunk) { return ListBuilder::action(stage(chunk), Op::kB, chunks_[chunk].backwards++); }

  Action input_grad(std::size_t chunk) {
    waiting_.push_back({chunk, chunks_[chunk].backwards});
    return ListBuilder::action(stage(chunk), Op::kI, chunks_[chunk].backwards++);
  }

  Action weight_grad() {
    const Waiting oldest = waiting_.front();
    waiting_.pop_front();
    return ListBuilder::action(stage(oldest.chunk), Op::kW, oldest.microbatch);
  }

  void add(const Action& action) { list_.add_all({&action, 1}); }

  /// `count` turns of `turn`, which takes `taken` of every pass that it has and leaves no W behind.
  template <class Turn>
  void turns(std::int64_t count, std::int32_t taken, Turn turn) {
    if (count <= 0) return;
    const std::array<Chunk, 2> before = chunks_;
    list_.repeat(count, {.microbatch = taken}, turn);
    for (std::size_t chunk = 0; chunk < chunks_.size(); ++chunk) {
      chunks_[chunk].forwards += (count - 1) * (chunks_[chunk].forwards - before[chunk].forwards);
      chunks_[chunk].backwards += (count - 1) * (chunks_[chunk].backwards - before[chunk].backwards);
    }
  }

  /// Up to the first backward that is not split.
  void fill() {
    turns(2 * (p_ - 1 - r_), 1, [&] { add(forward(0)); });
    turns(r_ + 1, 1, [&] {
      add(forward(0));
      add(forward(1));
    });
    if (r_ % 2 == 0) add(forward(0));
    turns((r_ + 1) / 2, 2, [&] {
      const Action first = forward(0);
      list_.add_pair(first, forward(0));
    });
    turns(p_ - 1 - r_, 1, [&] {
      list_.add_pair(forward(1), input_grad(1));
      list_.add_pair(forward(0), weight_grad());
    });
  }

  /// Pairs of a forward and a backward of one chunk, the chunks in turn; from the middle of the last ones on I takes
  /// the place of B.
  void steady() {
    const std::int64_t whole = 2 * (m_ - 3 * p_ + 1) + 1 + r_;
    turns(whole / 2, 1, [&] {
      list_.add_pair(forward(1), backward(1));
      list_.add_pair(forward(0), backward(0));
    });
    for (std::int64_t i = whole / 2 * 2; i < whole + r_; ++i) {
      const std::size_t chunk = i % 2 == 0 ? 1 : 0;
      list_.add_pair(forward(chunk), i < whole ? backward(chunk) : input_grad(chunk));
    }
  }

  void drain() {
    for (std::int64_t i = 0; i < 2 * (p_ - 1) - r_; ++i) {
      add(backward(0));
      list_.add_pair(forward(1), input_grad(1));
    }
    turns(r_ + 1, 1, [&] {
      add(backward(0));
      add(backward(1));
    });
    for (std::int64_t i = 0; i < 2 * (p_ - 1 - r_) + 1; ++i) {
      if (i % 2 == 0) {
        add(backward(0));
      } else {
        add(weight_grad());
        add(weight_grad());
      }
    }
    while (!waiting_.empty()) add(weight_grad());
  }

  std::int64_t p_;
  std::int64_t r_;
  std::int64_t m_;
  ListBuilder& list_;
  std::array<Chunk, 2> chunks_{};
  std::deque<Waiting> waiting_;  ///< weight gradients that I has left over
};

}  // namespace

/// Two chunks per device on a V, and almost every pass in a pair with another, so that the all-reduces of tensor
/// parallelism (a per chunk) run beside the computation of the other half. Idle time (p - 1)(F + a + I - W), and
/// (2p + 1) a for passes outside of pairs. Device r keeps 3p + max(1, r) stashes of a chunk. Needs m >= 3p - 1.
/// (STP: Qi et al., Synergistic Tensor and Pipeline Parallelism, arXiv 2510.27257; order of the released code,
/// github.com/MICLAB-BUPT/STP)
///
///   p = 2, m = 5; {a|b} is an overlapped pair
///   d0: 0F0 0F1 0F2 3F0 0F3 {3F1|3I0} {0F4|3W0} {3F2|3B1} 0B0 {3F3|3I2} 0B1 {3F4|3I3} 0B2 3B4 0B3 3W2 3W3 0B4
///   d1: 1F0 2F0 1F1 2F1 {1F2|1F3} {2F2|2B0} {1F4|1B0} {2F3|2I1} 1B1 {2F4|2I2} 1B2 2B3 1B3 2B4 1B4 2W1 2W2
Schedule stp(const ScheduleParams& params) {
  require_v_chunks("stp", params);
  const std::int32_t p = params.num_devices;
  const std::int64_t m = params.num_microbatches;
  const std::int64_t least = 3 * std::int64_t{p} - 1;
  require(m >= least, "stp",
          "num_microbatches (" + std::to_string(m) + ") must be at least 3 num_devices - 1 (" + std::to_string(least) +
              ")");
  const std::int64_t updates = updates_or(params, 1);
  Schedule schedule = v_placed_schedule("stp", params, updates);
  for (std::int32_t d = 0; d < p; ++d) {
    schedule.devices.push_back(repeat_steps(params, updates, [&](ListBuilder& list) {
      StpWriter(p, d, m, list).write();
      for (const std::int32_t chunk : {0, 1}) list.add(v_stage(p, chunk, d), Op::kU, 0);
    }));
  }
  return schedule;
}

}  // namespace plumb
