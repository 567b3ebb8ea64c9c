#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "schedules/catalogue/generator.hpp"
#include "schedules/catalogue/pass_costs.hpp"
#include "schedules/catalogue/searched/order_problem.hpp"
#include "schedules/document/action.hpp"

// The V placement: 2p stages over p devices, device d holds stage d on the way down and stage 2p - 1 - d on the way up.

namespace plumb {

/// The passes of a microbatch on one device, in the order in which they happen. The first stage of a device counts 0,
/// the second 1, so a backward visits 1 first. F0 and I1 travel to the next device, F1 and I0 to the one before.
enum class VPass : std::uint8_t { kF0, kF1, kI1, kI0, kW1, kW0 };

inline constexpr std::size_t kVPassCount = 6;

constexpr std::size_t index(VPass pass) { return static_cast<std::size_t>(pass); }
constexpr bool is_forward(VPass pass) { return pass <= VPass::kF1; }
constexpr bool is_weight(VPass pass) { return pass >= VPass::kW1; }
constexpr bool is_second_stage(VPass pass) { return pass == VPass::kF1 || pass == VPass::kI1 || pass == VPass::kW1; }
/// Takes its value from device d - 1, or at device 0 from its own device.
constexpr bool goes_down(VPass pass) { return pass == VPass::kF0 || pass == VPass::kI1; }
/// Takes its value from device d + 1, or at the last device from its own device.
constexpr bool goes_up(VPass pass) { return pass == VPass::kF1 || pass == VPass::kI0; }
/// The W of a backward.
constexpr VPass weight_of(VPass backward) { return backward == VPass::kI1 ? VPass::kW1 : VPass::kW0; }

/// What a device does, microbatches in order within each pass.
using VWord = std::vector<VPass>;

constexpr std::int32_t v_stage(VPass pass, std::int32_t device, std::int32_t num_devices) {
  return is_second_stage(pass) ? 2 * num_devices - 1 - device : device;
}

constexpr const PassCost& cost_of(VPass pass, const StagePasses& stage) {
  return is_forward(pass) ? stage.f : is_weight(pass) ? stage.w : stage.i;
}

/// Throws unless two chunks per device (or none named) were asked for.
void require_v_chunks(std::string_view name, const ScheduleParams& params);

/// A schedule over the V placement without its lists, as `looped_schedule`.
Schedule v_placed_schedule(std::string_view name, const ScheduleParams& params, std::int64_t updates);

/// The schedule that has `words` as its devices' lists. With `fused`, I stands for the full backward and no W is
/// written.
Schedule v_schedule(std::string_view name, const ScheduleParams& params, const std::vector<VWord>& words,
                    bool fused = false);

/// The same words, over the kinds of an `OrderProblem`, and back.
std::vector<OrderWord> order_words(const std::vector<VWord>& words);
std::vector<VWord> v_words(const std::vector<OrderWord>& words);

/// Runs words with every device as early as it can, again and again for words of the same size. `costs` has 2p stages
/// and must outlive this.
class WordTimer {
 public:
  WordTimer(const PassCosts& costs, std::int64_t num_microbatches);

  /// False when the devices are stuck for ever.
  bool run(const std::vector<VWord>& words);

  // Of the last run:
  const std::vector<Ticks>& starts(std::int32_t device) const {
    return lanes_[static_cast<std::size_t>(device)].starts;
  }
  /// Longest time from a device's first to its last action.
  Ticks longest_device_span() const;

 private:
  struct Lane {
    Ticks clock = 0;
    std::vector<Ticks> starts;
    std::array<std::size_t, kVPassCount> counts{};
  };

  bool step(std::int32_t d, const VWord& word);
  Ticks& end_of(VPass pass, std::int32_t d, std::size_t microbatch) {
    return ends_[(index(pass) * lanes_.size() + static_cast<std::size_t>(d)) * num_microbatches_ + microbatch];
  }

  const PassCosts& costs_;
  std::int32_t p_;
  std::size_t num_microbatches_;
  std::vector<Lane> lanes_;
  std::vector<Ticks> ends_;  ///< by pass, device, microbatch
};

}  // namespace plumb
