#include "sim/traces/readers/counted_work.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "models/ground/error.hpp"

namespace plumb {
namespace {

Action counted_action(const RankRun& run, Op op, std::int32_t number) {
  return {.stage = StageId{std::max(0, run.rank)}, .microbatch = MicrobatchId{number}, .op = op};
}

/// Returns the number of forwards until as many backwards have run; 0 where that never happens.
std::int32_t forwards_of_first_step(const RankRun& run) {
  std::int32_t forwards = 0;
  std::int32_t backwards = 0;
  for (const TracedAction& work : run.work) {
    ++(work.action.op == Op::kF ? forwards : backwards);
    if (forwards == backwards) return forwards;
  }
  return 0;
}

/// Forwards of a rank in a step.
std::int32_t forwards_per_step(const std::vector<RankRun>& runs) {
  std::int32_t per_step = 0;
  const RankRun* last = nullptr;  // it ends as many backwards as forwards all the time
  for (const RankRun& run : runs) {
    if (run.numbering != Numbering::kCounted) continue;
    if (run.rank + 1 == run.world_size) last = &run;
    if (&run != last) per_step = std::max(per_step, forwards_of_first_step(run));
  }
  if (per_step == 0 && last != nullptr) {
    throw Error(last->file +
                ": is of the last rank, which does not tell where its steps end; expected another rank's, too");
  }
  return per_step;
}

/// Returns how many stages the rank's warm-up tells that it holds; nothing where it is as long as the step, which every
/// number of stages may have.
std::optional<std::int32_t> chunks_told(const RankRun& run, std::int32_t per_step) {
  const std::int32_t warmup = warmup_forwards(run);
  const std::int32_t ranks = run.world_size;
  if (warmup == std::min(ranks - run.rank, per_step)) return 1;
  const std::int32_t more = warmup - 1 - 2 * (ranks - run.rank - 1);
  if (more > 0 && more % ranks == 0 && per_step % (more / ranks + 1) == 0 && warmup < per_step) return more / ranks + 1;
  if (warmup == per_step) return std::nullopt;
  throw Error(run.file + ": runs " + std::to_string(warmup) + " forwards before its first backward; expected " +
              std::to_string(ranks - run.rank) + " of 1F1B, or " + std::to_string(2 * (ranks - run.rank - 1) + 1) +
              " and " + std::to_string(ranks) +
              " more for each further stage, of interleaved 1F1B with groups of as many microbatches as ranks");
}

/// Returns how many stages each rank holds.
std::int32_t chunks_per_rank(const std::vector<RankRun>& runs, std::int32_t per_step) {
  if (runs.front().runtime != "megatron") return 1;
  std::optional<std::int32_t> chunks;
  for (const RankRun& run : runs) {
    const auto told = chunks_told(run, per_step);
    if (told && chunks && *told != *chunks) {
      throw Error(run.file + ": holds " + std::to_string(*told) +
                  " stages by its forwards before the first backward, " + runs.front().file + " " +
                  std::to_string(*chunks) + "; expected the ranks of one run");
    }
    if (told) chunks = told;
  }
  if (chunks) return *chunks;
  throw Error(runs.front().file +
              ": runs all forwards of a step before its first backward, as do the other ranks, so " +
              "nothing tells how many stages a rank holds; expected the last rank's trace, too");
}

/// A place in the order of a rank's forwards.
struct ForwardPlace {
  std::int32_t microbatch = 0;
  std::int32_t chunk = 0;
};

/// Megatron-LM's `get_schedule_table` with groups of as many microbatches as ranks.
std::vector<ForwardPlace> order_of_forwards(std::int32_t microbatches, std::int32_t chunks, std::int32_t ranks) {
  std::vector<ForwardPlace> order;
  for (std::int32_t first = 0; first < microbatches; first += ranks) {
    for (std::int32_t chunk = 0; chunk < chunks; ++chunk) {
      for (std::int32_t k = first; k < std::min(first + ranks, microbatches); ++k) order.push_back({k, chunk});
    }
  }
  return order;
}

/// Gives the work of a rank its stages, microbatches and steps.
void number_work(RankRun& run, const std::vector<ForwardPlace>& order, std::int32_t chunks,
                 const std::string& first_file) {
  const auto per_step = static_cast<std::int32_t>(order.size());
  std::int32_t forwards = 0;
  std::int32_t backwards = 0;
  for (TracedAction& work : run.work) {
    const bool forward = work.action.op == Op::kF;
    std::int32_t& count = forward ? forwards : backwards;
    if (forward && forwards % per_step == 0 && forwards != backwards) {
      throw Error(run.file + ": has run " + std::to_string(backwards) + " backwards before forward " +
                  std::to_string(forwards) + ", but " + first_file + " has steps of " +
                  std::to_string(per_step / chunks) + " microbatches; expected a step to end before the next begins");
    }
    const ForwardPlace& place = order[static_cast<std::size_t>(count % per_step)];
    work.step = count / per_step;
    work.action.microbatch = MicrobatchId{place.microbatch};
    const std::int32_t chunk = forward ? place.chunk : chunks - 1 - place.chunk;
    work.action.stage = StageId{chunk * run.world_size + run.rank};
    ++count;
  }
  if (forwards % per_step != 0) {
    throw Error(run.file + ": has " + std::to_string(forwards) + " forwards, expected whole steps of " +
                std::to_string(per_step) + " microbatches, as " + first_file + " has");
  }
  run.steps = forwards / per_step;
}

/// Returns the work whose message an op of that kind carries.
bool has_message(const TracedAction& work, Op op, std::int32_t stages) {
  const bool forward = op == Op::kSendF || op == Op::kRecvF;
  if ((work.action.op == Op::kF) != forward) return false;
  const auto stage = static_cast<std::int32_t>(work.action.stage);
  return op == Op::kSendF || op == Op::kRecvB ? stage + 1 < stages : stage > 0;
}

/// Gives the n-th message of a kind to the n-th work that has one. Calls that have nobody to send to or to receive
/// from, as Megatron-LM makes them on the first and the last stage, are no messages.
void number_messages(RankRun& run, std::int32_t stages) {
  for (const Op op : {Op::kSendF, Op::kRecvF, Op::kSendB, Op::kRecvB}) {
    std::vector<const TracedAction*> works;
    for (const TracedAction& work : run.work) {
      if (has_message(work, op, stages)) works.push_back(&work);
    }
    if (works.empty()) std::erase_if(run.messages, [op](const TracedAction& m) { return m.action.op == op; });
    for (TracedAction& message : run.messages) {
      if (message.action.op != op) continue;
      const auto number = static_cast<std::size_t>(message.action.microbatch);
      if (number >= works.size()) {
        throw Error(run.file + ": has more calls of " + std::string(kOpNames[static_cast<std::size_t>(op)]) +
                    " than work that they could serve (" + std::to_string(works.size()) +
                    "); expected the traces of whole steps");
      }
      message.step = works[number]->step;
      message.action.microbatch = works[number]->action.microbatch;
      message.action.stage = works[number]->action.stage;
    }
  }
}

}  // namespace

std::int32_t warmup_forwards(const RankRun& run) {
  const auto first = std::ranges::find_if(run.work, [](const TracedAction& work) { return work.action.op != Op::kF; });
  return static_cast<std::int32_t>(first - run.work.begin());
}

void add_counted(std::span<const UnnamedWork> all, RankRun& run) {
  std::int32_t forwards = 0;
  std::int32_t backwards = 0;
  for (const UnnamedWork& work : all) {
    const std::int32_t number = work.backward ? backwards++ : forwards++;
    run.work.push_back(
        {counted_action(run, work.backward ? Op::kB : Op::kF, number), 0, work.begin_ns, work.start_ns, work.end_ns});
    if (work.receive_end_ns > work.receive_begin_ns) {
      run.messages.push_back({counted_action(run, work.backward ? Op::kRecvB : Op::kRecvF, number), 0,
                              work.receive_begin_ns, work.receive_begin_ns, work.receive_end_ns});
    }
    if (work.send_end_ns == work.send_begin_ns) continue;
    run.messages.push_back({counted_action(run, work.backward ? Op::kSendB : Op::kSendF, number), 0, work.send_begin_ns,
                            work.send_begin_ns, work.send_end_ns});
    run.messages.back().waited_ns = work.send_waited_ns;
  }
  if (forwards != backwards) {
    throw Error(
        run.file + ": has " + std::to_string(forwards) + " forwards and " + std::to_string(backwards) +
        " backwards between its calls that send and receive; expected as many of both: whole steps of PyTorch's class "
        "Schedule1F1B in a job whose ranks are those of the pipeline; ranges 'PP:<action>', which "
        "_PipelineScheduleRuntime writes for every other schedule; or, of Megatron-LM and DeepSpeed, call stacks "
        "(with_stack)");
  }
  run.numbering = Numbering::kCounted;
}

void number_microbatches(std::vector<RankRun>& runs) {
  if (runs.empty() || runs.front().numbering != Numbering::kCounted) return;
  const std::int32_t per_step = forwards_per_step(runs);
  if (per_step == 0) return;
  const std::int32_t chunks = chunks_per_rank(runs, per_step);
  const std::int32_t ranks = runs.front().world_size;
  const std::vector<ForwardPlace> order = order_of_forwards(per_step / chunks, chunks, ranks);
  for (RankRun& run : runs) {
    run.stages = chunks * ranks;
    number_work(run, order, chunks, runs.front().file);
    number_messages(run, run.stages);
  }
}

}  // namespace plumb
