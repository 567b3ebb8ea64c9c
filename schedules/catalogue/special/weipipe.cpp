#include <string>
#include <string_view>

#include "schedules/catalogue/special/travelling_weights.hpp"

namespace plumb {
namespace {

constexpr std::string_view kWeipipe = "weipipe";

StageId stage_of(std::int64_t stage) { return StageId{static_cast<std::int32_t>(stage)}; }

/// What worker `from` passes on in `turn`: the weights of its forward, and those of its backward with their gradients.
/// Both go on through workers that have not begun yet or are done.
ExtraEdge passed_on(const TravellingTurns& turns, const TurnMark& from, bool early) {
  TurnMark to = from;
  to.worker = (from.worker + 1) % turns.p;
  ++to.turn;
  TurnMark sent = from;
  sent.at_end = !early;
  ExtraEdge edge{mark(turns, sent, 0), mark(turns, to, 0)};
  const std::int64_t last_forward = turns.passes * turns.p + turns.p - 2;
  if (to.turn <= last_forward) edge.weights.push_back(stage_of(turns.forward_stage(from.worker, from.turn)));
  if (from.turn < turns.p) return edge;
  const StageId backward = stage_of(turns.backward_stage(from.worker, from.turn));
  edge.weights.push_back(backward);
  edge.gradients.push_back(backward);
  return edge;
}

}  // namespace

/// Microbatches stay where they are, the weights travel: p workers stand in a ring and each runs all stages of its m /
/// p microbatches. In every turn a worker passes on the weights of one stage for forwards and, from turn p on, those of
/// one stage for backwards together with the sum of its gradients so far; worker r begins in turn r. Three messages of
/// a stage's bytes in a turn take the place of activations, however long the sequences are. `pass=after` (the published
/// lock step): a worker passes weights on when it has used them; a step takes m + p - 1 times F, B and a turn's
/// messages (from m = 2 p on), F and B of one stage. `pass=before` (the released program): it passes them on when it
/// begins to use them, so that they travel beside its work: m (F + B) and p - 1 times a turn's messages, where these
/// take no longer than F; the bubble of the lock step is gone. A worker keeps the activations of one microbatch. m a
/// multiple of p; (m + 2p) x p x updates at most 2^20. Memory counts the whole model on every worker, as data
/// parallelism has it; the system keeps its own p-th of it and the stages that are under way. (Lin et al., WeiPipe,
/// PPoPP 2025; released code, Gvilenius/weipipe)
///
///   p = 2, m = 2, pass=before (X: begin of a turn, without work)
///   d0: 0X0 0F0 0X2 1F0 0X4 1B0 0X6 0B0 0X8 1U0 0U0
///   d1: 1X0 1X2 0F1 1X4 1F1 1X6 1B1 1X8 0B1 1U0 0U0      (of replica 1)
Schedule weipipe(const ScheduleParams& params) {
  const TravellingTurns turns = travelling_turns(kWeipipe, params, 1);
  const bool early = choice(kWeipipe, params, "pass", {"after", "before"}) == "before";
  Schedule schedule = travelling_frame(kWeipipe, params, turns);
  schedule.parameters["pass"] = std::string(early ? "before" : "after");
  write_workers(schedule, turns, !early, 0);
  if (turns.p == 1) return schedule;
  for (std::int64_t update = 0; update < turns.updates; ++update) {
    for (std::int64_t turn = 0; turn + 1 < turns.turns(); ++turn) {
      for (std::int64_t worker = 0; worker < turns.p; ++worker) {
        const ExtraEdge edge = passed_on(turns, {worker, update, turn}, early);
        if (edge.carries()) schedule.extra_edges.push_back(edge);
      }
    }
  }
  return schedule;
}

}  // namespace plumb
