#include "schedules/catalogue/zero_bubble/zb_search.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>

#include "schedules/catalogue/searched/order_timer.hpp"
#include "schedules/catalogue/searched/span_bound.hpp"

namespace plumb {
namespace {

/// What makes a stage that is ahead leave out a forward: nothing, the published rule, or that rule with the W that the
/// stage could do meanwhile counted as time that is not lost.
enum class Skip : std::uint8_t { kNeverSkip, kPublishedSkip, kSkipAfterWeights };

/// One value of every hyper-parameter.
struct Choices {
  bool allow_gap = true;
  Skip skip_forward = Skip::kPublishedSkip;
  bool fill_small_gap = true;
  Ticks tie = 0;  ///< 1: comparisons of times at a tie are decided the other way
};

constexpr Ticks kNoSpan = std::numeric_limits<Ticks>::max();

/// The values that are tried, in order.
std::vector<bool> tries(const std::optional<bool>& given) {
  return given ? std::vector<bool>{*given} : std::vector<bool>{true, false};
}

/// Times of the passes of a stage.
template <class Time>
struct StageTimesOf {
  Time f;
  Time i;
  Time w;
};

/// One device while its word is written.
template <class Time>
struct DeviceOf {
  std::int32_t f = 0;  ///< passes so far
  std::int32_t i = 0;
  std::int32_t w = 0;
  Time clock = 0;
  Time first_start = 0;
  Time idle = 0;  ///< since the first forward
  std::int64_t stash = 0;

  bool pending() const { return w < i; }
};

struct Inputs {
  const PassCosts& costs;
  std::span<const std::int64_t> limits;
  std::int32_t num_microbatches = 0;
  Ticks enough = 0;  ///< a span that no order can beat
};

/// One run of the heuristic, in ticks, or in milliseconds (`double`) as in the released code: rounding then decides
/// comparisons at ties as it does there. Symbols: p devices, m microbatches; device j, microbatch k.
template <class Time>
class Search {
 public:
  Search(const Inputs& inputs, Choices choices)
      : costs_(inputs.costs),
        limits_(inputs.limits),
        p_(static_cast<std::int32_t>(costs_.stages.size())),
        m_(inputs.num_microbatches),
        choices_(choices),
        comm_(as_time(costs_.comm)),
        tie_(static_cast<Time>(choices.tie)),
        devices_(costs_.stages.size()),
        words_(devices_.size()),
        needs_(devices_.size()),
        f_end_(devices_.size() * at(m_)),
        i_end_(f_end_.size()) {
    for (auto& word : words_) word.reserve(at(m_) * 3);
    for (const StagePasses& stage : costs_.stages) {
      times_.push_back({as_time(stage.f.time), as_time(stage.i.time), as_time(stage.w.time)});
    }
  }

  /// False when memory does not suffice, or as soon as no device span below `below` is left.
  bool run(Time below) {
    if (!warm_up()) return false;
    for (std::int32_t round = 1; round < m_; ++round) {
      if (least_span() >= below) return false;
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

  Time longest_device_span() const {
    Time longest = 0;
    for (const Device& one : devices_) longest = std::max(longest, one.clock - one.first_start);
    return longest;
  }

  const std::vector<OrderWord>& words() const { return words_; }
  std::vector<OrderWord> take_words() { return std::move(words_); }

 private:
  using Device = DeviceOf<Time>;

  static constexpr std::uint8_t kF = 0;
  static constexpr std::uint8_t kI = 1;
  static constexpr std::uint8_t kW = 2;

  static std::size_t at(std::int32_t j) { return static_cast<std::size_t>(j); }
  Time as_time(Ticks ticks) const {
    if constexpr (std::is_same_v<Time, Ticks>)
      return ticks;
    else
      return static_cast<Time>(ticks) / costs_.ticks_per_ms;
  }
  /// That of the device with the most work and idle time so far.
  Time least_span() const {
    Time least = 0;
    for (std::int32_t j = 0; j < p_; ++j) {
      const StageTimesOf<Time>& one = times(j);
      least = std::max(least, devices_[at(j)].idle + static_cast<Time>(m_) * (one.f + one.i + one.w));
    }
    return least;
  }
  /// a <= b; at a tie as the choices say.
  bool within(Time a, Time b) const { return a + tie_ <= b; }

  Device& device(std::int32_t j) { return devices_[at(j)]; }
  const StagePasses& passes(std::int32_t j) const { return costs_.stages[at(j)]; }
  const StageTimesOf<Time>& times(std::int32_t j) const { return times_[at(j)]; }
  Time& f_end(std::int32_t j, std::int32_t k) { return f_end_[at(j) * at(m_) + at(k)]; }
  Time& i_end(std::int32_t j, std::int32_t k) { return i_end_[at(j) * at(m_) + at(k)]; }
  /// What an F asks for: its stash, and room for the I that must follow where I makes more than it frees.
  std::int64_t room_for_f(std::int32_t j) const {
    return passes(j).f.stash + std::max<std::int64_t>(0, passes(j).i.stash);
  }
  bool fits(std::int32_t j, std::int64_t more) { return device(j).stash + more <= limits_[at(j)]; }

  /// When the value arrives that the next F or I of device j takes from its neighbour; 0 where there is none.
  Time f_ready(std::int32_t j) { return j == 0 ? 0 : f_end(j - 1, device(j).f) + comm_; }
  Time i_ready(std::int32_t j) { return j + 1 == p_ ? 0 : i_end(j + 1, device(j).i) + comm_; }

  void place(std::int32_t j, std::uint8_t kind, Time time, Time ready) {
    Device& one = device(j);
    const Time start = std::max(one.clock, ready);
    if (one.f > 0) {
      one.idle += (start + time) - (one.clock + time);
      worst_idle_ = std::max(worst_idle_, one.idle);
    } else {
      one.first_start = start;
    }
    one.clock = start + time;
    words_[at(j)].push_back(kind);
  }
  void put_f(std::int32_t j) {
    place(j, kF, times(j).f, f_ready(j));
    device(j).stash += passes(j).f.stash;
    f_end(j, device(j).f++) = device(j).clock;
  }
  void put_i(std::int32_t j) {
    place(j, kI, times(j).i, i_ready(j));
    device(j).stash += passes(j).i.stash;
    i_end(j, device(j).i++) = device(j).clock;
  }
  void put_w(std::int32_t j) {
    place(j, kW, times(j).w, 0);
    device(j).stash += passes(j).w.stash;
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
  void fill(std::int32_t j, Time ready) {
    const Device& one = device(j);
    while (one.pending() && within(one.clock + times(j).w, ready)) put_w(j);
    if (!one.pending() || one.clock >= ready) return;
    const bool harmless = within(ready - one.clock, worst_idle_ - one.idle);
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
    Time gradient = f_end(p_ - 1, 0) + times(p_ - 1).i;
    for (std::int32_t j = p_ - 2; j >= 0; --j) gradient = count_warm_up(j, gradient + comm_, more[at(j)]);
    for (std::int32_t j = 1; j < p_; ++j) {
      // A stage upstream has strictly more, unless it has all.
      while (more[at(j)] > 0 && more[at(j)] >= more[at(j - 1)] && device(j - 1).f + more[at(j - 1)] < m_) --more[at(j)];
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
  Time count_warm_up(std::int32_t j, Time gradient, std::int32_t& more) {
    Time clock = device(j).clock;
    std::int64_t stash = device(j).stash;
    while (device(j).f + more < m_ && stash + room_for_f(j) <= limits_[at(j)]) {
      if (choices_.allow_gap ? !within(clock + times(j).f, gradient) : within(gradient, clock)) break;
      stash += passes(j).f.stash;
      clock += times(j).f;
      ++more;
    }
    return std::max(clock, gradient) + times(j).i;
  }

  void choose_forwards() {
    for (std::int32_t j = 0; j < p_; ++j) needs_[at(j)] = device(j).f < m_ && !skips(j);
    for (std::int32_t j = p_ - 2; j >= 0; --j) needs_[at(j)] = needs_[at(j)] && needs_[at(j + 1)];
  }

  /// Whether device j, two forwards ahead of the next one, had better wait for the next gradient.
  bool skips(std::int32_t j) {
    if (choices_.skip_forward == Skip::kNeverSkip || j + 1 == p_ || device(j).f < device(j + 1).f + 2) return false;
    const Device& one = device(j);
    const Time next = device(j + 1).clock + times(j + 1).f + times(j + 1).i + comm_;
    if (within(next, one.clock)) return true;
    std::int64_t stash = one.stash + room_for_f(j);
    Time weights = 0;  // those that must go first to make room
    for (std::int32_t w = one.w; w < one.i && stash > limits_[at(j)]; ++w) {
      stash += passes(j).w.stash;
      weights += times(j).w;
    }
    if (within(one.clock + times(j).f + weights, next)) return false;
    const auto pending = static_cast<Time>(choices_.skip_forward == Skip::kSkipAfterWeights ? one.i - one.w : 0);
    return within(next - (one.clock + pending * times(j).w), worst_idle_ - one.idle);
  }

  const PassCosts& costs_;
  std::span<const std::int64_t> limits_;
  std::int32_t p_;
  std::int32_t m_;
  Choices choices_;
  Time comm_;
  Time tie_;
  Time worst_idle_ = 0;
  std::vector<StageTimesOf<Time>> times_;
  std::vector<Device> devices_;
  std::vector<OrderWord> words_;
  std::vector<char> needs_;
  std::vector<Time> f_end_;
  std::vector<Time> i_end_;
};

std::vector<Skip> skips_to_try(const std::optional<bool>& given, bool widely) {
  if (given) return {*given ? Skip::kPublishedSkip : Skip::kNeverSkip};
  if (widely) return {Skip::kSkipAfterWeights};
  return {Skip::kPublishedSkip, Skip::kNeverSkip};
}

/// The best order so far, by the times that the heuristic is given.
struct BestWords {
  std::vector<OrderWord> words{};
  Ticks span = kNoSpan;
};

/// All combinations of the hyper-parameters with `tie`, the second rule for skipping only (`second_rule`) or without
/// it.
void try_choices(const Inputs& inputs, const SearchChoices& choices, Ticks tie, bool second_rule, BestWords& best) {
  for (const bool allow_gap : tries(choices.allow_gap)) {
    for (const Skip skip : skips_to_try(choices.skip_forward, second_rule)) {
      for (const bool fill : tries(choices.fill_small_gap)) {
        if (best.span <= inputs.enough) return;
        Search<Ticks> search(inputs, {allow_gap, skip, fill, tie});
        if (!search.run(best.span) || search.longest_device_span() >= best.span) continue;
        best.span = search.longest_device_span();
        best.words = search.take_words();
      }
    }
  }
}

/// Ties matter little where the best order is above the bound by more than one part in so many.
constexpr Ticks kTiePart = 16;

BestWords search_with(const Inputs& inputs, const SearchChoices& choices, bool widely) {
  BestWords best;
  try_choices(inputs, choices, 0, false, best);
  if (!widely || best.span > inputs.enough + inputs.enough / kTiePart) return best;
  try_choices(inputs, choices, 1, false, best);
  for (const Ticks tie : {0, 1}) try_choices(inputs, choices, tie, true, best);
  return best;
}

/// All combinations as the released code runs them.
void try_in_milliseconds(const Inputs& inputs, const OrderProblem& problem, BestWords& best) {
  OrderTimer timer(problem);
  for (const bool allow_gap : {true, false}) {
    for (const Skip skip : {Skip::kPublishedSkip, Skip::kNeverSkip}) {
      for (const bool fill : {true, false}) {
        constexpr double kRounding = 1e-6;
        Search<double> search(inputs, {allow_gap, skip, fill});
        const double below = static_cast<double>(best.span) / inputs.costs.ticks_per_ms * (1 + kRounding);
        if (!search.run(below) || !timer.run(search.words()) || timer.longest_device_span() >= best.span) continue;
        best = {search.take_words(), timer.longest_device_span()};
      }
    }
  }
}

}  // namespace

std::optional<ProvedOrder> search_zero_bubble(const PassCosts& costs, std::span<const std::int64_t> limits,
                                              std::int32_t num_microbatches, const SearchChoices& choices,
                                              SearchEffort effort) {
  const bool widely = effort.improve && choices.are_open();
  const OrderProblem problem = straight_problem(costs, limits, num_microbatches);
  const Ticks bound = least_span(problem);
  BestWords best = search_with({costs, limits, num_microbatches, bound}, choices, widely);
  const auto uniform = with_median_times(costs);
  if (uniform && best.span > bound) {
    BestWords other = search_with({*uniform, limits, num_microbatches, 0}, choices, widely);
    OrderTimer timer(problem);
    if (!other.words.empty() && timer.run(other.words) && timer.longest_device_span() < best.span) {
      best = {std::move(other.words), timer.longest_device_span()};
    }
  }
  if (widely && best.span > bound && !are_whole(costs)) {
    try_in_milliseconds({costs, limits, num_microbatches, bound}, problem, best);
  }
  return best_order(problem, {.words = std::move(best.words), .found = best.span, .bound = bound},
                    {.improve = widely, .proof_states = effort.proof_states});
}

}  // namespace plumb
