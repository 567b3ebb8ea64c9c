#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "schedules/lowering/lower_state.hpp"
#include "schedules/lowering/pair_cost.hpp"

namespace plumb::lowering {

/// Gives instrs of one kind one row, and every row its duration on its device.
class RowTable {
 public:
  explicit RowTable(State& state);

  /// Rows of the device that comes next in the lanes.
  void begin_device(DeviceId device);

  /// The holder of `action` on this device. Throws `Error` when the device does not hold the stage.
  std::uint32_t holder_of(const Action& action) const {
    const std::size_t at = index(action.replica) * stages_ + index(action.stage);
    if (at >= local_.size() || local_[at] == 0) throw_not_held(action);
    return holders_[local_[at] - 1];
  }

  /// The row of an action that stands alone.
  std::uint32_t row(const Action& action, bool recompute) {
    if (action.merged != 0 || action.op >= Op::kX || !plain_parts_) return rare_row(action, recompute);
    const std::size_t at = index(action.replica) * stages_ + index(action.stage);
    if (at != last_) {
      if (at >= local_.size() || local_[at] == 0) throw_not_held(action);
      last_ = at;
      last_rows_ = plain_.data() + (local_[at] - 1) * kOpCount * 2;
    }
    std::uint32_t& known = last_rows_[static_cast<std::size_t>(action.op) * 2 + (recompute ? 1 : 0)];
    if (known == 0) known = add_row(action, recompute) + 1;
    return known - 1;
  }

  /// The rows of an overlapped pair whose members would have rows `first` and `second` alone.
  std::pair<std::uint32_t, std::uint32_t> pair_rows(std::uint32_t first, std::uint32_t second);

 private:
  static constexpr auto kNowhere = static_cast<std::size_t>(-1);
  /// Holder, op, recompute, merged, then what its parts are like: a microbatch of that kind, the slice.
  using RareKey = std::tuple<std::uint32_t, Op, bool, std::uint8_t, std::size_t, std::int16_t>;

  /// What a row's pairs are priced by.
  struct PairCost {
    PairTimes given;  ///< of its stage, at speed 1
    PairHalf half;    ///< at the speed of its device
  };

  std::uint32_t rare_row(const Action& action, bool recompute);
  std::uint32_t add_row(const Action& action, bool recompute);
  std::size_t likeness(const Action& action) const;
  StageTimes times_of_all(const Action& action) const;
  std::uint32_t add_sum(const Action& action);
  void note_pairs(const Row& row, const PairTimes& given, const StageTimes& times);
  Ticks pair_duration(std::uint32_t first, std::uint32_t second) const;
  Ticks not_useful_part(std::uint32_t first, std::uint32_t second, Ticks pair) const;
  Ticks recompute_part(std::uint32_t row) const;
  void note_recompute(Ticks part);
  Ticks on_device(Ticks at_speed_one) const;
  [[noreturn]] void throw_not_held(const Action& action) const;

  State& state_;
  bool plain_parts_;
  std::size_t stages_;
  DeviceId device_{};
  double speed_ = 1.0;
  std::vector<std::uint32_t> holders_;  ///< of the device
  std::vector<std::uint32_t> local_;    ///< by replica * stages + stage: 1 + place in `holders_`, 0 when not held here
  std::vector<std::uint32_t> plain_;    ///< by place, op and recompute: 1 + row, 0 when there is none yet
  std::size_t last_ = kNowhere;         ///< replica * stages + stage of the last action, ...
  std::uint32_t* last_rows_ = nullptr;  ///< ... and where its rows begin in `plain_`
  std::map<RareKey, std::uint32_t> rare_;
  std::vector<PairCost> pairs_of_;  ///< by row
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::pair<std::uint32_t, std::uint32_t>> pairs_;
};

}  // namespace plumb::lowering
