#include "sim/order_search/repetend_schedule.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "schedules/catalogue/list_builder.hpp"

namespace plumb {
namespace {

/// A block of one microbatch of the repetend, as its device meets it: in which of the device's periods, and when in it.
struct PeriodPlace {
  std::int32_t block = 0;
  std::int32_t microbatch = 0;
  std::int64_t turn = 0;
  Ticks when = 0;
};

/// The blocks of a device in order of its periods, which begin with its first block.
std::vector<PeriodPlace> places_of(const BlockProblem& problem, const Repetend& repetend,
                                   const std::vector<std::int32_t>& on) {
  Ticks first = repetend.start(on.front(), 0);
  for (const std::int32_t b : on) {
    for (std::int32_t j = 0; j < repetend.microbatches; ++j) first = std::min(first, repetend.start(b, j));
  }
  std::vector<PeriodPlace> places;
  for (const std::int32_t b : on) {
    for (std::int32_t j = 0; j < repetend.microbatches; ++j) {
      const Ticks after = repetend.start(b, j) - first;
      places.push_back({b, j, after / repetend.period, after % repetend.period});
    }
  }
  const auto key = [&](const PeriodPlace& place) {
    // Of blocks that start together all but the last take no time.
    return std::tuple(place.when, problem.block(place.block).time, place.turn, place.block);
  };
  std::ranges::sort(places, {}, key);
  return places;
}

/// The periods of one device, for so many microbatches: from `full_begin` to `full_end` nothing is left out of any.
class DevicePeriods {
 public:
  DevicePeriods(std::vector<PeriodPlace> places, const Repetend& repetend, std::int64_t num_microbatches)
      : places_(std::move(places)), each_(repetend.microbatches), all_(num_microbatches) {
    for (const PeriodPlace& place : places_) {
      const std::int64_t last = (all_ - 1 - place.microbatch) / each_;  // of its instances; -1: there is none
      const std::int64_t instances = all_ > place.microbatch ? last + 1 : 0;
      full_begin_ = std::max(full_begin_, place.turn);
      full_end_ = std::min(full_end_, place.turn + instances);
      end_ = std::max(end_, place.turn + instances);
    }
    full_end_ = std::max(full_end_, full_begin_);
  }

  template <class Write>
  void write_period(std::int64_t q, Write&& write) const {
    for (const PeriodPlace& place : places_) {
      const std::int64_t instance = q - place.turn;
      const std::int64_t microbatch = instance * each_ + place.microbatch;
      if (instance >= 0 && microbatch < all_) write(place.block, microbatch);
    }
  }

  std::int64_t full_begin() const { return full_begin_; }
  std::int64_t full_end() const { return full_end_; }
  std::int64_t end() const { return end_; }

 private:
  std::vector<PeriodPlace> places_;
  std::int64_t each_;
  std::int64_t all_;
  std::int64_t full_begin_ = 0;
  std::int64_t full_end_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t end_ = 0;
};

}  // namespace

BlockOrders repeated(const BlockProblem& problem, const Repetend& repetend, std::int64_t num_microbatches) {
  BlockOrders orders(static_cast<std::size_t>(problem.num_devices));
  const auto on = blocks_by_device(problem);
  for (std::size_t d = 0; d < orders.size(); ++d) {
    if (on[d].empty()) continue;
    const DevicePeriods periods(places_of(problem, repetend, on[d]), repetend, num_microbatches);
    const auto write = [&](std::int32_t block, std::int64_t microbatch) { orders[d].push_back({block, microbatch}); };
    for (std::int64_t q = 0; q < periods.end(); ++q) periods.write_period(q, write);
  }
  return orders;
}

Schedule repetend_schedule(Schedule frame, const BlockProblem& problem, const Repetend& repetend) {
  const auto on = blocks_by_device(problem);
  frame.devices.assign(on.size(), {});
  for (std::size_t d = 0; d < on.size(); ++d) {
    if (on[d].empty()) continue;
    const DevicePeriods periods(places_of(problem, repetend, on[d]), repetend,
                                frame.num_microbatches / problem.together);
    ListBuilder list;
    const auto write = [&](std::int32_t block, std::int64_t microbatch) {
      const Action action = action_of(problem, {block, microbatch}, static_cast<std::int32_t>(d));
      list.add_all({&action, 1});
    };
    for (std::int64_t q = 0; q < std::min(periods.full_begin(), periods.end()); ++q) periods.write_period(q, write);
    list.repeat(periods.full_end() - periods.full_begin(),
                {.microbatch = repetend.microbatches * static_cast<std::int32_t>(problem.together)},
                [&] { periods.write_period(periods.full_begin(), write); });
    for (std::int64_t q = periods.full_end(); q < periods.end(); ++q) periods.write_period(q, write);
    frame.devices[d] = list.take();
  }
  add_updates(frame);
  return frame;
}

}  // namespace plumb
