#include <cmath>

#include "models/ground/error.hpp"
#include "trainer/methods/kinds.hpp"

namespace plumb {
namespace {

constexpr double kGapEpsilon = 1e-8;

/// Gap-aware: each number of the gradient is divided by 1 + its gap, the distance between the newest weights and those
/// of the forward, counted in steps of usual size: the largest learning rate times the root of a running mean of
/// squared velocities. So is the weight decay inside the optimizer. (Barkai et al., ICLR 2020; FTPipe's released code)
class GapAware : public Correction {
 public:
  GapAware(const CorrectionSetting& setting, double keep) : setting_(setting), keep_(keep) {}

  void before_update(UpdateStep& step, const CorrectedHolder& holder) override {
    if (step.update == 0 || holder.forward_weights == nullptr) return;  // no usual size yet
    const double corrected = 1 / (1 - std::pow(keep_, static_cast<double>(step.update)));
    const HolderBlocks& blocks = holder.blocks;
    // The gradients are sums: what is added is multiplied by `gradient_scale` later.
    const double decay = setting_.optimizer.weight_decay / step.gradient_scale;
    holder.arithmetic.apply(PunishGap{setting_.learning_rate.base, corrected, kGapEpsilon, decay},
                            {blocks.gradients, blocks.weights, holder.forward_weights, holder.buffers.front()});
  }

  void after_update(const UpdateStep&, const CorrectedHolder& holder) override {
    holder.arithmetic.apply(MeanSquare{keep_}, {holder.buffers.front(), holder.blocks.state});
  }

 private:
  CorrectionSetting setting_;
  double keep_;
};

}  // namespace

std::unique_ptr<Correction> make_gap_aware(const CorrectionFacts& facts) {
  const OptimizerOptions& optimizer = facts.setting.optimizer;
  if (optimizer.kind != OptimizerKind::kSgd || optimizer.momentum == 0) {
    throw Error("method gap-aware: measures gaps in steps of the velocity; expected sgd with momentum");
  }
  return std::make_unique<GapAware>(facts.setting, *parameter(facts.method, "keep"));
}

}  // namespace plumb
