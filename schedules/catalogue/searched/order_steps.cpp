#include "schedules/catalogue/searched/order_steps.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "schedules/catalogue/searched/order_timer.hpp"

namespace plumb {
namespace {

/// How far a pass moves at most.
constexpr std::size_t kFarthest = 4;

class Steps {
 public:
  Steps(const OrderProblem& problem, std::vector<OrderWord>& words, std::int64_t budget)
      : problem_(problem), words_(words), timer_(problem), budget_(budget) {
    length_ = timed();
  }

  Ticks longest() const { return length_.first; }
  bool has_budget() const { return budget_ >= problem_.size(); }

  /// One step that helps, on the devices one after another from the one of the last step; false when there is none.
  bool step(Ticks enough) {
    for (std::int32_t k = 0; k < problem_.num_devices; ++k) {
      const std::int32_t d = (from_ + k) % problem_.num_devices;
      if (!improve_device(d, enough)) continue;
      from_ = d;
      return true;
    }
    return false;
  }

 private:
  using Length = std::pair<Ticks, Ticks>;  ///< longest span, sum of spans

  Length timed() {
    budget_ -= problem_.size();
    if (!timer_.run(words_)) return {-1, 0};
    Length length{timer_.longest_device_span(), 0};
    for (std::int32_t d = 0; d < problem_.num_devices; ++d) length.second += timer_.device_span(d);
    return length;
  }

  bool improve_device(std::int32_t d, Ticks enough) {
    OrderWord& word = words_[static_cast<std::size_t>(d)];
    bool helped = false;
    for (std::size_t distance = 1; distance <= kFarthest; ++distance) {
      for (std::size_t i = 0; i + distance < word.size(); ++i) {
        for (const bool later : {true, false}) {
          if (!has_budget() || length_.first <= enough) return helped;
          helped = try_move(d, i, distance, later) || helped;
        }
      }
    }
    return helped;
  }

  /// Moves the pass at `i` to `i + distance`, or back; keeps that when it helps.
  bool try_move(std::int32_t d, std::size_t i, std::size_t distance, bool later) {
    OrderWord& word = words_[static_cast<std::size_t>(d)];
    const auto begin = word.begin() + static_cast<std::ptrdiff_t>(i);
    const auto end = begin + static_cast<std::ptrdiff_t>(distance) + 1;
    const auto turn = [&](bool right) {
      if (right) {
        std::rotate(begin, begin + 1, end);
      } else {
        std::rotate(begin, end - 1, end);
      }
    };
    const std::uint8_t moved = later ? *begin : *(end - 1);
    if (std::count(begin, end, moved) > 1 || (distance == 1 && !later)) return false;
    turn(later);
    if (is_legal(d)) {
      const Length now = timed();
      if (now.first >= 0 && now < length_) {
        length_ = now;
        return true;
      }
    }
    turn(!later);
    return false;
  }

  /// Memory, and what passes need of others on the same device.
  bool is_legal(std::int32_t d) const {
    std::array<std::int32_t, OrderProblem::kMostKinds> counts{};
    std::int64_t stash = 0;
    for (const std::uint8_t kind : words_[static_cast<std::size_t>(d)]) {
      const OrderProblem::Pass& pass = problem_.pass(d, kind);
      stash += pass.stash;
      if (pass.stash > 0 && stash > problem_.limit(d)) return false;
      if (pass.device == d && counts[static_cast<std::size_t>(pass.kind)] <= counts[kind]) return false;
      ++counts[kind];
    }
    return true;
  }

  const OrderProblem& problem_;
  std::vector<OrderWord>& words_;
  OrderTimer timer_;
  std::int64_t budget_;
  std::int32_t from_ = 0;
  Length length_{};
};

}  // namespace

Ticks improve_by_steps(const OrderProblem& problem, std::vector<OrderWord>& words, Ticks enough, std::int64_t budget) {
  Steps steps(problem, words, budget);
  while (steps.longest() > enough && steps.has_budget() && steps.step(enough)) {
  }
  return steps.longest();
}

}  // namespace plumb
