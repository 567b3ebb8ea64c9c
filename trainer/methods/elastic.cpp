#include "models/ground/error.hpp"
#include "trainer/methods/kinds.hpp"

namespace plumb {
namespace {

/// AvgPipe's elastic averaging: after each of its updates a copy of a stage and the reference model, which all copies
/// on the device share, are pulled towards each other: d = a (w - r), w <- w - d, r <- r + d. The first copy keeps the
/// reference. (AvgPipe, PPoPP 2023; a about 1 / copies, not confirmed)
class ElasticAveraging : public Correction {
 public:
  ElasticAveraging(StageId stage, ReplicaId replica, double strength)
      : stage_(stage), replica_(replica), strength_(strength) {}

  void start(const CorrectedHolder& holder) override {
    if (replica_ != ReplicaId{0}) {
      if (holder.shared.contains(stage_)) return;
      throw Error("method elastic: the copies of stage " + std::to_string(index(stage_)) +
                  " are on several devices; expected them on one, with the reference model");
    }
    holder.arithmetic.copy(holder.buffers.front(), holder.blocks.weights);
    holder.shared[stage_] = holder.buffers.front();
  }

  void after_update(const UpdateStep&, const CorrectedHolder& holder) override {
    holder.arithmetic.apply(PullTogether{strength_}, {holder.blocks.weights, holder.shared.at(stage_)});
  }

 private:
  StageId stage_;
  ReplicaId replica_;
  double strength_;
};

}  // namespace

std::unique_ptr<Correction> make_elastic(const CorrectionFacts& facts) {
  const double copies = static_cast<double>(facts.setting.schedule.placement.size());
  return std::make_unique<ElasticAveraging>(facts.place.stage, facts.place.replica,
                                            parameter(facts.method, "a").value_or(1 / copies));
}

}  // namespace plumb
