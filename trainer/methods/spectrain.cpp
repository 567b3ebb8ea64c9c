#include "trainer/methods/kinds.hpp"
#include "trainer/methods/predict.hpp"

namespace plumb {
namespace {

/// SpecTrain as published: forward and backward read what the weights are expected to be at one moment, when the
/// microbatch is back at stage 0. One buffer, made again whenever the weights or the distance are others.
/// (Chen et al., arXiv 1809.02839)
class SpecTrain : public Correction {
 public:
  explicit SpecTrain(const CorrectionFacts& facts) : optimizer_(facts.setting.optimizer) {
    const Prediction& ahead = facts.setting.schedule.weights.prediction;
    forward_ = ahead.forward[index(facts.place.stage)];
    backward_ = ahead.backward[index(facts.place.stage)];
  }

  const std::byte* weights(const WeightRead& read, const CorrectedHolder& holder) override {
    const std::int64_t steps = read.op == Op::kF ? forward_ : backward_;
    if (steps == 0) return nullptr;
    std::byte* buffer = holder.buffers.front();
    if (made_of_ != read.version + 1 || steps_ != steps) {
      predict(buffer, static_cast<double>(steps), holder, optimizer_);
      made_of_ = read.version + 1;
      steps_ = steps;
    }
    return buffer;
  }

  std::vector<std::int64_t*> notes() override { return {&made_of_, &steps_}; }

 private:
  OptimizerOptions optimizer_;
  std::int64_t forward_ = 0;
  std::int64_t backward_ = 0;
  std::int64_t made_of_ = 0;  ///< version + 1 of the weights that the buffer is a prediction from; 0: of none
  std::int64_t steps_ = 0;    ///< ahead of them
};

/// SpecTrain as released: a backward reads the prediction that its forward read. As many buffers as versions that are
/// predicted from at once; that of version v is number v modulo their number.
class ReleasedSpecTrain : public Correction {
 public:
  explicit ReleasedSpecTrain(const CorrectionFacts& facts)
      : optimizer_(facts.setting.optimizer),
        steps_(facts.setting.schedule.weights.prediction.forward[index(facts.place.stage)]),
        made_of_(static_cast<std::size_t>(facts.place.predictions), 0) {}

  const std::byte* weights(const WeightRead& read, const CorrectedHolder& holder) override {
    if (steps_ == 0) return nullptr;
    const auto slot = static_cast<std::size_t>(read.forward_version) % holder.buffers.size();
    if (read.op == Op::kF && made_of_[slot] != read.version + 1) {
      predict(holder.buffers[slot], static_cast<double>(steps_), holder, optimizer_);
      made_of_[slot] = read.version + 1;
    }
    return holder.buffers[slot];
  }

  std::vector<std::int64_t*> notes() override {
    std::vector<std::int64_t*> notes;
    for (std::int64_t& version : made_of_) notes.push_back(&version);
    return notes;
  }

 private:
  OptimizerOptions optimizer_;
  std::int64_t steps_;
  std::vector<std::int64_t> made_of_;  ///< by buffer: as in `SpecTrain`
};

}  // namespace

std::unique_ptr<Correction> make_spectrain(const CorrectionFacts& facts) {
  expect_direction(facts);
  if (facts.setting.schedule.weights.prediction.backward.empty()) return std::make_unique<ReleasedSpecTrain>(facts);
  return std::make_unique<SpecTrain>(facts);
}

}  // namespace plumb
