#include "schedules/catalogue/searched/list_order.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace plumb {
namespace {

constexpr Ticks kNever = std::numeric_limits<Ticks>::max();

class ListRun {
 public:
  ListRun(const OrderProblem& problem, ListRule rule)
      : problem_(problem),
        rule_(rule),
        chain_(problem.chain_kinds()),
        devices_(static_cast<std::size_t>(problem.num_devices)),
        words_(devices_.size()),
        starts_(devices_.size(), kNever),
        stale_(devices_.size(), 1),
        ends_(static_cast<std::size_t>(problem.size())) {
    for (OrderWord& word : words_) word.reserve(at(problem.kinds) * at(problem.num_microbatches));
    for (std::int32_t d = 0; d < problem.num_devices; ++d) {
      std::int64_t stash = 0;
      for (std::int32_t kind = 0; kind < chain_; ++kind) {
        stash += problem.pass(d, kind).stash;
        device(d).stash_of_one = std::max(device(d).stash_of_one, stash);
      }
    }
  }

  bool run() {
    for (std::int64_t left = problem_.size(); left > 0; --left) {
      std::int32_t first = -1;
      for (std::int32_t d = 0; d < problem_.num_devices; ++d) {
        if (stale_[at(d)]) decide(d);
        if (first < 0 || starts_[at(d)] < starts_[at(first)]) first = d;
      }
      if (starts_[at(first)] == kNever) return false;
      place(first);
    }
    return true;
  }

  std::vector<OrderWord> take_words() { return std::move(words_); }

 private:
  struct Device {
    Ticks clock = 0;
    std::int64_t stash = 0;
    std::int64_t stash_of_one = 0;  ///< the most that one microbatch needs
    std::array<std::int32_t, OrderProblem::kMostKinds> counts{};
    std::int32_t next = -1;  ///< kind of the pass that starts next
  };

  static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }
  Device& device(std::int32_t d) { return devices_[at(d)]; }
  Ticks& end_of(std::int32_t d, std::int32_t kind, std::int32_t microbatch) {
    return ends_[at(d * problem_.kinds + kind) * at(problem_.num_microbatches) + at(microbatch)];
  }

  /// When the next pass of a kind could start; kNever while its input does not exist.
  Ticks arrival(std::int32_t d, std::int32_t kind) {
    const std::int32_t microbatch = device(d).counts[at(kind)];
    if (microbatch == problem_.num_microbatches) return kNever;
    const OrderProblem::Pass& pass = problem_.pass(d, kind);
    if (pass.device < 0) return 0;
    if (device(pass.device).counts[at(pass.kind)] <= microbatch) return kNever;
    return end_of(pass.device, pass.kind, microbatch) + pass.delay;
  }

  bool has_room(std::int32_t d, std::int32_t kind) {
    const Device& one = device(d);
    if (kind > 0) return one.stash + problem_.pass(d, kind).stash <= problem_.limit(d);
    std::int64_t promised = one.stash_of_one;
    for (std::int32_t later = 1; later < chain_; ++later) {
      const std::int64_t outstanding = one.counts[0] - one.counts[at(later)];
      promised += outstanding * std::max<std::int64_t>(0, problem_.pass(d, later).stash);
    }
    return one.stash + promised <= problem_.limit(d);
  }

  void decide(std::int32_t d) {
    Device& one = device(d);
    stale_[at(d)] = 0;
    Ticks soonest = kNever;
    std::int32_t soonest_kind = -1;
    bool lacks_room = false;
    for (std::int32_t k = 0; k < chain_; ++k) {
      const std::int32_t kind = rule_.backward_first ? chain_ - 1 - k : k;
      const Ticks ready = arrival(d, kind);
      if (ready == kNever) continue;
      if (!has_room(d, kind)) {
        lacks_room = lacks_room || ready <= one.clock;
      } else if (std::max(ready, one.clock) < soonest) {
        soonest = std::max(ready, one.clock);
        soonest_kind = kind;
      }
    }
    const std::int32_t weight = next_weight(d);
    const bool use_weight =
        weight >= 0 && soonest > one.clock &&
        (lacks_room || rule_.fill_short_gap || soonest - one.clock >= problem_.pass(d, weight).time);
    one.next = use_weight ? weight : soonest_kind;
    starts_[at(d)] = use_weight ? one.clock : soonest;
  }

  /// The W of the oldest I, -1 when there is none.
  std::int32_t next_weight(std::int32_t d) {
    std::int32_t best = -1;
    Ticks oldest = kNever;
    for (std::int32_t kind = chain_; kind < problem_.kinds; ++kind) {
      const Ticks end = arrival(d, kind);
      if (end < oldest) {
        oldest = end;
        best = kind;
      }
    }
    return best;
  }

  void place(std::int32_t d) {
    Device& one = device(d);
    const OrderProblem::Pass& pass = problem_.pass(d, one.next);
    one.clock = starts_[at(d)] + pass.time;
    one.stash += pass.stash;
    end_of(d, one.next, one.counts[at(one.next)]++) = one.clock;
    words_[at(d)].push_back(static_cast<std::uint8_t>(one.next));
    stale_[at(d)] = 1;
    const std::int32_t user = one.next % 2 == 0 ? d + 1 : d - 1;
    if (one.next < chain_ && user >= 0 && user < problem_.num_devices) stale_[at(user)] = 1;
  }

  const OrderProblem& problem_;
  ListRule rule_;
  std::int32_t chain_;
  std::vector<Device> devices_;
  std::vector<OrderWord> words_;
  std::vector<Ticks> starts_;  ///< of the next pass of every device; kNever while it depends on other devices
  std::vector<char> stale_;    ///< whether it must be decided again
  std::vector<Ticks> ends_;    ///< by device, kind, microbatch
};

}  // namespace

std::optional<std::vector<OrderWord>> list_order(const OrderProblem& problem, ListRule rule) {
  ListRun run(problem, rule);
  if (!run.run()) return std::nullopt;
  return run.take_words();
}

}  // namespace plumb
