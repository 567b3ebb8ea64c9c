#include "trainer/methods/kinds.hpp"
#include "trainer/methods/predict.hpp"

namespace plumb {
namespace {

/// Linear weight prediction: forwards read w - rate T v, or w + T (w - w before the last update), where T is the mean
/// delay of the stage's forwards in updates times `scale`. (Kosson et al., Pipelined Backpropagation at Scale, arXiv
/// 2003.11666)
class LinearPrediction : public Correction {
 public:
  explicit LinearPrediction(const CorrectionFacts& facts)
      : optimizer_(facts.setting.optimizer),
        distance_(facts.place.forward * *parameter(facts.method, "scale")),
        by_difference_(*parameter(facts.method, "difference") == 1) {}

  void start(const CorrectedHolder& holder) override {
    if (distance_ > 0) holder.arithmetic.copy(holder.buffers.front(), holder.blocks.weights);
  }

  const std::byte* weights(const WeightRead& read, const CorrectedHolder& holder) override {
    if (read.op != Op::kF || distance_ <= 0) return nullptr;
    return holder.buffers.front();
  }

  void before_update(UpdateStep& step, const CorrectedHolder& holder) override {
    if (distance_ > 0 && by_difference_) step.followers.push_back({holder.buffers.front(), 0, distance_});
  }

  void after_update(const UpdateStep&, const CorrectedHolder& holder) override {
    if (distance_ > 0 && !by_difference_) predict(holder.buffers.front(), distance_, holder, optimizer_);
  }

 private:
  OptimizerOptions optimizer_;
  double distance_;  ///< T
  bool by_difference_;
};

}  // namespace

std::unique_ptr<Correction> make_lwp(const CorrectionFacts& facts) {
  if (*parameter(facts.method, "difference") == 0) expect_direction(facts);
  return std::make_unique<LinearPrediction>(facts);
}

}  // namespace plumb
