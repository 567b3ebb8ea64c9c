#include <algorithm>
#include <cmath>
#include <optional>

#include "trainer/methods/kinds.hpp"

namespace plumb {
namespace {

/// Weights extrapolated backwards by the mean velocity delta of the weights w:
///
///     delta' = gamma delta + (1 - gamma) (w' - w),   u = w - n delta
///
/// Kept is u itself, which is all that a pass reads: u' = w' + gamma (u - w) - n (1 - gamma) (w' - w).
struct Extrapolation {
  double lag = 0;    ///< n: updates by which the forward lags further
  double gamma = 0;  ///< decay of the mean

  Follower follower(std::byte* buffer, bool in_phase) const {
    if (in_phase) return {buffer, 0, 0};
    return {buffer, gamma, -lag * (1 - gamma)};
  }
};

/// PipeMare T2: backwards (and forwards that are run again) read the weights that the forward read, extrapolated from
/// the newest ones. In a synchronous phase delta is 0. gamma = D^(1/n), or 1 - 2/(n+1), which cancels the first two
/// terms of the discrepancy. (Yang et al., arXiv 1910.05124, section 3.2)
class DiscrepancyCorrection : public Correction {
 public:
  explicit DiscrepancyCorrection(const CorrectionFacts& facts) : schedule_(facts.setting.schedule) {
    const MethodPlace& place = facts.place;
    const std::optional<double> base = parameter(facts.method, "D");
    if (place.forward > place.backward) backward_ = extrapolation(place.forward - place.backward, base);
    if (place.recompute != place.backward && place.forward > place.recompute) {
      recompute_ = extrapolation(place.forward - place.recompute, base);
    }
    recomputes_apart_ = place.recompute != place.backward;
  }

  void start(const CorrectedHolder& holder) override {
    for (std::byte* buffer : holder.buffers) holder.arithmetic.copy(buffer, holder.blocks.weights);
  }

  const std::byte* weights(const WeightRead& read, const CorrectedHolder& holder) override {
    if (read.op == Op::kF) return nullptr;
    const bool apart = read.op == Op::kR && recomputes_apart_;
    if (!(apart ? recompute_ : backward_)) return nullptr;
    return apart ? holder.buffers.back() : holder.buffers.front();
  }

  void before_update(UpdateStep& step, const CorrectedHolder& holder) override {
    const bool in_phase = updates_after_phase(schedule_, step.update) < 0;
    if (backward_) step.followers.push_back(backward_->follower(holder.buffers.front(), in_phase));
    if (recompute_) step.followers.push_back(recompute_->follower(holder.buffers.back(), in_phase));
  }

 private:
  static Extrapolation extrapolation(double lag, const std::optional<double>& base) {
    if (base) return {lag, std::pow(*base, 1 / lag)};
    return {lag, std::max(0.0, 1 - 2 / (lag + 1))};
  }

  const Schedule& schedule_;
  std::optional<Extrapolation> backward_;
  std::optional<Extrapolation> recompute_;
  bool recomputes_apart_ = false;  ///< by explicit R, with another delay than the backwards
};

}  // namespace

std::unique_ptr<Correction> make_t2(const CorrectionFacts& facts) {
  return std::make_unique<DiscrepancyCorrection>(facts);
}

}  // namespace plumb
