#include <algorithm>
#include <limits>

#include "models/graphs/layer_chain.hpp"
#include "sim/planners/numbers.hpp"
#include "sim/planners/pipedream_scores.hpp"
#include "sim/planners/planner.hpp"

namespace plumb {
namespace {

/// One level of the hierarchy. best[i][j][m]: layers i to j (both included) on m parts of this level. `single` is the
/// last stage, on m parts and without a cut; from[i][j][m]: how the best was made.
class PipedreamLevel {
 public:
  struct Cut {
    std::int32_t at = -1;  ///< last layer in front of the last stage; -1: no cut
    std::int32_t parts = 0;
  };

  PipedreamLevel(const LayerChain& chain, MachineLevel machine, const PipedreamLevel* inner, bool all_starts,
                 const StopSign& stop)
      : chain_(chain), stop_(stop), machine_(machine), inner_(inner), n_(chain.size()) {
    const std::size_t starts = all_starts ? n_ : 1;
    best_.assign(starts * n_ * parts(), kNever);
    from_.assign(best_.size(), {});
    for (std::size_t i = 0; i < starts; ++i) fill(i);
  }

  std::size_t parts() const { return static_cast<std::size_t>(machine_.count); }
  double best(std::size_t i, std::size_t j, std::size_t m) const { return best_[place(i, j, m)]; }

  /// T: layers i to j as one stage on m parts.
  double stage(std::size_t i, std::size_t j, std::size_t m) const {
    const double inside =
        inner_ != nullptr ? inner_->best(i, j, inner_->parts()) : static_cast<double>(chain_.total(i, j + 1));
    return pipedream_stage_ns(inside, chain_.parameters(i, j + 1), static_cast<std::int32_t>(m), machine_.bytes_per_s);
  }

  /// Appends the stages of layers i to j on m parts; everything on this level is done by `copies` parts alike.
  void append(std::size_t i, std::size_t j, std::size_t m, std::int32_t copies, Plan& plan) const {
    const Cut cut = from_[place(i, j, m)];
    std::size_t begin = i;
    std::size_t last_parts = m;
    if (cut.at >= 0) {
      append(i, static_cast<std::size_t>(cut.at), m - static_cast<std::size_t>(cut.parts), copies, plan);
      begin = static_cast<std::size_t>(cut.at) + 1;
      last_parts = static_cast<std::size_t>(cut.parts);
    }
    const std::int32_t replicas = copies * static_cast<std::int32_t>(last_parts);
    if (inner_ != nullptr) return inner_->append(begin, j, inner_->parts(), replicas, plan);
    PlanStage made;
    made.replicas = replicas;
    for (std::size_t k = begin; k <= j; ++k) made.layers.push_back(chain_.node[k]);
    made.load_ns = stage(begin, j, last_parts) / copies;
    plan.stages.push_back(std::move(made));
  }

 private:
  std::size_t place(std::size_t i, std::size_t j, std::size_t m) const { return (i * n_ + j) * parts() + m - 1; }

  void fill(std::size_t i) {
    std::vector<double> last(parts() + 1);
    for (std::size_t j = i; j < n_; ++j) {
      stop_.check();
      for (std::size_t m = 1; m <= parts(); ++m) best_[place(i, j, m)] = stage(i, j, m);
      if (parts() == 1) continue;
      for (std::size_t s = i; s < j; ++s) {
        const double transfer = 2e9 * static_cast<double>(chain_.cut_bytes[s + 1]) / machine_.bytes_per_s;
        for (std::size_t m = 1; m < parts(); ++m) last[m] = std::max(transfer, stage(s + 1, j, m));
        for (std::size_t m = 2; m <= parts(); ++m) improve(i, j, s, m, last);
      }
    }
  }

  void improve(std::size_t i, std::size_t j, std::size_t s, std::size_t m, const std::vector<double>& last) {
    const std::size_t at = place(i, j, m);
    for (std::size_t own = 1; own < m; ++own) {
      const double slowest = std::max(best_[place(i, s, m - own)], last[own]);
      if (slowest >= best_[at]) continue;
      best_[at] = slowest;
      from_[at] = {static_cast<std::int32_t>(s), static_cast<std::int32_t>(own)};
    }
  }

  const LayerChain& chain_;
  const StopSign& stop_;
  MachineLevel machine_;
  const PipedreamLevel* inner_;
  std::size_t n_;
  std::vector<double> best_;
  std::vector<Cut> from_;
};

}  // namespace

double pipedream_stage_ns(double inside_ns, std::int64_t parameter_bytes, std::int32_t parts, double bytes_per_s) {
  if (parts == 1) return inside_ns;
  const double sync_ns = 2e9 * (parts - 1) * static_cast<double>(parameter_bytes) / bytes_per_s;
  return std::max(inside_ns, sync_ns) / parts;
}

namespace {

/// PipeDream's partitioner (SOSP 2019, section 3.1): on a chain of layers, level by level,
///
///     T^k(i->j, m) = 1/m max( A^(k-1)(i->j, m_(k-1)), 2 (m - 1) |w(i..j)| / B_k )
///     A^k(i->j, m) = min( T^k(i->j, m), min over s, m' of max( A^k(i->s, m - m'), 2 a_s / B_k, T^k(s+1->j, m') ) )
Plan plan_pipedream(const PlanProblem& problem) {
  const LayerChain chain = chain_of(problem.network.layers);
  std::vector<PipedreamLevel> levels;
  levels.reserve(problem.levels.size());
  for (std::size_t k = 0; k < problem.levels.size(); ++k) {
    levels.emplace_back(chain, problem.levels[k], k == 0 ? nullptr : &levels[k - 1], k + 1 < problem.levels.size(),
                        problem.stop);
  }
  const PipedreamLevel& top = levels.back();
  Plan plan;
  plan.claimed_ns = plan.lower_bound_ns = top.best(0, chain.size() - 1, top.parts());
  plan.states = static_cast<std::int64_t>(chain.size());
  top.append(0, chain.size() - 1, top.parts(), 1, plan);
  return plan;
}

}  // namespace

Planner pipedream_planner() {
  return {.name = "pipedream",
          .paper = "Narayanan et al., SOSP 2019, section 3.1",
          .year = 2019,
          .minimises = "time of the slowest stage or link",
          .plan = plan_pipedream};
}

}  // namespace plumb
