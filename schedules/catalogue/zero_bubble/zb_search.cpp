#include "schedules/catalogue/zero_bubble/zb_search.hpp"

#include <algorithm>

namespace plumb {
namespace {

/// One value of every hyper-parameter.
struct Choices {
  bool allow_gap = true;
  bool skip_forward = true;
  bool fill_small_gap = true;
};

/// The values that are tried, in order.
std::vector<bool> tries(const std::optional<bool>& given) {
  return given ? std::vector<bool>{*given} : std::vector<bool>{true, false};
}

/// One device while its word is written.
struct Device {
  std::int32_t f = 0;  ///< passes so far
  std::int32_t i = 0;
  std::int32_t w = 0;
  Ticks clock = 0;
  Ticks first_start = 0;
  Ticks idle = 0;  ///< since the first forward
  std::int64_t stash = 0;

  bool pending() const { return w < i; }
};

/// One run of the heuristic. Symbols: p devices, m microbatches; device j, microbatch k.
class Search {
 public:
  Search(const PassCosts& costs, std::span<const std::int64_t> limits, std::int32_t m, Choices choices)
      : costs_(costs),
        limits_(limits),
        p_(static_cast<std::int32_t>(costs.stages.size())),
        m_(m),
        choices_(choices),
        devices_(costs.stages.size()),
        words_(costs.stages.size()),
        needs_(costs.stages.size()),
        f_end_(costs.stages.size() * static_cast<std::size_t>(m)),
        i_end_(f_end_.size()) {
    for (auto& word : words_) word.reserve(static_cast<std::size_t>(m) * 3);
  }

  /// False when memory does not suffice.
  bool run() {
    if (!warm_up()) return false;
    for (std::int32_t round = 1; round < m_; ++round) {
      choose_forwards();
      for (std::int32_t j = 0; j < p_; ++j) {
        if (needs_[at(j)] && !forward(j)) return false;
      }
      for (std::int32_t j = p_ - 1; j >= 0; --j) {
        if (!input_grad(j)) return false;
      }
    }
    for (std::int32_t j = 0; j < p_; ++j) {
      while (device(j).pending()) put_w(j);
    }
    return true;
  }

  Ticks longest_device_span() const {
    Ticks longest = 0;
    for (const Device& one : devices_) longest = std::max(longest, one.clock - one.first_start);
    return longest;
  }

  std::vector<std::vector<Op>> take_words() { return std::move(words_); }

 private:
  static std::size_t at(std::int32_t j) { return static_cast<std::size_t>(j); }
  Device& device(std::int32_t j) { return devices_[at(j)]; }
  const StagePasses& passes(std::int32_t j) const { return costs_.stages[at(j)]; }
  Ticks& f_end(std::int32_t j, std::int32_t k) { return f_end_[at(j) * at(m_) + at(k)]; }
  Ticks& i_end(std::int32_t j, std::int32_t k) { return i_end_[at(j) * at(m_) + at(k)]; }
  /// What an F asks for: its stash, and room for the I that must follow where I makes more than it frees.
  std::int64_t room_for_f(std::int32_t j) const {
    return passes(j).f.stash + std::max<std::int64_t>(0, passes(j).i.stash);
  }
  bool fits(std::int32_t j, std::int64_t more) { return device(j).stash + more <= limits_[at(j)]; }

  /// When the value arrives that the next F or I of device j takes from its neighbour; 0 where there is none.
  Ticks f_ready(std::int32_t j) { return j == 0 ? 0 : f_end(j - 1, device(j).f) + costs_.comm; }
  Ticks i_ready(std::int32_t j) { return j + 1 == p_ ? 0 : i_end(j + 1, device(j).i) + costs_.comm; }

  void place(std::int32_t j, Op op, const PassCost& cost, Ticks ready) {
    Device& one = device(j);
    const Ticks start = std::max(one.clock, ready);
    if (one.f > 0) {
      one.idle += start - one.clock;
      worst_idle_ = std::max(worst_idle_, one.idle);
    } else {
      one.first_start = start;
    }
    one.clock = start + cost.time;
    one.stash += cost.stash;
    words_[at(j)].push_back(op);
  }
  void put_f(std::int32_t j) {
    place(j, Op::kF, passes(j).f, f_ready(j));
    f_end(j, device(j).f++) = device(j).clock;
  }
  void put_i(std::int32_t j) {
    place(j, Op::kI, passes(j).i, i_ready(j));
    i_end(j, device(j).i++) = device(j).clock;
  }
  void put_w(std::int32_t j) {
    place(j, Op::kW, passes(j).w, 0);
    ++device(j).w;
  }

  bool make_room(std::int32_t j, std::int64_t more) {
    while (!fits(j, more)) {
      if (!device(j).pending()) return false;
      put_w(j);
    }
    return true;
  }

  /// W into the time before `ready`; into a gap shorter than W where it would become the longest idle time.
  void fill(std::int32_t j, Ticks ready) {
    const Device& one = device(j);
    while (one.pending() && one.clock + passes(j).w.time <= ready) put_w(j);
    if (!one.pending() || one.clock >= ready) return;
    const bool harmless = ready - one.clock <= worst_idle_ - one.idle;
    if (!harmless || choices_.fill_small_gap) put_w(j);
  }

  bool forward(std::int32_t j) {
    if (!make_room(j, room_for_f(j))) return false;
    if (j > 0) fill(j, f_ready(j));
    put_f(j);
    return true;
  }

  bool input_grad(std::int32_t j) {
    if (!make_room(j, passes(j).i.stash)) return false;
    if (j + 1 < p_) fill(j, i_ready(j));
    while (j == 0 && device(0).f == m_ && device(0).pending()) put_w(0);
    put_i(j);
    return true;
  }

  /// The first microbatch all the way, with as many further forwards before its I as memory and time allow.
  bool warm_up() {
    for (std::int32_t j = 0; j < p_; ++j) {
      if (!fits(j, room_for_f(j))) return false;
      put_f(j);
    }
    std::vector<std::int32_t> more(devices_.size());
    Ticks gradient = f_end(p_ - 1, 0) + passes(p_ - 1).i.time;
    for (std::int32_t j = p_ - 2; j >= 0; --j) gradient = count_warm_up(j, gradient + costs_.comm, more[at(j)]);
    for (std::int32_t j = 1; j < p_; ++j) {
      // A stage upstream has strictly more, while there are any left.
      while (more[at(j)] > 0 && more[at(j)] >= more[at(j - 1)] && device(j).f + more[at(j)] < m_) --more[at(j)];
    }
    for (std::int32_t j = 0; j < p_; ++j) {
      for (std::int32_t k = 0; k < more[at(j)]; ++k) put_f(j);
    }
    for (std::int32_t j = p_ - 1; j >= 0; --j) {
      if (!make_room(j, passes(j).i.stash)) return false;
      put_i(j);
    }
    return true;
  }

  /// Further forwards of device j before the gradient that arrives at `gradient`; returns when its I will end.
  Ticks count_warm_up(std::int32_t j, Ticks gradient, std::int32_t& more) {
    const PassCost& f = passes(j).f;
    Ticks clock = device(j).clock;
    std::int64_t stash = device(j).stash;
    while (device(j).f + more < m_ && stash + room_for_f(j) <= limits_[at(j)]) {
      if (choices_.allow_gap ? clock + f.time > gradient : clock >= gradient) break;
      stash += f.stash;
      clock += f.time;
      ++more;
    }
    return std::max(clock, gradient) + passes(j).i.time;
  }

  void choose_forwards() {
    for (std::int32_t j = 0; j < p_; ++j) needs_[at(j)] = device(j).f < m_ && !skips(j);
    for (std::int32_t j = p_ - 2; j >= 0; --j) needs_[at(j)] = needs_[at(j)] && needs_[at(j + 1)];
  }

  /// Whether device j, two forwards ahead of the next one, had better wait for the next gradient.
  bool skips(std::int32_t j) {
    if (!choices_.skip_forward || j + 1 == p_ || device(j).f < device(j + 1).f + 2) return false;
    const Device& one = device(j);
    const Ticks next = device(j + 1).clock + passes(j + 1).f.time + passes(j + 1).i.time + costs_.comm;
    if (one.clock >= next) return true;
    std::int64_t stash = one.stash + room_for_f(j);
    Ticks weights = 0;  // those that must go first to make room
    for (std::int32_t w = one.w; w < one.i && stash > limits_[at(j)]; ++w) {
      stash += passes(j).w.stash;
      weights += passes(j).w.time;
    }
    if (one.clock + passes(j).f.time + weights <= next) return false;
    return next - one.clock <= worst_idle_ - one.idle;
  }

  const PassCosts& costs_;
  std::span<const std::int64_t> limits_;
  std::int32_t p_;
  std::int32_t m_;
  Choices choices_;
  Ticks worst_idle_ = 0;
  std::vector<Device> devices_;
  std::vector<std::vector<Op>> words_;
  std::vector<char> needs_;
  std::vector<Ticks> f_end_;
  std::vector<Ticks> i_end_;
};

/// The best of all combinations of the hyper-parameters.
std::optional<SearchedOrder> search_choices(const PassCosts& costs, std::span<const std::int64_t> limits,
                                            std::int32_t num_microbatches, const SearchChoices& choices) {
  std::optional<SearchedOrder> best;
  for (const bool allow_gap : tries(choices.allow_gap)) {
    for (const bool skip_forward : tries(choices.skip_forward)) {
      for (const bool fill_small_gap : tries(choices.fill_small_gap)) {
        Search search(costs, limits, num_microbatches, {allow_gap, skip_forward, fill_small_gap});
        if (!search.run()) continue;
        const Ticks span = search.longest_device_span();
        if (!best || span < best->longest_device_span) best = SearchedOrder{search.take_words(), span};
      }
    }
  }
  return best;
}

/// Runs words of a straight pipeline with every device as early as it can.
class WordRun {
 public:
  WordRun(const std::vector<std::vector<Op>>& words, const PassCosts& costs)
      : words_(words), costs_(costs), lanes_(words.size()) {}

  Ticks longest_device_span() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t d = 0; d < lanes_.size(); ++d) {
        while (step(d)) moved = true;
      }
    }
    Ticks longest = 0;
    for (const Lane& lane : lanes_) longest = std::max(longest, lane.clock - lane.first_start);
    return longest;
  }

 private:
  struct Lane {
    std::size_t next = 0;
    Ticks clock = 0;
    Ticks first_start = 0;
    std::vector<Ticks> f_ends;
    std::vector<Ticks> i_ends;
  };

  bool step(std::size_t d) {
    Lane& own = lanes_[d];
    if (own.next == words_[d].size()) return false;
    const Op op = words_[d][own.next];
    const StagePasses& passes = costs_.stages[d];
    std::vector<Ticks>* ends = op == Op::kF ? &own.f_ends : op == Op::kI ? &own.i_ends : nullptr;
    const std::vector<Ticks>* source = nullptr;
    if (op == Op::kF && d > 0) source = &lanes_[d - 1].f_ends;
    if (op == Op::kI && d + 1 < lanes_.size()) source = &lanes_[d + 1].i_ends;
    if (source != nullptr && source->size() <= ends->size()) return false;
    const Ticks start = source == nullptr ? own.clock : std::max(own.clock, (*source)[ends->size()] + costs_.comm);
    if (own.next++ == 0) own.first_start = start;
    own.clock = start + (op == Op::kF ? passes.f : op == Op::kI ? passes.i : passes.w).time;
    if (ends != nullptr) ends->push_back(own.clock);
    return true;
  }

  const std::vector<std::vector<Op>>& words_;
  const PassCosts& costs_;
  std::vector<Lane> lanes_;
};

}  // namespace

std::optional<SearchedOrder> search_zero_bubble(const PassCosts& costs, std::span<const std::int64_t> limits,
                                                std::int32_t num_microbatches, const SearchChoices& choices) {
  auto best = search_choices(costs, limits, num_microbatches, choices);
  const auto uniform = with_median_times(costs);
  if (!uniform) return best;
  auto other = search_choices(*uniform, limits, num_microbatches, choices);
  if (!other) return best;
  other->longest_device_span = WordRun(other->devices, costs).longest_device_span();
  return !best || other->longest_device_span < best->longest_device_span ? other : best;
}

}  // namespace plumb
