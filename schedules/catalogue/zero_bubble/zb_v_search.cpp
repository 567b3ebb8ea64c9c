#include "schedules/catalogue/zero_bubble/zb_v_search.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace plumb {
namespace {

/// Whether a W fills a gap shorter than itself.
struct FillChoices {
  bool before_f = true;
  bool before_i = true;
};

/// One run of the heuristic. Symbols: p devices, m microbatches; device d, microbatch k. Idle times that `approved`
/// grants a device do no harm there.
class VSearch {
 public:
  VSearch(const PassCosts& costs, std::int32_t m, FillChoices choices, std::vector<Ticks> approved)
      : costs_(costs),
        p_(static_cast<std::int32_t>(costs.stages.size() / 2)),
        m_(m),
        choices_(choices),
        approved_(std::move(approved)),
        devices_(costs.stages.size() / 2) {
    for (Ticks one : approved_) most_approved_ = std::max(most_approved_, one);
    for (Device& one : devices_) {
      for (auto& ends : one.ends) ends.reserve(at(m));
      one.word.reserve(kVPassCount * at(m));
    }
  }

  /// False when memory does not suffice.
  bool run() {
    if (!first_descent() || !first_ascent()) return false;
    for (std::int32_t round = 0; round < 2 * m_; ++round) {
      if (!backwards() || !forwards()) return false;
    }
    for (std::int32_t d = 0; d < p_; ++d) {
      while (pending(d)) put_w(d);
    }
    return true;
  }

  Ticks worst_idle() const { return worst_idle_; }
  std::vector<Ticks> idle_times() const {
    std::vector<Ticks> times;
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
    Ticks clock = 0;
    Ticks idle = 0;  ///< since the first forward
    std::int64_t stash = 0;
    std::array<std::vector<Ticks>, kVPassCount> ends;
    std::vector<VPass> weights;  ///< W of every I so far, in order
    std::size_t weights_done = 0;
    VWord word;
  };

  static constexpr Ticks kUnknown = -1;

  static std::size_t at(std::int32_t d) { return static_cast<std::size_t>(d); }
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
  Ticks arrival(VPass pass, std::int32_t d) const {
    const std::int32_t source = goes_down(pass) ? d - 1 : d + 1;
    const auto k = at(count(d, pass));
    const auto& ends = devices_[at(source)].ends[index(pass)];
    return k < ends.size() ? ends[k] + costs_.comm : kUnknown;
  }

  /// False when the device's memory does not suffice, or the input does not exist.
  bool put(VPass pass, std::int32_t d) {
    Device& one = device(d);
    if (one.stash + cost(pass, d).stash > costs_.limit) return false;
    Ticks start = one.clock;
    if (has_remote_source(pass, d)) {
      if (arrival(pass, d) == kUnknown) return false;
      start = std::max(start, arrival(pass, d));
    } else if (!is_weight(pass) && pass != VPass::kF0 &&
               one.ends[index(pass) - 1].size() <= one.ends[index(pass)].size()) {
      return false;
    }
    if (count(d, VPass::kF0) > 0) {
      one.idle += start - one.clock;
      worst_idle_ = std::max(worst_idle_, one.idle);
    }
    one.clock = start + cost(pass, d).time;
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
    const Ticks ready = arrival(pass, d);
    if (ready == kUnknown) return;
    const auto weight_time = [&] { return cost(device(d).weights[device(d).weights_done], d).time; };
    while (pending(d) && ready >= device(d).clock + weight_time()) put_w(d);
    if (!pending(d) || !short_gaps) return;
    const Ticks harmless = std::max(worst_idle_, most_approved_ - approved_[at(d)]) - device(d).idle;
    if (ready - device(d).clock > harmless) put_w(d);
  }

  /// The first microbatch down and up again; while its F1 comes up, further F0 where time and memory allow.
  bool first_descent() {
    for (std::int32_t d = 0; d < p_; ++d) {
      if (!put(VPass::kF0, d)) return false;
    }
    for (std::int32_t d = p_ - 1; d >= 0; --d) {
      const Ticks deadline = d + 1 < p_ ? arrival(VPass::kF1, d) : 0;
      while (d + 1 < p_ && room_for_more(d) && device(d).clock + cost(VPass::kF0, d).time <= deadline &&
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
  std::vector<Ticks> approved_;
  Ticks most_approved_ = -1;
  Ticks worst_idle_ = 0;
  std::vector<Device> devices_;
};

struct Found {
  std::vector<VWord> words;
  Ticks idle = 0;
};

/// Runs with the idle times of the run before as allowance, while the longest one strictly shrinks.
std::optional<Found> refine(const PassCosts& costs, std::int32_t m, FillChoices choices) {
  std::optional<Found> best;
  std::vector<Ticks> approved(costs.stages.size() / 2, -1);
  while (true) {
    VSearch search(costs, m, choices, approved);
    if (!search.run() || (best && search.worst_idle() >= best->idle)) return best;
    best = Found{search.take_words(), search.worst_idle()};
    approved = search.idle_times();
  }
}

/// The best of all choices.
std::optional<Found> search_choices(const PassCosts& costs, std::int32_t num_microbatches) {
  std::optional<Found> best;
  constexpr std::array<bool, 2> kTries{true, false};
  for (const bool before_i : kTries) {
    for (const bool before_f : kTries) {
      auto found = refine(costs, num_microbatches, {.before_f = before_f, .before_i = before_i});
      if (found && (!best || found->idle < best->idle)) best = std::move(found);
    }
  }
  return best;
}

}  // namespace

std::optional<std::vector<VWord>> search_zb_v(const PassCosts& costs, std::int32_t num_microbatches) {
  std::optional<std::vector<VWord>> best;
  Ticks best_span = 0;
  WordTimer timer(costs, num_microbatches);
  const auto consider = [&](std::optional<Found> found) {
    if (!found || !timer.run(found->words)) return;
    if (best && timer.longest_device_span() >= best_span) return;
    best_span = timer.longest_device_span();
    best = std::move(found->words);
  };
  consider(search_choices(costs, num_microbatches));
  if (const auto uniform = with_median_times(costs)) consider(search_choices(*uniform, num_microbatches));
  return best;
}

}  // namespace plumb
