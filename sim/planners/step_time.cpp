#include "sim/planners/step_time.hpp"

#include <algorithm>

namespace plumb {
namespace {

constexpr double kNotEnded = -1;

/// One stage's list: warm-up forwards, then backwards and forwards in turn.
struct StageRun {
  std::int64_t window = 1;
  std::int64_t forwards = 0;
  std::int64_t backwards = 0;
  double now = 0;

  bool forward_next(std::int64_t m) const { return forwards < m && forwards - backwards < window; }
};

}  // namespace

double one_f_one_b_step_ns(const PipelineStages& pipeline, std::int64_t microbatches) {
  const std::size_t n = pipeline.stages.size();
  const auto m = static_cast<std::size_t>(microbatches);
  std::vector<double> f_end(n * m, kNotEnded);
  std::vector<double> b_end(n * m, kNotEnded);
  std::vector<StageRun> runs(n);
  for (std::size_t x = 0; x < n; ++x) runs[x].window = static_cast<std::int64_t>(n - x);
  double longest = 0;
  std::size_t left = n;
  while (left > 0) {
    left = 0;
    for (std::size_t x = 0; x < n; ++x) {
      StageRun& run = runs[x];
      while (run.backwards < microbatches) {
        const bool forward = run.forward_next(microbatches);
        const auto i = static_cast<std::size_t>(forward ? run.forwards : run.backwards);
        const bool at_end = forward ? x == 0 : x + 1 == n;
        const double ready = at_end ? 0 : forward ? f_end[(x - 1) * m + i] : b_end[(x + 1) * m + i];
        if (ready == kNotEnded) break;
        const PipelineStages::Stage& stage = pipeline.stages[x];
        run.now = std::max(run.now, ready) + (forward ? stage.forward_ns : stage.backward_ns);
        (forward ? f_end : b_end)[x * m + i] = run.now;
        ++(forward ? run.forwards : run.backwards);
      }
      left += run.backwards < microbatches ? 1 : 0;
      longest = std::max(longest, run.now + pipeline.stages[x].all_reduce_ns);
    }
  }
  return longest;
}

PivotLatency pivot_latency(const PipelineStages& pipeline, std::int64_t microbatches) {
  const std::vector<PipelineStages::Stage>& stages = pipeline.stages;
  const auto both = [&](std::size_t s) { return stages[s].forward_ns + stages[s].backward_ns; };
  const auto steady = static_cast<double>(microbatches - 1);
  std::size_t pivot = stages.size() - 1;
  for (std::size_t s = pivot; s-- > 0;) {
    double between = 0;
    for (std::size_t a = s + 1; a < pivot; ++a) between += both(a);
    if (steady * both(s) > steady * both(pivot) + between) pivot = s;
  }
  double warm_up = 0;
  for (std::size_t s = 0; s <= pivot; ++s) warm_up += stages[s].forward_ns;
  double drain = 0;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    double behind = 0;
    for (std::size_t a = std::min(s, pivot); a <= std::max(s, pivot); ++a) behind += stages[a].backward_ns;
    drain = std::max(drain, stages[s].all_reduce_ns + (s <= pivot ? behind : -behind));
  }
  return {warm_up + steady * both(pivot) + drain, pivot};
}

}  // namespace plumb
