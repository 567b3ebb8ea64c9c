#include <algorithm>
#include <string>
#include <string_view>

#include "schedules/catalogue/special/travelling_weights.hpp"

namespace plumb {
namespace {

constexpr std::string_view kTawpipe = "tawpipe";
constexpr std::int64_t kHomeward = 3;  ///< turns after the last one in which gradients come home

/// Who brings what to whom in one turn.
class NodeMessages {
 public:
  NodeMessages(const TravellingTurns& turns, Schedule& schedule) : turns_(turns), schedule_(schedule) {}

  void write(std::int64_t update) {
    update_ = update;
    for (std::int64_t node = 0; node < turns_.groups(); ++node) {
      for (std::int64_t turn = 0; turn < turns_.turns(); ++turn) {
        if (turns_.has_forward(node, turn)) bring(node, turn, turns_.forward_stage(node, turn));
        if (!turns_.has_backward(node, turn)) continue;
        bring(node, turn, turns_.backward_stage(node, turn));
        take_home(node, turn, turns_.backward_stage(node, turn));
      }
    }
  }

 private:
  /// Stages lie on the nodes in turn.
  std::int64_t owner(std::int64_t stage) const {
    return stage % turns_.groups() * turns_.group + stage / turns_.groups();
  }
  /// The worker of the node that talks to the owner: the one with the same number in its node.
  std::int64_t porter(std::int64_t node, std::int64_t stage) const {
    return node * turns_.group + stage / turns_.groups();
  }

  /// From the owner to the porter two turns ahead, and from there to the others of the node one turn ahead; before the
  /// first two turns there is less time.
  void bring(std::int64_t node, std::int64_t turn, std::int64_t stage) {
    const StageId weights{static_cast<std::int32_t>(stage)};
    const std::int64_t from = owner(stage);
    const std::int64_t through = porter(node, stage);
    std::int64_t there = std::max<std::int64_t>(turn - 1, 0);
    if (from != through) {
      const std::int64_t sent = std::max<std::int64_t>(turn - 2, 0);
      there = std::max(there, sent + 1);
      add(from, sent, through, there).weights.push_back(weights);
    }
    for (std::int64_t worker = node * turns_.group; worker < (node + 1) * turns_.group; ++worker) {
      if (worker != through) add(through, there, worker, turn).weights.push_back(weights);
    }
  }

  /// The same way back, from the end of the turn on.
  void take_home(std::int64_t node, std::int64_t turn, std::int64_t stage) {
    const StageId gradients{static_cast<std::int32_t>(stage)};
    const std::int64_t to = owner(stage);
    const std::int64_t through = porter(node, stage);
    for (std::int64_t worker = node * turns_.group; worker < (node + 1) * turns_.group; ++worker) {
      if (worker != through) add(worker, turn + 1, through, turn + 2).gradients.push_back(gradients);
    }
    if (to != through) add(through, turn + 2, to, turn + 3).gradients.push_back(gradients);
  }

  ExtraEdge& add(std::int64_t from, std::int64_t sent, std::int64_t to, std::int64_t taken) {
    const TurnMark begin{from, update_, std::max<std::int64_t>(sent, 0)};
    const TurnMark end{to, update_, std::max<std::int64_t>(taken, 0)};
    return schedule_.extra_edges.emplace_back(ExtraEdge{mark(turns_, begin, kHomeward), mark(turns_, end, kHomeward)});
  }

  const TravellingTurns& turns_;
  Schedule& schedule_;
  std::int64_t update_ = 0;
};

}  // namespace

/// The weights of weipipe, kept by their owners: stage s belongs to one worker, stages lie on the nodes in turn, and
/// all workers of a node run the same stage at the same time. Its weights come over the network once for a node, two
/// turns ahead, and from there to the others of the node one turn ahead; gradients take the same way back. Node k
/// begins in turn k. `node=W` workers of a node (default: all). Where messages take no time a step takes m (F + B) on
/// one or two nodes and at most (m + N - 1)(F + B) on N, F and B of one stage: an owner sends when its own turn has
/// come. A worker keeps the activations of one microbatch. m a multiple of p, p of W; (m + 2p) x p x updates at most
/// 2^20. Inside a node the released program broadcasts and reduces by collectives; here each of the others has a
/// message of its own. Memory counts the whole model on every worker. (TawPipe, AAAI 2026, arXiv 2511.09741; released
/// code, wuhouming/TawPipe)
///
///   p = 2, node=1, m = 2 (X: begin of a turn, without work; the last turns only bring gradients home)
///   d0: 0X0 0F0 0X2 1F0 0X4 1B0 0X6 0B0 0X8 0X10 0X12 0X14 1U0 0U0
///   d1: 1X0 1X2 0F1 1X4 1F1 1X6 1B1 1X8 0B1 1X10 1X12 1X14 1U0 0U0      (of replica 1)
Schedule tawpipe(const ScheduleParams& params) {
  const std::int64_t p = params.num_devices;
  const std::int64_t node = whole_number(kTawpipe, params, "node", p);
  require(p % node == 0, kTawpipe,
          "node (" + std::to_string(node) + ") must divide num_devices (" + std::to_string(p) + ")");
  const TravellingTurns turns = travelling_turns(kTawpipe, params, node);
  Schedule schedule = travelling_frame(kTawpipe, params, turns);
  schedule.parameters["node"] = node;
  write_workers(schedule, turns, false, kHomeward);
  NodeMessages messages(turns, schedule);
  for (std::int64_t update = 0; update < turns.updates; ++update) messages.write(update);
  return schedule;
}

}  // namespace plumb
