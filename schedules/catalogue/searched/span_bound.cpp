#include "schedules/catalogue/searched/span_bound.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "schedules/catalogue/searched/microbatch_mix.hpp"

namespace plumb {
namespace {

/// What a microbatch can have behind it on a device: the first `level` kinds of the chain, and some of their W.
struct PathState {
  std::int32_t level = 0;
  std::int64_t stash = 0;
  Ticks chain = 0;    ///< time of those passes of the chain
  Ticks weights = 0;  ///< and of those W
};

/// The four bounds, with the symbols of the header: device d or b, kinds x, y, i, j.
class SpanBound {
 public:
  explicit SpanBound(const OrderProblem& problem)
      : problem_(problem),
        last_(problem.chain_kinds() - 1),
        m_(problem.num_microbatches),
        earliest_(static_cast<std::size_t>(problem.num_devices)),
        states_(static_cast<std::size_t>(problem.num_devices)) {
    for (std::int32_t kind = 0; kind <= last_; ++kind) {
      for (std::int32_t step = 0; step < problem.num_devices; ++step) {
        const std::int32_t d = kind % 2 == 0 ? step : problem.num_devices - 1 - step;
        const OrderProblem::Pass& pass = problem.pass(d, kind);
        const Ticks before = pass.device < 0 ? 0 : earliest(pass.device, pass.kind) + time(pass.device, pass.kind);
        earliest_[at(d)][at(kind)] = before + pass.delay;
      }
    }
    for (std::int32_t d = 0; d < problem.num_devices; ++d) states_[at(d)] = all_states(d);
  }

  Ticks bound() const {
    Ticks best = 0;
    std::vector<Ticks> bodies;
    for (std::int32_t d = 0; d < problem_.num_devices; ++d) {
      best = std::max({best, m_ * problem_.work(d) + windows(d, true), stash_times_time(d), chains(d)});
      bodies.push_back(longest_body(d));
    }
    for (std::int32_t d = 0; d < problem_.num_devices; ++d) {
      for (std::int32_t b = 0; b < problem_.num_devices; ++b) {
        best = std::max(best, head_body_tail(d, b, bodies[at(b)]));
      }
    }
    return best;
  }

 private:
  using ByKind = std::array<Ticks, OrderProblem::kMostKinds>;

  static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }
  Ticks time(std::int32_t d, std::int32_t kind) const { return problem_.pass(d, kind).time; }
  Ticks earliest(std::int32_t d, std::int32_t kind) const { return earliest_[at(d)][at(kind)]; }
  Ticks weight_time(std::int32_t d, std::int32_t kind) const {
    return problem_.is_forward(kind) ? 0 : time(d, problem_.weight_of(kind));
  }

  std::vector<PathState> all_states(std::int32_t d) const {
    std::vector<PathState> all{{}};
    std::vector<PathState> front{{}};
    for (std::int32_t kind = 0; kind <= last_; ++kind) {
      std::vector<PathState> next;
      for (PathState one : front) {
        one.level = kind + 1;
        one.stash += problem_.pass(d, kind).stash;
        one.chain += time(d, kind);
        next.push_back(one);
        if (problem_.is_forward(kind)) continue;
        one.stash += problem_.pass(d, problem_.weight_of(kind)).stash;
        one.weights += weight_time(d, kind);
        next.push_back(one);
      }
      // W of an earlier I may also come later: the states that have it are among those of the level already.
      all.insert(all.end(), next.begin(), next.end());
      front = std::move(next);
    }
    return all;
  }

  /// How many kinds a microbatch has behind it: at least, and at most.
  struct Levels {
    std::int32_t low = 0;
    std::int32_t high = 0;
  };

  /// The largest sum of `value` over `count` microbatches of device d at these levels, within `limit` of memory.
  template <class Value>
  std::int64_t most(std::int32_t d, Levels levels, std::int64_t count, std::int64_t limit, Value&& value) const {
    std::vector<MicrobatchState> states;
    for (const PathState& one : states_[at(d)]) {
      if (one.level >= levels.low && one.level <= levels.high) states.push_back({one.stash, value(one)});
    }
    return most_value(std::move(states), count, limit);
  }

  /// Idle time (or with `weights` false: time without passes of the chain) before kind x.
  Ticks before(std::int32_t d, std::int32_t x, bool weights) const {
    const Ticks most_work = most(d, {0, x}, m_, problem_.limit(d),
                                 [&](const PathState& one) { return one.chain + (weights ? one.weights : 0); });
    return std::max<Ticks>(0, earliest(d, x) - earliest(d, 0) - most_work);
  }

  /// The same between the last passes of kinds y and C - 1.
  Ticks after(std::int32_t d, std::int32_t y, bool weights) const {
    Ticks chain = 0;
    Ticks all_weights = 0;
    for (std::int32_t kind = 0; kind <= last_; ++kind) {
      chain += time(d, kind);
      all_weights += weight_time(d, kind);
    }
    std::int64_t own_stash = std::numeric_limits<std::int64_t>::max();
    for (const PathState& one : states_[at(d)]) {
      if (one.level == y + 1) own_stash = std::min(own_stash, one.stash);
    }
    Ticks work = weights ? all_weights - weight_time(d, last_) : 0;  // of the last microbatch
    for (std::int32_t kind = y + 1; kind < last_; ++kind) work += time(d, kind);
    work += most(d, {y + 1, last_ + 1}, m_ - 1, problem_.limit(d) - std::max<std::int64_t>(0, own_stash),
                 [&](const PathState& one) { return chain - one.chain + (weights ? all_weights - one.weights : 0); });
    return std::max<Ticks>(0, earliest(d, last_) - earliest(d, y) - time(d, y) - work);
  }

  /// Whether the last pass of kind y starts after e(d, x).
  bool are_disjoint(std::int32_t d, std::int32_t x, std::int32_t y) const {
    return y >= x || most(d, {0, x}, m_, problem_.limit(d),
                          [&](const PathState& one) { return static_cast<std::int64_t>(one.level > y); }) < m_;
  }

  Ticks windows(std::int32_t d, bool weights) const {
    ByKind early{};
    ByKind late{};
    Ticks best = 0;
    for (std::int32_t x = 1; x <= last_; ++x) best = std::max(best, early[at(x)] = before(d, x, weights));
    for (std::int32_t y = 0; y < last_; ++y) best = std::max(best, late[at(y)] = after(d, y, weights));
    for (std::int32_t x = 1; x <= last_; ++x) {
      for (std::int32_t y = 0; y < last_; ++y) {
        if (early[at(x)] > 0 && late[at(y)] > 0 && early[at(x)] + late[at(y)] > best && are_disjoint(d, x, y)) {
          best = early[at(x)] + late[at(y)];
        }
      }
    }
    return best;
  }

  /// From the first to the last pass of the chain on device b.
  Ticks longest_body(std::int32_t b) const {
    Ticks chain = 0;
    Ticks all_weights = 0;
    for (std::int32_t kind = 0; kind <= last_; ++kind) {
      chain += time(b, kind);
      all_weights += weight_time(b, kind);
    }
    const Ticks put_off = most(b, {last_ + 1, last_ + 1}, m_, problem_.limit(b),
                               [&](const PathState& one) { return all_weights - one.weights; });
    Ticks before_i = 0;
    for (std::int32_t x = 1; x <= (last_ + 1) / 2; ++x) before_i = std::max(before_i, before(b, x, false));
    return m_ * chain + std::max(windows(b, false), before_i + m_ * all_weights - put_off);
  }

  Ticks head_body_tail(std::int32_t d, std::int32_t b, Ticks whole_body) const {
    const Ticks rest = time(d, last_) + weight_time(d, last_) - earliest(d, 0);
    Ticks best = 0;
    for (std::int32_t i = 0; i <= last_; ++i) {
      Ticks work = 0;
      for (std::int32_t j = i; j <= last_; ++j) {
        work += m_ * time(b, j);
        const Ticks tail = earliest(d, last_) - earliest(b, j) - time(b, j);
        if (j == last_ && b == d) {
          best = std::max(best, earliest(b, i) + (i == 0 ? whole_body : work) + weight_time(d, last_) - earliest(d, 0));
        } else if (j < last_ || b > d) {
          const Ticks body = i == 0 && j == last_ ? whole_body : work;
          best = std::max(best, earliest(b, i) + body + tail + rest);
        }
      }
    }
    return best;
  }

  Ticks stash_times_time(std::int32_t d) const {
    __extension__ using WideProduct = __int128;
    WideProduct sum = 0;
    for (std::int32_t f = 0; problem_.is_forward(f); ++f) {
      const std::int32_t i = problem_.forward_of(f);
      const std::int64_t kept = problem_.pass(d, f).stash;
      const std::int64_t then = kept + problem_.pass(d, i).stash;
      if (kept < 0 || then < 0) return 0;
      sum += WideProduct{kept} * (earliest(d, i) - earliest(d, f)) + WideProduct{std::max(kept, then)} * time(d, i);
      sum += WideProduct{then} * weight_time(d, i);
    }
    const std::int64_t limit = std::max<std::int64_t>(1, problem_.limit(d));
    return static_cast<Ticks>((sum * m_ + limit - 1) / limit);
  }

  Ticks chains(std::int32_t d) const {
    Ticks best = 0;
    for (std::int32_t f = 0; problem_.is_forward(f); ++f) {
      const std::int32_t i = problem_.forward_of(f);
      const std::int64_t kept = problem_.pass(d, f).stash;
      if (kept <= 0 || problem_.limit(d) < kept) continue;
      const std::int64_t fit = std::min<std::int64_t>(m_, problem_.limit(d) / kept);
      const std::int64_t left = kept + problem_.pass(d, i).stash;
      const bool frees = problem_.pass(d, i).stash <= 0 && left > problem_.limit(d) - fit * kept;
      const Ticks round = earliest(d, i) - earliest(d, f) + time(d, i);
      const Ticks next = round + (frees ? std::min(time(d, i), weight_time(d, i)) : 0);
      const Ticks starts = (m_ - 1) % fit * time(d, f) + (m_ - 1) / fit * next;
      best = std::max(best, earliest(d, last_) + time(d, last_) + weight_time(d, last_) - earliest(d, 0) + starts);
    }
    return best;
  }

  const OrderProblem& problem_;
  std::int32_t last_;  ///< kind C - 1
  std::int64_t m_;
  std::vector<ByKind> earliest_;                ///< by device, kind
  std::vector<std::vector<PathState>> states_;  ///< by device
};

}  // namespace

Ticks least_span(const OrderProblem& problem) { return SpanBound(problem).bound(); }

}  // namespace plumb
