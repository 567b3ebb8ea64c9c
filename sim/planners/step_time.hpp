#pragma once

#include <cstdint>
#include <vector>

namespace plumb {

/// Stages of a synchronous pipeline as DAPPLE models it: transfers between compute stages are stages of their own.
struct PipelineStages {
  struct Stage {
    double forward_ns = 0;
    double backward_ns = 0;
    double all_reduce_ns = 0;  ///< after the last backward; 0 of a transfer
  };
  std::vector<Stage> stages;  ///< compute stages at even, transfers at odd positions
};

/// Exact length of a step of `microbatches` under early-backward 1F1B (DAPPLE, PPoPP 2021): stage x of n holds at most
/// n - x microbatches between forward and backward,
///
///     f_start(i, x) = max( b_end(i - n + x, x), f_end(i - 1, x), f_end(i, x - 1) )
///     b_start(i, x) = max( b_end(i - 1, x), b_end(i, x + 1), f_end(min(i + n - x - 1, m - 1), x) )
///
/// and the end of the longest backward with its all-reduce.
double one_f_one_b_step_ns(const PipelineStages& pipeline, std::int64_t microbatches);

/// DAPPLE's closed form of the same, L = T_w + T_s + T_e, around its pivot stage.
struct PivotLatency {
  double latency_ns = 0;
  std::size_t pivot = 0;
};
PivotLatency pivot_latency(const PipelineStages& pipeline, std::int64_t microbatches);

}  // namespace plumb
