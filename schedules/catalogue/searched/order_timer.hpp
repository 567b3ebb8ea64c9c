#pragma once

#include <cstddef>
#include <vector>

#include "schedules/catalogue/searched/order_problem.hpp"

namespace plumb {

/// Runs words with every device as early as it can, again and again for words of the same size. `problem` must outlive
/// this.
class OrderTimer {
 public:
  explicit OrderTimer(const OrderProblem& problem);

  /// False when the devices are stuck for ever.
  bool run(const std::vector<OrderWord>& words);

  // Of the last run:
  Ticks longest_device_span() const;
  Ticks device_span(std::int32_t device) const { return lane(device).clock - lane(device).first_start; }

 private:
  struct Lane {
    std::size_t next = 0;
    Ticks clock = 0;
    Ticks first_start = 0;
    std::int32_t counts[OrderProblem::kMostKinds] = {};
  };

  const Lane& lane(std::int32_t device) const { return lanes_[static_cast<std::size_t>(device)]; }
  bool step(std::int32_t device, const OrderWord& word);
  Ticks& end_of(std::int32_t device, std::int32_t kind, std::int32_t microbatch) {
    return ends_[static_cast<std::size_t>(device * problem_.kinds + kind) *
                     static_cast<std::size_t>(problem_.num_microbatches) +
                 static_cast<std::size_t>(microbatch)];
  }

  const OrderProblem& problem_;
  std::vector<Lane> lanes_;
  std::vector<Ticks> ends_;  ///< by device, kind, microbatch
};

/// Whether words hold every pass as often as there are microbatches, no device is stuck, and none exceeds its limit.
bool is_possible(const OrderProblem& problem, const std::vector<OrderWord>& words);

}  // namespace plumb
