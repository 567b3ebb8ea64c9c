#include "sim/planners/pipedream_flat.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/ground/error.hpp"
#include "sim/planners/numbers.hpp"

namespace plumb {
namespace {

/// Then plans improve on each other until none does.
constexpr int kBoundHalvings = 24;

class FlatSearch {
 public:
  FlatSearch(const AntichainStates& states, MachineLevel machine, const ProgramOptions& options)
      : states_(states),
        machine_(machine),
        options_(options),
        n_(states.size()),
        machines_(static_cast<std::size_t>(machine.count)),
        width_(machines_ * (machines_ - 1) / 2) {
    for (std::size_t q = 1; q <= machines_; ++q) {
      for (std::size_t k = 0; k < n_; ++k) {
        side_.push_back(states.compute_ns[k] + sync_per_byte(q) * states.parameter_bytes[k]);
      }
    }
  }

  /// Whether every stage can take at most `limit` (or, `below`, less). If so, the plan is in `from_`.
  bool can(double limit, bool below) {
    // key[state][used][own]: the largest right side among states in front of it that `used` machines can reach, for a
    // stage on `own` machines, and which state that is; used + own <= machines.
    key_.assign(n_ * width_, -kNever);
    which_.assign(n_ * width_, -1);
    from_.assign(n_ * (machines_ + 1), {});
    for (std::size_t j = 0; j < n_; ++j) {
      options_.stop.check();
      for (const std::int32_t step : states_.steps[j]) pass_on(static_cast<std::size_t>(step), j, limit, below);
      reach(j, limit, below);
    }
    for (std::size_t q = options_.fewer ? 1 : machines_; q <= machines_; ++q) {
      if (from_[(n_ - 1) * (machines_ + 1) + q].own > 0) return true;
    }
    return false;
  }

  /// Appends the stages of the plan of the last `can` that said yes; its largest stage.
  double take(Plan& plan) const {
    plan.stages.clear();
    std::size_t q = machines_;
    while (from_[(n_ - 1) * (machines_ + 1) + q].own == 0) --q;
    double slowest = 0;
    for (std::int32_t end = static_cast<std::int32_t>(n_) - 1; end >= 0;) {
      const auto j = static_cast<std::size_t>(end);
      const Choice choice = from_[j * (machines_ + 1) + q];
      PlanStage stage;
      stage.replicas = choice.own;
      stage.load_ns = cost(choice.cut, j, static_cast<std::size_t>(choice.own));
      slowest = std::max(slowest, stage.load_ns);
      NodeSet own = states_.layers[j];
      if (choice.cut >= 0) own -= states_.layers[static_cast<std::size_t>(choice.cut)];
      own.for_each([&](std::size_t k) { stage.layers.push_back(static_cast<std::int32_t>(k)); });
      plan.stages.push_back(std::move(stage));
      q -= static_cast<std::size_t>(choice.own);
      end = choice.cut;
    }
    std::reverse(plan.stages.begin(), plan.stages.end());
    return slowest;
  }

 private:
  struct Choice {
    std::int32_t cut = -1;
    std::int32_t own = 0;  ///< machines of the last stage; 0: not reached
  };

  double sync_per_byte(std::size_t q) const {
    const auto machines = static_cast<double>(q);
    return q == 1 ? 0 : 4e9 * (machines - 1) / (machine_.bytes_per_s * machines);
  }

  double side(std::size_t k, std::size_t q) const { return side_[(q - 1) * n_ + k]; }

  /// Of a pair in a row of the tables; pairs of one `used` follow each other.
  std::size_t pair(std::size_t used, std::size_t own) const {
    return (used - 1) * machines_ - used * (used - 1) / 2 + own - 1;
  }

  double transfer(std::size_t k, std::size_t q) const {
    if (options_.compression <= 0) return 0;
    return 2e9 * states_.output_bytes[k] / (machine_.bytes_per_s * static_cast<double>(q)) / options_.compression;
  }

  /// Transfers at the end of a stage; none after the last state.
  double outgoing(std::size_t j, std::size_t q) const { return j + 1 == n_ ? 0 : transfer(j, q); }

  double cost(std::int32_t cut, std::size_t j, std::size_t q) const {
    if (cut < 0) return side(j, q) / static_cast<double>(q);
    const auto k = static_cast<std::size_t>(cut);
    return std::max({(side(j, q) - side(k, q)) / static_cast<double>(q), transfer(k, q), outgoing(j, q)});
  }

  static bool within(double value, double limit, bool below) { return below ? value < limit : value <= limit; }

  void pass_on(std::size_t k, std::size_t j, double limit, bool below) {
    const std::size_t most = options_.straight ? 1 : machines_;
    const double* from_key = &key_[k * width_];
    const std::int32_t* from_which = &which_[k * width_];
    double* key = &key_[j * width_];
    std::int32_t* which = &which_[j * width_];
    for (std::size_t place = 0; place < width_; ++place) {
      if (from_key[place] <= key[place]) continue;
      key[place] = from_key[place];
      which[place] = from_which[place];
    }
    for (std::size_t used = 1; used < machines_; ++used) {
      if (from_[k * (machines_ + 1) + used].own == 0) continue;
      for (std::size_t own = 1; own <= std::min(most, machines_ - used); ++own) {
        const std::size_t place = pair(used, own);
        if (side(k, own) <= key[place] || !within(transfer(k, own), limit, below)) continue;
        key[place] = side(k, own);
        which[place] = static_cast<std::int32_t>(k);
      }
    }
  }

  void reach(std::size_t j, double limit, bool below) {
    const std::size_t most = options_.straight ? 1 : machines_;
    for (std::size_t own = 1; own <= most; ++own) {
      if (within(cost(-1, j, own), limit, below))
        from_[j * (machines_ + 1) + own] = {-1, static_cast<std::int32_t>(own)};
    }
    for (std::size_t q = 2; q <= machines_; ++q) {
      Choice& choice = from_[j * (machines_ + 1) + q];
      for (std::size_t own = 1; own < q && own <= most && choice.own == 0; ++own) {
        const std::int32_t cut = which_[j * width_ + pair(q - own, own)];
        if (cut >= 0 && within(cost(cut, j, own), limit, below)) choice = {cut, static_cast<std::int32_t>(own)};
      }
    }
  }

  const AntichainStates& states_;
  MachineLevel machine_;
  ProgramOptions options_;
  std::size_t n_;
  std::size_t machines_;
  std::size_t width_;         ///< pairs of machines used and own
  std::vector<double> side_;  ///< by own machines and state
  std::vector<double> key_;
  std::vector<std::int32_t> which_;
  std::vector<Choice> from_;
};

}  // namespace

Plan plan_flat_program(const PlanProblem& problem, const AntichainStates& states, const ProgramOptions& options) {
  FlatSearch search(states, problem.levels.front(), options);
  Plan plan;
  if (!search.can(kNever, false)) throw Error("pipedream-program: no plan satisfies the options (straight)");
  double high = search.take(plan);
  double low = states.compute_ns.back() / problem.num_devices();
  for (int k = 0; k < kBoundHalvings && low < high; ++k) {
    const double middle = low + (high - low) / 2;
    if (search.can(middle, false)) {
      high = search.take(plan);
    } else {
      low = middle;
    }
  }
  while (search.can(high, true)) high = search.take(plan);
  plan.claimed_ns = high;
  return plan;
}

}  // namespace plumb
