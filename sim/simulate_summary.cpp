#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

#include "models/ground/error.hpp"
#include "schedules/document/walk.hpp"
#include "schedules/lowering/time_limit.hpp"
#include "sim/lanes/metrics.hpp"
#include "sim/memory/memory.hpp"
#include "sim/passes/fold.hpp"
#include "sim/passes/one_pass.hpp"
#include "sim/passes/steady_state.hpp"
#include "sim/passes/written_totals.hpp"
#include "sim/rules/jitter.hpp"
#include "sim/rules/load_kinds.hpp"
#include "sim/rules/run_size.hpp"
#include "sim/rules/transfer_semantics.hpp"
#include "sim/simulate.hpp"
#include "sim/totals_timeline.hpp"

namespace plumb {
namespace {

/// Folded schedules longer than this are not tried: their iterations would cost more than they save.
constexpr std::int64_t kMostFolded = std::int64_t{1} << 22U;

/// Microbatches of a repeat that the tries keep. Most steady states begin at once and repeat every iteration; with
/// latencies between p devices 1F1B repeats every p microbatches, after about as many.
std::int64_t kept_in_try(int number, std::int64_t p) {
  if (number == 0) return 4;
  if (number == 1) return 32;
  std::int64_t kept = std::max<std::int64_t>(128, 7 * p / 2);
  for (int i = 2; i < number; ++i) kept *= 4;
  return kept;
}

std::int64_t size_of(const Schedule& schedule) {
  std::int64_t size = 0;
  for (const DeviceList& list : schedule.devices) {
    const std::int64_t own = expanded_size(list);
    size =
        own > std::numeric_limits<std::int64_t>::max() - size ? std::numeric_limits<std::int64_t>::max() : size + own;
  }
  return size;
}

/// Whether the lanes of the program are the lists of the schedule, action by action (an exchange of weights is two
/// steps).
bool stands_as_written(const Program& program, const Schedule& schedule) {
  for (std::size_t d = 0; d < schedule.devices.size(); ++d) {
    std::size_t steps = 0;
    walk(schedule.devices[d], [&](const Action& action) { steps += action.op == Op::kSyncWeights ? 2 : 1; });
    if (program.lane_begin[d + 1] - program.lane_begin[d] != steps) return false;
  }
  return true;
}

struct SummaryJob {
  const Schedule& schedule;
  const StageCosts& costs;
  const Cluster* cluster;
  const LowerOptions& lowering;
  SimOptions options;
};

/// Whether messages, where there are any, are of a kind whose steady state is known by what has been sent: on links of
/// their own, whether or not their receives are posted; and touch the lanes at places that come again.
bool has_simple_messages(const Program& program, const SummaryJob& job) {
  const bool posts_matter = rules_of(job.options.transfers).needs_post;
  return program.transfers.empty() ||
         (!posts_matter && program.moves.empty() && !program.waits_by_rank && program.together.empty() &&
          job.lowering.receives != ReceivePlacement::kOnSend && !why_not_one_pass(program, job.options));
}

bool can_jump(const Program& program, const Schedule& schedule, const SummaryJob& job) {
  const bool tensors = job.options.peak_composition && knows_bytes(program);
  return has_simple_messages(program, job) && !program.runtime.costs() && !has_jitter(program) &&
         !is_contended(program) && !tensors && job.options.engine != EngineChoice::kEvent &&
         stands_as_written(program, schedule);
}

/// The answer by way of a folded schedule; nothing when it does not repeat or the long way is as short.
std::optional<Timeline> jumped(const SummaryJob& job) {
  const std::int64_t size = size_of(job.schedule);
  const std::int64_t p = job.schedule.num_devices;
  std::int64_t multiple = 1;
  for (int number = 0;;) {
    const auto folded = fold(job.schedule, kept_in_try(number, p), multiple);
    if (!folded) return std::nullopt;
    const std::int64_t folded_size = size_of(folded->schedule);
    if (folded_size > kMostFolded || folded_size > size / 2) return std::nullopt;
    const Program program = lower(folded->schedule, job.costs, job.cluster, job.lowering);
    if (!can_jump(program, folded->schedule, job)) return std::nullopt;
    check_time(job.schedule, program);
    FoldedResult result = run_folded(program, *folded, job.options);
    const auto devices = static_cast<std::size_t>(program.num_devices);
    if (result.timeline && (!program.asynchronous || tell_steady_updates(result.marks, devices))) {
      Timeline& timeline = *result.timeline;
      timeline.base = program.base;
      if (program.send_buffers.overruled()) timeline.send_buffers = program.send_buffers;
      timeline.num_microbatches = job.schedule.num_microbatches;
      timeline.updates =
          count_updates(job.schedule.num_microbatches, job.schedule.microbatches_per_update, job.schedule.forward_only);
      fill_metrics(timeline, program.work, program.asynchronous, result.marks);
      return std::move(timeline);
    }
    if (multiple % result.multiple == 0) {
      if (++number == 2) multiple = std::lcm(multiple, p);
    } else {
      multiple = std::lcm(multiple, result.multiple);
    }
  }
}

/// The answer by running all actions without unfolding the lists; nothing where they have to be.
std::optional<Timeline> run_as_written(const SummaryJob& job) {
  if (job.options.engine == EngineChoice::kEvent || size_of(job.schedule) > kMostActionsRun) return std::nullopt;
  const auto written = lower_written(job.schedule, job.costs, job.cluster, job.lowering);
  if (!written) return std::nullopt;
  const Program& program = written->program;
  if (knows_bytes(program) || has_jitter(program) || is_contended(program)) return std::nullopt;
  if (job.options.on_full_run != nullptr) job.options.on_full_run(written_run_size(job.schedule));
  const auto lanes = run_written(*written);
  if (!lanes) return std::nullopt;
  Timeline timeline = empty_timeline(program);
  const std::vector<UpdateMark> marks = fill_from_totals(program, *lanes, job.options, timeline);
  fill_metrics(timeline, program.work, false, marks);
  return timeline;
}

}  // namespace

Timeline simulate_summary(const Schedule& schedule, const StageCosts& costs, const Cluster* cluster,
                          const LowerOptions& lowering, const SimOptions& options) {
  SummaryJob job{schedule, costs, cluster, lowering, options};
  job.options.spans = false;
  job.options.memory_curve = false;
  if (auto timeline = jumped(job)) return *std::move(timeline);
  if (auto timeline = run_as_written(job)) return *std::move(timeline);
  check_run_size(schedule, makes_transfers(costs, cluster, lowering), job.options);
  return simulate(lower(schedule, costs, cluster, lowering), job.options);
}

}  // namespace plumb
