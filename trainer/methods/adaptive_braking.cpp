#include <cmath>

#include "models/ground/error.hpp"
#include "trainer/methods/kinds.hpp"

namespace plumb {
namespace {

/// Adaptive braking: g (1 - rho cos(g, v)) for every parameter: gradients along the velocity are damped, those against
/// it amplified. (Venigalla et al., arXiv 2007.01397: per filter; the form of the factor is not confirmed)
class AdaptiveBraking : public Correction {
 public:
  explicit AdaptiveBraking(double rho) : rho_(rho) {}

  void before_update(UpdateStep&, const CorrectedHolder& holder) override {
    const HolderBlocks& blocks = holder.blocks;
    const std::vector<double> along = holder.arithmetic.products(blocks.gradients, blocks.state);
    const std::vector<double> of_gradient = holder.arithmetic.products(blocks.gradients, blocks.gradients);
    const std::vector<double> of_velocity = holder.arithmetic.products(blocks.state, blocks.state);
    std::vector<double> factors;
    for (std::size_t i = 0; i < along.size(); ++i) {
      const double lengths = std::sqrt(of_gradient[i]) * std::sqrt(of_velocity[i]);
      factors.push_back(lengths == 0 ? 1 : 1 - rho_ * along[i] / lengths);
    }
    holder.arithmetic.scale(blocks.gradients, factors);
  }

 private:
  double rho_;
};

}  // namespace

std::unique_ptr<Correction> make_adaptive_braking(const CorrectionFacts& facts) {
  const OptimizerOptions& optimizer = facts.setting.optimizer;
  if (optimizer.kind != OptimizerKind::kSgd || optimizer.momentum == 0) {
    throw Error("method adaptive-braking: compares gradient and velocity; expected sgd with momentum");
  }
  return std::make_unique<AdaptiveBraking>(*parameter(facts.method, "rho"));
}

}  // namespace plumb
