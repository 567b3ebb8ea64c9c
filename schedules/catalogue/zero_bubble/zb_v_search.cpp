#include "schedules/catalogue/zero_bubble/zb_v_search.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>
#include <utility>

#include "schedules/catalogue/searched/order_timer.hpp"
#include "schedules/catalogue/searched/span_bound.hpp"

namespace plumb {
namespace {

/// Whether a W fills a gap shorter than itself, and which way comparisons of times are decided at a tie (1: the other).
struct FillChoices {
  bool before_f = true;
  bool before_i = true;
  Ticks tie = 0;
};

/// One run of the heuristic. Symbols: p devices, m microbatches; device d, microbatch k. Idle times that `approved`
/// grants a device do no harm there. In ticks, or in milliseconds (`double`) as in the released code: rounding then
/// decides comparisons at ties as it does there.
template <class Time>
class VSearch {
 public:
  VSearch(const PassCosts& costs, std::int32_t m, FillChoices choices, std::vector<Time> approved)
      : costs_(costs),
        p_(static_cast<std::int32_t>(costs.stages.size() / 2)),
        m_(m),
        choices_(choices),
        comm_(as_time(costs.comm)),
        tie_(static_cast<Time>(choices.tie)),
        approved_(std::move(approved)),
        devices_(costs.stages.size() / 2) {
    for (Time one : approved_) most_approved_ = std::max(most_approved_, one);
    for (Device& one : devices_) {
      for (auto& ends : one.ends) ends.reserve(at(m));
      one.word.reserve(kVPassCount * at(m));
    }
    for (std::int32_t d = 0; d < p_; ++d) {
      for (std::size_t k = 0; k < kVPassCount; ++k) {
        times_.push_back(as_time(cost(static_cast<VPass>(k), d).time));
      }
    }
  }

  /// False when memory does not suffice, or as soon as a device idles for `below`.
  bool run(Time below) {
    if (!first_descent() || !first_ascent()) return false;
    for (std::int32_t round = 0; round < 2 * m_; ++round) {
      if (worst_idle_ >= below || !backwards() || !forwards()) return false;
    }
    for (std::int32_t d = 0; d < p_; ++d) {
      while (pending(d)) put_w(d);
    }
    return true;
  }

  Time worst_idle() const { return worst_idle_; }
  std::vector<Time> idle_times() const {
    std::vector<Time> times;
    for (const Device& one : devices_) times.push_back(one.idle);
    return times;
  }
  std::vector<VWord> take_words() {
    std::vector<VWord> words;
    for (Device& one : devices_) words.push_back(std::move(one.word));
    return words;
  }

 private:
  struct Device {
    Time clock = 0;
    Time idle = 0;  ///< since the first forward
    std::int64_t stash = 0;
    std::array<std::vector<Time>, kVPassCount> ends;
    std::vector<VPass> weights;  ///< W of every I so far, in order
    std::size_t weights_done = 0;
    VWord word;
  };

  static constexpr Time kUnknown = -1;

  static std::size_t at(std::int32_t d) { return static_cast<std::size_t>(d); }
  /// a <= b; at a tie as the choices say.
  bool within(Time a, Time b) const { return a + tie_ <= b; }
  Time as_time(Ticks ticks) const {
    if constexpr (std::is_same_v<Time, Ticks>)
      return ticks;
    else
      return static_cast<Time>(ticks) / costs_.ticks_per_ms;
  }
  Time time_of(VPass pass, std::int32_t d) const { return times_[at(d) * kVPassCount + index(pass)]; }
  Device& device(std::int32_t d) { return devices_[at(d)]; }
  std::int32_t count(std::int32_t d, VPass pass) const {
    return static_cast<std::int32_t>(devices_[at(d)].ends[index(pass)].size());
  }
  bool pending(std::int32_t d) const { return devices_[at(d)].weights_done < devices_[at(d)].weights.size(); }
  const PassCost& cost(VPass pass, std::int32_t d) const {
    return cost_of(pass, costs_.stages[at(v_stage(pass, d, p_))]);
  }
  bool has_remote_source(VPass pass, std::int32_t d) const {
    return (goes_down(pass) && d > 0) || (goes_up(pass) && d + 1 < p_);
  }
  /// When the value for the next such pass arrives from the other device; kUnknown while it does not exist.
  Time arrival(VPass pass, std::int32_t d) const {
    const std::int32_t source = goes_down(pass) ? d - 1 : d + 1;
    const auto k = at(count(d, pass));
    const auto& ends = devices_[at(source)].ends[index(pass)];
    return k < ends.size() ? ends[k] + comm_ : kUnknown;
  }

  /// False when the device's memory does not suffice, or the input does not exist.
  bool put(VPass pass, std::int32_t d) {
    Device& one = device(d);
    if (one.stash + cost(pass, d).stash > costs_.limit) return false;
    Time start = one.clock;
    if (has_remote_source(pass, d)) {
      if (arrival(pass, d) == kUnknown) return false;
      start = std::max(start, arrival(pass, d));
    } else if (!is_weight(pass) && pass != VPass::kF0 &&
               one.ends[index(pass) - 1].size() <= one.ends[index(pass)].size()) {
      return false;
    }
    if (count(d, VPass::kF0) > 0) {
      one.idle += (start + time_of(pass, d)) - (one.clock + time_of(pass, d));
      worst_idle_ = std::max(worst_idle_, one.idle);
    }
    one.clock = start + time_of(pass, d);
    one.stash += cost(pass, d).stash;
    one.ends[index(pass)].push_back(one.clock);
    one.word.push_back(pass);
    if (!is_forward(pass) && !is_weight(pass)) one.weights.push_back(weight_of(pass));
    return true;
  }

  void put_w(std::int32_t d) {
    const VPass weight = device(d).weights[device(d).weights_done++];
    put(weight, d);
  }

  bool make_room(std::int32_t d, std::int64_t more) {
    while (device(d).stash + more > costs_.limit) {
      if (!pending(d)) return false;
      put_w(d);
    }
    return true;
  }

  /// W into the time before the value of `pass` arrives; one more where the rest would be the longest idle time.
  void fill(VPass pass, std::int32_t d, bool short_gaps) {
    if (!has_remote_source(pass, d)) return;
    const Time ready = arrival(pass, d);
    if (ready == kUnknown) return;
    const auto weight_time = [&] { return time_of(device(d).weights[device(d).weights_done], d); };
    while (pending(d) && within(device(d).clock + weight_time(), ready)) put_w(d);
    if (!pending(d) || !short_gaps) return;
    const Time harmless = std::max(worst_idle_, most_approved_ - approved_[at(d)]) - device(d).idle;
    if (!within(ready - device(d).clock, harmless)) put_w(d);
  }

  /// The first microbatch down and up again; while its F1 comes up, further F0 where time and memory allow.
  bool first_descent() {
    for (std::int32_t d = 0; d < p_; ++d) {
      if (!put(VPass::kF0, d)) return false;
    }
    for (std::int32_t d = p_ - 1; d >= 0; --d) {
      const Time deadline = d + 1 < p_ ? arrival(VPass::kF1, d) : 0;
      while (d + 1 < p_ && room_for_more(d) && within(device(d).clock + time_of(VPass::kF0, d), deadline) &&
             count(d, VPass::kF0) < m_) {
        for (std::int32_t upstream = 0; upstream <= d; ++upstream) {
          if (!put(VPass::kF0, upstream)) return false;
        }
      }
      if (!put(VPass::kF1, d)) return false;
    }
    return true;
  }
  bool room_for_more(std::int32_t d) {
    return device(d).stash + (2 + 2 * std::int64_t{d}) * cost(VPass::kF0, d).stash <= costs_.limit;
  }

  /// Every device gets as many forwards as the one before it.
  bool first_ascent() {
    VPass pass = VPass::kF0;
    for (std::int32_t d = 1; d < p_; ++d) {
      while (lags(d)) {
        for (std::int32_t other = p_ - 1; other >= d; --other) {
          if (count(other, pass) < m_ && !put(pass, other)) return false;
        }
        pass = pass == VPass::kF0 ? VPass::kF1 : VPass::kF0;
      }
    }
    return true;
  }
  bool lags(std::int32_t d) const {
    const std::int32_t before = count(d - 1, VPass::kF1);
    return count(d, VPass::kF0) + count(d, VPass::kF1) < count(d - 1, VPass::kF0) + before ||
           (count(d, VPass::kF1) <= before && before < m_);
  }

  VPass next_backward(std::int32_t d) const {
    if (count(d, VPass::kI0) >= count(d, VPass::kI1)) return VPass::kI1;
    if (d + 1 == p_ || arrival(VPass::kI0, d) != kUnknown || count(d, VPass::kI1) >= m_) return VPass::kI0;
    return VPass::kI1;
  }

  bool backwards() {
    std::vector<VPass> chosen;
    for (std::int32_t d = 0; d < p_; ++d) {
      if (!make_room(d, cost(VPass::kI1, d).stash)) return false;
    }
    for (std::int32_t d = 0; d < p_; ++d) chosen.push_back(next_backward(d));
    for (std::int32_t d = p_ - 1; d >= 0; --d) {
      if (chosen[at(d)] != VPass::kI0) continue;
      fill(VPass::kI0, d, true);
      if (!put(VPass::kI0, d)) return false;
    }
    for (std::int32_t d = 0; d < p_; ++d) {
      if (chosen[at(d)] != VPass::kI1) continue;
      fill(VPass::kI1, d, choices_.before_i);
      if (!put(VPass::kI1, d)) return false;
    }
    return true;
  }

  std::optional<VPass> next_forward(std::int32_t d) const {
    if (count(d, VPass::kF1) == m_) return std::nullopt;
    if (count(d, VPass::kF1) >= count(d, VPass::kF0)) return VPass::kF0;
    if (d + 1 == p_ || arrival(VPass::kF1, d) != kUnknown) return VPass::kF1;
    if (count(d, VPass::kF0) < m_ && (d == 0 || arrival(VPass::kF0, d) != kUnknown)) return VPass::kF0;
    return std::nullopt;
  }

  bool forwards() {
    for (std::int32_t d = 0; d < p_; ++d) {
      const auto pass = next_forward(d);
      if (!pass) continue;
      if (!make_room(d, cost(*pass, d).stash)) return false;
      fill(*pass, d, choices_.before_f);
      if (!put(*pass, d)) return false;
    }
    return true;
  }

  const PassCosts& costs_;
  std::int32_t p_;
  std::int32_t m_;
  FillChoices choices_;
  Time comm_;
  Time tie_;
  std::vector<Time> times_;  ///< by device, pass
  std::vector<Time> approved_;
  Time most_approved_ = -1;
  Time worst_idle_ = 0;
  std::vector<Device> devices_;
};

template <class Time>
struct Found {
  std::vector<VWord> words;
  Time idle = 0;
};

/// Runs with the idle times of the run before as allowance, while the longest one strictly shrinks.
template <class Time>
std::optional<Found<Time>> refine(const PassCosts& costs, std::int32_t m, FillChoices choices) {
  std::optional<Found<Time>> best;
  std::vector<Time> approved(costs.stages.size() / 2, -1);
  while (true) {
    VSearch<Time> search(costs, m, choices, approved);
    const Time below = best ? best->idle : std::numeric_limits<Time>::max();
    if (!search.run(below) || search.worst_idle() >= below) return best;
    best = Found<Time>{search.take_words(), search.worst_idle()};
    approved = search.idle_times();
  }
}

/// The best of all choices.
template <class Time>
std::optional<Found<Time>> search_choices(const PassCosts& costs, std::int32_t num_microbatches, Ticks tie) {
  std::optional<Found<Time>> best;
  constexpr std::array<bool, 2> kTries{true, false};
  for (const bool before_i : kTries) {
    for (const bool before_f : kTries) {
      auto found = refine<Time>(costs, num_microbatches, {.before_f = before_f, .before_i = before_i, .tie = tie});
      if (found && (!best || found->idle < best->idle)) best = std::move(found);
    }
  }
  return best;
}

}  // namespace

std::optional<ProvedOrder> search_zb_v(const PassCosts& costs, std::int32_t num_microbatches, SearchEffort effort) {
  const OrderProblem problem = v_problem(costs, num_microbatches);
  const Ticks bound = least_span(problem);
  std::vector<OrderWord> best;
  Ticks best_span = std::numeric_limits<Ticks>::max();
  OrderTimer timer(problem);
  const auto consider = [&](const auto& found) {
    if (!found) return;
    std::vector<OrderWord> words = order_words(found->words);
    if (!timer.run(words) || timer.longest_device_span() >= best_span) return;
    best_span = timer.longest_device_span();
    best = std::move(words);
  };
  const auto try_ticks = [&](Ticks tie) {
    const auto uniform = with_median_times(costs);
    if (best_span > bound) consider(search_choices<Ticks>(costs, num_microbatches, tie));
    if (best_span > bound && uniform) consider(search_choices<Ticks>(*uniform, num_microbatches, tie));
  };
  try_ticks(0);
  if (effort.improve && best_span > bound && !are_whole(costs)) {
    consider(search_choices<double>(costs, num_microbatches, 0));
  } else if (effort.improve) {
    try_ticks(1);
  }
  return best_order(problem, {.words = std::move(best), .found = best_span, .bound = bound}, effort);
}

}  // namespace plumb
