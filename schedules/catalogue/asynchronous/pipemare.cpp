#include <algorithm>
#include <string>

#include "schedules/catalogue/asynchronous/flush_free.hpp"

namespace plumb {
namespace {

constexpr std::string_view kPipeMare = "pipemare";

/// PipeMare-Recompute: stages that share one stashed input; 0 when every stage keeps its activations.
std::int64_t segment_of(const ScheduleParams& params) {
  const std::int64_t segment = params.options.contains("segment") ? whole_number(kPipeMare, params, "segment", 1) : 0;
  require(segment <= params.num_devices, kPipeMare,
          "segment (" + std::to_string(segment) + ") must be at most the stages (" +
              std::to_string(params.num_devices) + ")");
  return segment;
}

/// T3: updates run synchronously before the pipeline is left unflushed.
std::int64_t synchronous_updates(const ScheduleParams& params) {
  const auto option = params.options.find("synchronous");
  if (option != params.options.end() && option->second == "0") return 0;
  const std::int64_t updates = whole_number(kPipeMare, params, "synchronous", 0);
  require(updates <= kMostMicrobatches, kPipeMare,
          "synchronous (" + std::to_string(updates) + ") must be at most " + std::to_string(kMostMicrobatches));
  return updates;
}

}  // namespace

/// No flush, no stash: every action reads the weights in memory, so a backward may see newer ones than its forward.
/// As in the paper, a stage runs a forward and a backward at once, so that stage i of P (from 1) reads weights that
/// are (2 (P - i) + 1) / N updates old in its forwards (table 1); `timing=1f1b` is PipeDream's order, one pass at a
/// time, with (P - i) / N. Any p and m.
/// One version of the weights. Device d keeps 2(p - d) activations, its pair included (1f1b: p - d).
/// `correction=t2` declares the discrepancy correction (method t2). `synchronous=E`:
/// the first E updates are flushed as in GPipe, then the drained pipeline goes on without flushes (T3). `segment=S`
/// (not 1f1b): of S stages in a row only the input of the first is kept, and the forwards are replayed before the
/// backwards: by stage, 2(S - r) + 1 slots before that of place r. 2(p - d) inputs then stand in front of a segment,
/// 2(S - r) + 1 replayed activations on each of its stages. (Yang et al., PipeMare, arXiv 1910.05124)
///
///   p = 3, m = 2, 3 updates; [FB] is an overlapped pair
///   d0: 0F0 0F1 0F2 0F3 0F4 [0F5 0B0] 0B1 0U0 0B2 0B3 0U1 0B4 0B5 0U2
///   d1: 1F0 1F1 1F2 [1F3 1B0] [1F4 1B1] 1U0 [1F5 1B2] 1B3 1U1 1B4 1B5 1U2
///   d2: 2F0 [2F1 2B0] [2F2 2B1] 2U0 [2F3 2B2] [2F4 2B3] 2U1 [2F5 2B4] 2B5 2U2
Schedule pipemare(const ScheduleParams& params) {
  const std::int64_t synchronous = synchronous_updates(params);
  const std::int64_t segment = segment_of(params);
  Schedule schedule = flush_free_schedule(kPipeMare, params, {Timing::kSlots, Timing::k1f1b}, synchronous, segment);
  if (segment > 0) schedule.parameters["segment"] = segment;
  schedule.weights.policy = WeightPolicy::kLatest;
  if (choice(kPipeMare, params, "correction", {"none", "t2"}) == "t2") schedule.weights.methods = {{"t2", {}}};
  if (synchronous > 0) {
    const std::int64_t updates = schedule.num_microbatches / params.num_microbatches;
    schedule.weights.phases = {{std::min(synchronous, updates), WeightPolicy::kFlush}};
    schedule.parameters["synchronous"] = synchronous;
  }
  return schedule;
}

}  // namespace plumb
