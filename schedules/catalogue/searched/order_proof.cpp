#include "schedules/catalogue/searched/order_proof.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <unordered_set>
#include <utility>

#include "schedules/catalogue/searched/order_timer.hpp"

namespace plumb {
namespace {

enum class Answer : std::uint8_t { kYes, kNo, kOutOfStates };

/// Two 64-bit hashes over the same numbers.
struct StateKey {
  std::uint64_t first = 0x9E3779B97F4A7C15;
  std::uint64_t second = 0xC2B2AE3D27D4EB4F;

  void add(std::int64_t number) {
    const auto bits = static_cast<std::uint64_t>(number);
    first = (first ^ bits) * 0xFF51AFD7ED558CCD;
    first ^= first >> 32;
    second = (second + bits) * 0xC4CEB9FE1A85EC53;
    second ^= second >> 29;
  }
  friend bool operator==(const StateKey&, const StateKey&) = default;
};
struct HashOfKey {
  std::size_t operator()(const StateKey& key) const { return static_cast<std::size_t>(key.first); }
};

/// Whether an order exists whose longest device span is at most `most`.
class Decision {
 public:
  Decision(const OrderProblem& problem, Ticks most, std::int64_t& states)
      : problem_(problem),
        chain_(problem.chain_kinds()),
        m_(problem.num_microbatches),
        most_(most),
        states_(states),
        devices_(static_cast<std::size_t>(problem.num_devices)),
        words_(devices_.size()),
        ends_(static_cast<std::size_t>(problem.size())) {}

  Answer run() {
    for (std::int32_t d = 0; d < problem_.num_devices; ++d) {  // nothing else can come first
      if (problem_.pass(d, 0).stash > problem_.limit(d)) return Answer::kNo;
      device(d).wanted = 0;
    }
    return explore();
  }
  const std::vector<OrderWord>& words() const { return words_; }

 private:
  static constexpr std::int32_t kNothing = -1;

  struct Device {
    Ticks clock = 0;
    Ticks first_start = 0;
    Ticks weight_start = -1;  ///< of the pass before, if it is a W; otherwise -1
    std::int64_t stash = 0;
    std::int32_t wanted = kNothing;  ///< kind that comes next, while its input does not exist
    std::array<std::int32_t, OrderProblem::kMostKinds> counts{};
  };
  struct Placed {
    std::int32_t device = 0;
    Device before{};
  };

  static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }
  Device& device(std::int32_t d) { return devices_[at(d)]; }
  const Device& device(std::int32_t d) const { return devices_[at(d)]; }
  std::size_t place_of(std::int32_t d, std::int32_t kind, std::int32_t microbatch) const {
    return at(d * problem_.kinds + kind) * at(m_) + at(microbatch);
  }

  Answer explore() {
    if (states_ <= 0) return Answer::kOutOfStates;
    --states_;
    std::vector<Placed> placed;
    const Answer answer = place_wanted(placed) && is_short_enough() ? branch() : Answer::kNo;
    if (answer == Answer::kYes) return answer;
    for (std::size_t k = placed.size(); k-- > 0;) {
      device(placed[k].device) = placed[k].before;
      words_[at(placed[k].device)].pop_back();
    }
    return answer;
  }

  /// Places all wanted passes whose input exists; false when one of them had better not come next.
  bool place_wanted(std::vector<Placed>& placed) {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::int32_t d = 0; d < problem_.num_devices; ++d) {
        if (device(d).wanted == kNothing || !has_input(d, device(d).wanted)) continue;
        placed.push_back({d, device(d)});
        moved = true;
        if (!place(d)) return false;
      }
    }
    return true;
  }

  bool has_input(std::int32_t d, std::int32_t kind) const {
    const OrderProblem::Pass& pass = problem_.pass(d, kind);
    return pass.device < 0 || device(pass.device).counts[at(pass.kind)] > device(d).counts[at(kind)];
  }

  bool place(std::int32_t d) {
    Device& one = device(d);
    const std::int32_t kind = std::exchange(one.wanted, kNothing);
    const OrderProblem::Pass& pass = problem_.pass(d, kind);
    const std::int32_t microbatch = one.counts[at(kind)];
    const Ticks ready = pass.device < 0 ? 0 : ends_[place_of(pass.device, pass.kind, microbatch)] + pass.delay;
    const Ticks start = std::max(one.clock, ready);
    words_[at(d)].push_back(static_cast<std::uint8_t>(kind));
    const bool better = !problem_.is_weight(kind) && (wastes_gap(d, start) || had_better_go_first(d, pass, ready));
    if (words_[at(d)].size() == 1) one.first_start = start;
    one.weight_start = problem_.is_weight(kind) ? start : -1;
    one.clock = start + pass.time;
    one.stash += pass.stash;
    ++one.counts[at(kind)];
    ends_[place_of(d, kind, microbatch)] = one.clock;
    return !better;
  }

  /// Whether a W fits before a pass that starts at `start`.
  bool wastes_gap(std::int32_t d, Ticks start) const {
    const Device& one = device(d);
    if (start == one.clock) return false;
    for (std::int32_t kind = chain_; kind < problem_.kinds; ++kind) {
      const bool pending = one.counts[at(kind)] < one.counts[at(kind - problem_.kinds / 3)];
      if (pending && start - one.clock >= problem_.pass(d, kind).time) return true;
    }
    return false;
  }

  /// Whether a pass that follows a W could have run before it.
  bool had_better_go_first(std::int32_t d, const OrderProblem::Pass& pass, Ticks ready) const {
    const Device& one = device(d);
    if (one.weight_start < 0 || one.clock == one.weight_start || ready > one.weight_start) return false;
    const std::int32_t weight = words_[at(d)][words_[at(d)].size() - 2];
    return pass.stash <= 0 || one.stash - problem_.pass(d, weight).stash + pass.stash <= problem_.limit(d);
  }

  bool is_short_enough() const {
    Ticks last = 0;  // end of the last pass of the kind, on the device it comes from
    for (std::int32_t kind = 0; kind < chain_; ++kind) {
      for (std::int32_t step = 0; step < problem_.num_devices; ++step) {
        const std::int32_t d = kind % 2 == 0 ? step : problem_.num_devices - 1 - step;
        const Device& one = device(d);
        const OrderProblem::Pass& pass = problem_.pass(d, kind);
        if (one.counts[at(kind)] == m_) {
          last = ends_[place_of(d, kind, m_ - 1)];
          continue;
        }
        Ticks busy = one.clock;
        for (std::int32_t k = 0; k <= kind; ++k) busy += (m_ - one.counts[at(k)]) * problem_.pass(d, k).time;
        last = std::max(busy, pass.device < 0 ? 0 : last + pass.delay + pass.time);
        if (problem_.is_forward(kind) || words_[at(d)].empty()) continue;
        if (last + problem_.pass(d, problem_.weight_of(kind)).time > one.first_start + most_) return false;
      }
    }
    for (std::int32_t d = 0; d < problem_.num_devices; ++d) {
      const Device& one = device(d);
      Ticks end = one.clock;
      for (std::int32_t k = 0; k < problem_.kinds; ++k) end += (m_ - one.counts[at(k)]) * problem_.pass(d, k).time;
      if (!words_[at(d)].empty() && end > one.first_start + most_) return false;
    }
    return true;
  }

  /// Tries all kinds on the device that is free first.
  Answer branch() {
    std::int32_t chosen = kNothing;
    bool done = true;
    for (std::int32_t d = 0; d < problem_.num_devices; ++d) {
      const bool complete = words_[at(d)].size() == at(problem_.kinds) * at(m_);
      done = done && complete;
      if (complete || device(d).wanted != kNothing) continue;
      if (chosen == kNothing || device(d).clock < device(chosen).clock) chosen = d;
    }
    if (done) return Answer::kYes;
    if (chosen == kNothing) return Answer::kNo;  // all wait for each other
    const StateKey key = key_of_state();
    if (vain_.contains(key)) return Answer::kNo;
    for (const std::int32_t kind : kinds_by_start(chosen)) {
      device(chosen).wanted = kind;
      const Answer answer = explore();
      if (answer != Answer::kNo) return answer;
      device(chosen).wanted = kNothing;
    }
    vain_.insert(key);
    return Answer::kNo;
  }

  /// The kinds that may come next on a device, those first that can start first (of these the one furthest along).
  std::vector<std::int32_t> kinds_by_start(std::int32_t d) const {
    const Device& one = device(d);
    std::vector<std::pair<Ticks, std::int32_t>> order;
    for (std::int32_t kind = 0; kind < problem_.kinds; ++kind) {
      const OrderProblem::Pass& pass = problem_.pass(d, kind);
      if (one.counts[at(kind)] == m_ || (pass.stash > 0 && one.stash + pass.stash > problem_.limit(d))) continue;
      if (pass.device == d && !has_input(d, kind)) continue;
      Ticks start = most_ + one.first_start;
      if (pass.device < 0) start = one.clock;
      if (pass.device >= 0 && has_input(d, kind)) {
        start = std::max(one.clock, ends_[place_of(pass.device, pass.kind, one.counts[at(kind)])] + pass.delay);
      }
      order.emplace_back(2 * start + problem_.is_weight(kind), -kind);
    }
    std::sort(order.begin(), order.end());
    std::vector<std::int32_t> kinds;
    for (const auto& [start, kind] : order) kinds.push_back(-kind);
    return kinds;
  }

  StateKey key_of_state() const {
    StateKey key;
    for (std::int32_t d = 0; d < problem_.num_devices; ++d) {
      const Device& one = device(d);
      key.add(one.clock);
      key.add(one.weight_start);
      key.add(one.wanted);
      for (std::int32_t kind = 0; kind < problem_.kinds; ++kind) {
        key.add(one.counts[at(kind)]);
        const OrderProblem::Pass& pass = problem_.pass(d, kind);
        if (pass.device < 0 || problem_.is_weight(kind)) continue;
        for (std::int32_t k = one.counts[at(kind)]; k < device(pass.device).counts[at(pass.kind)]; ++k) {
          key.add(ends_[place_of(pass.device, pass.kind, k)]);
        }
      }
    }
    return key;
  }

  const OrderProblem& problem_;
  std::int32_t chain_;
  std::int32_t m_;
  Ticks most_;
  std::int64_t& states_;
  std::vector<Device> devices_;
  std::vector<OrderWord> words_;
  std::vector<Ticks> ends_;  ///< by device, kind, microbatch
  std::unordered_set<StateKey, HashOfKey> vain_;
};

/// All times are multiples of it.
Ticks step_of_time(const OrderProblem& problem) {
  Ticks step = 0;
  for (const OrderProblem::Pass& pass : problem.passes) step = std::gcd(step, std::gcd(pass.time, pass.delay));
  return std::max<Ticks>(1, step);
}

}  // namespace

ProvedOrder prove_order(const OrderProblem& problem, ProvedOrder known, std::int64_t states) {
  const Ticks step = step_of_time(problem);
  const auto decide = [&](Ticks most, std::int64_t share) {
    std::int64_t left = share;
    Decision decision(problem, most, left);
    const Answer answer = decision.run();
    states -= share - left;
    if (answer == Answer::kNo) known.bound = most + step;
    if (answer == Answer::kYes) {
      OrderTimer timer(problem);
      timer.run(decision.words());
      known.words = decision.words();
      known.found = timer.longest_device_span();
    }
    return answer;
  };
  known.bound = (known.bound + step - 1) / step * step;
  // Most often the order is optimal: prove that first, with half of the states. Then raise the bound from below.
  while (known.bound < known.found && decide(known.found - step, states / 2) == Answer::kYes) {
  }
  while (known.bound < known.found && states > 0 && decide(known.bound, states) != Answer::kOutOfStates) {
  }
  return known;
}

}  // namespace plumb
