#include "trainer/methods/kinds.hpp"

namespace plumb {
namespace {

constexpr double kKeep = 0.95;  ///< decay of the mean square, adaptive form
constexpr double kCompensationEpsilon = 1e-7;

/// Delay compensation: g + lambda g g (w - w of the forward), the first term of what the gradient would be at the
/// newest weights. Adaptive: lambda divided by the root of a running mean of g g.
/// (Zheng et al., Asynchronous SGD with Delay Compensation, ICML 2017)
class DelayCompensation : public Correction {
 public:
  DelayCompensation(double lambda, bool adaptive) : lambda_(lambda), adaptive_(adaptive) {}

  void before_update(UpdateStep& step, const CorrectedHolder& holder) override {
    if (holder.forward_weights == nullptr) return;
    // The gradients are sums: `gradient_scale` makes means of them.
    const double strength = lambda_ * step.gradient_scale;
    const HolderBlocks& blocks = holder.blocks;
    if (adaptive_) {
      holder.arithmetic.apply(CompensateDelayAdaptively{strength, step.gradient_scale, kKeep, kCompensationEpsilon},
                              {blocks.gradients, blocks.weights, holder.forward_weights, holder.buffers.front()});
    } else {
      holder.arithmetic.apply(CompensateDelay{strength}, {blocks.gradients, blocks.weights, holder.forward_weights});
    }
  }

 private:
  double lambda_;
  bool adaptive_;
};

}  // namespace

std::unique_ptr<Correction> make_dc_asgd(const CorrectionFacts& facts) {
  return std::make_unique<DelayCompensation>(*parameter(facts.method, "lambda"),
                                             *parameter(facts.method, "adaptive") == 1);
}

}  // namespace plumb
