#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "schedules/catalogue/generator.hpp"

namespace plumb {

/// One of the two stages of a device: the pipeline (replica) that it belongs to and the first microbatch of that.
struct DualPipeArm {
  StageId stage{};
  ReplicaId replica{};
  std::int64_t first_microbatch = 0;
};

/// Writes one device's step of DualPipe and DualPipeV, the eight steps of the released code. Symbols: `ranks` devices
/// from the entry of the pipelines (half of all in DualPipe) to where they meet, the device being `rank` (0: entry);
/// `m` microbatches of every arm; arm 0 is the one that goes away from the entry. w weight gradients are left over by I
/// in the order in which they are taken.
class DualPipeWriter {
 public:
  DualPipeWriter(std::int64_t ranks, std::int64_t rank, std::int64_t m, std::array<DualPipeArm, 2> arms,
                 ListBuilder& list)
      : p_(ranks), d_(rank), m_(m), arms_(arms), list_(list) {}

  /// Everything but updates. Needs m >= 2 ranks.
  void write();

 private:
  Action action(std::size_t arm, Op op, std::int64_t microbatch) const;
  void add(std::size_t arm, Op op, std::int64_t microbatch);
  void add_overlapped(std::size_t forward_arm, std::int64_t forward, std::int64_t backward);
  void steady(std::int64_t count);
  void switch_to_input();
  void drain();
  void take();

  std::int64_t p_;
  std::int64_t d_;
  std::int64_t m_;
  std::array<DualPipeArm, 2> arms_;
  ListBuilder& list_;
  std::vector<std::pair<std::size_t, std::int64_t>> left_over_;
  std::size_t taken_ = 0;
};

}  // namespace plumb
