#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "models/ground/error.hpp"
#include "models/ground/huge_pages.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/lowering/lower_state.hpp"
#include "schedules/program/waits.hpp"

namespace plumb::lowering {
namespace {

/// An extra edge with both ends found.
struct FoundEdge {
  InstrIndex after = 0;
  InstrIndex before = 0;
  std::optional<std::int64_t> carried{};  ///< bytes of weights and gradients; none: it carries no such thing
  bool travels = false;                   ///< as a message, where messages are made
};

/// What the edge carries; 0 when memory is not modelled.
std::int64_t bytes_of(const State& state, const ExtraEdge& edge) {
  std::int64_t bytes = 0;
  if (state.costs.memory.empty()) return bytes;
  for (const StageId stage : edge.weights) bytes += state.costs.memory[index(stage)].weight_bytes;
  for (const StageId stage : edge.gradients) bytes += state.costs.memory[index(stage)].gradient_bytes;
  return bytes;
}

/// A teacher's output goes from stage to stage, as that of its student.
bool hands_on(const Program& program, InstrIndex before, InstrIndex after) {
  const auto taught = [&](InstrIndex at) { return program.rows[program.instrs[at].row].taught >= 0; };
  return taught(before) && taught(after);
}

std::vector<FoundEdge> found_extra_edges(State& state) {
  std::vector<FoundEdge> edges;
  const auto find = [&](const Action& action) {
    const InstrIndex at = state.extra_ends.at(key_of(action));
    if (at != ProducerTable::kNone) return at;
    throw CannotRun("extra_edges: " + to_string(action) + ": expected an action of the document");
  };
  for (const ExtraEdge& edge : state.schedule.extra_edges) {
    FoundEdge& found = edges.emplace_back(FoundEdge{find(edge.after), find(edge.before)});
    if (edge.carries()) found.carried = bytes_of(state, edge);
    found.travels = edge.carries() || hands_on(state.program, found.before, found.after);
  }
  for (const auto& [validation, update] : state.validation_waits) edges.push_back({validation, update});
  std::stable_sort(edges.begin(), edges.end(), [](const FoundEdge& a, const FoundEdge& b) {
    return std::pair(a.after, a.before) < std::pair(b.after, b.before);
  });
  return edges;
}

/// Writes the waits lane by lane. What stands earlier in the same lane needs no wait; what stands later gets one, which
/// can never end (`find_deadlock` says so).
class WaitWriter {
 public:
  explicit WaitWriter(State& state)
      : state_(state),
        program_(state.program),
        edge_via_(state.program.comm.value_or(0) > 0 ? Wait::kLatency : Wait::kDirect),
        value_via_(state.has_transfers() ? kPendingTransfer : edge_via_),
        extra_edges_(found_extra_edges(state)) {}

  void write_lane(InstrIndex begin, InstrIndex end) {
    for (InstrIndex at = begin; at < end; ++at) {
      Instr& instr = program_.instrs[at];
      instr.first_wait = static_cast<std::uint32_t>(program_.waits.size());
      if (instr.action.op == Op::kF || is_backward(instr.action.op)) add_values(at, begin, end);
      if (instr.action.op == Op::kR) add_replay(at, begin, end);
      for (; next_collective_ < state_.collective_waits.size() && state_.collective_waits[next_collective_].first == at;
           ++next_collective_) {
        program_.waits.push_back(state_.collective_waits[next_collective_].second);
      }
      for (; next_load_ < state_.load_waits.size() && state_.load_waits[next_load_].first == at; ++next_load_) {
        program_.waits.push_back({state_.load_waits[next_load_].second, kPendingMove});
      }
      for (; next_extra_ < extra_edges_.size() && extra_edges_[next_extra_].after == at; ++next_extra_) {
        add_extra(extra_edges_[next_extra_], begin, end);
      }
    }
  }

 private:
  /// Each edge is a wait of its own, and where it travels a message of what it carries itself.
  void add_extra(const FoundEdge& edge, InstrIndex begin, InstrIndex end) {
    if (edge.before >= begin && edge.before < unit_begin(program_, edge.after)) return;
    const bool travels = edge.travels && (edge.before < begin || edge.before >= end);
    if (travels && edge.carried) {
      state_.carried_bytes.emplace(static_cast<std::uint32_t>(program_.waits.size()), *edge.carried);
    }
    program_.waits.push_back({edge.before, travels ? value_via_ : edge_via_});
  }

  /// Own forwards, recomputes and I stand in the same lane; only values of other stages can come from elsewhere.
  void add_values(InstrIndex at, InstrIndex begin, InstrIndex end) {
    const Instr& instr = program_.instrs[at];
    const Action& action = instr.action;
    const std::span<const StageId> sources = state_.rules.sources(action.op, action.stage);
    if (!state_.parts.plain()) return add_part_values(at, sources, begin, end);
    for (std::size_t i = 0; i <= action.merged; ++i) {
      for (const StageId stage : sources) {
        const InstrIndex source = state_.producers.find(action.op, stage, index(action.microbatch) + i);
        if (source - begin < at - begin) {
          note_beside(source, at, {index(action.microbatch) + i, 0});
          continue;
        }
        if (source == ProducerTable::kNone) throw_missing(action, stage, i);
        add_value(instr.first_wait, source, source - begin < end - begin);
      }
    }
  }

  /// In a segment, R takes its input from that of the stage before.
  void add_replay(InstrIndex at, InstrIndex begin, InstrIndex end) {
    const StageId stage = program_.instrs[at].action.stage;
    if (!state_.rules.takes_replay(stage)) return;
    const StageId before{static_cast<std::int32_t>(stage) - 1};
    add_part_values(at, std::span(&before, 1), begin, end);
  }

  /// What the instr takes from the same op of other stages, slice by slice.
  void add_part_values(InstrIndex at, std::span<const StageId> sources, InstrIndex begin, InstrIndex end) {
    const Instr& instr = program_.instrs[at];
    Action needed = instr.action;
    needed.merged = 0;
    state_.parts.for_each(instr.action, [&](std::size_t microbatch, std::size_t slice, std::size_t) {
      for (const StageId stage : sources) {
        needed.stage = stage;
        needed.microbatch = MicrobatchId{static_cast<std::int32_t>(microbatch)};
        needed.slice = static_cast<std::int16_t>(slice);
        const InstrIndex source = state_.producers.find(needed);
        if (source - begin < at - begin) {
          note_beside(source, at, {microbatch, slice});
          continue;
        }
        if (source == ProducerTable::kNone) throw_missing(needed, stage, 0);
        add_value(instr.first_wait, source, source - begin < end - begin);
      }
    });
  }

  /// Counted where the first part of a value is taken, and where it is given.
  void note_beside(InstrIndex source, InstrIndex at, std::pair<std::size_t, std::size_t> part) {
    if (program_.beside.given.empty()) return;
    const auto first_part = [&](InstrIndex of) {
      const Action& action = program_.instrs[of].action;
      return part == std::pair(index(action.microbatch), static_cast<std::size_t>(std::max<int>(0, action.slice)));
    };
    if (first_part(source)) ++program_.beside.given[source];
    if (first_part(at)) ++program_.beside.taken[at];
  }

  /// A wait for a value, which travels unless it is made in the same lane.
  void add_value(std::uint32_t first_wait, InstrIndex source, bool in_lane) {
    if (!has_wait(first_wait, source)) program_.waits.push_back({source, in_lane ? Wait::kDirect : value_via_});
  }

  bool has_wait(std::uint32_t first_wait, InstrIndex source) const {
    for (std::size_t i = first_wait; i < program_.waits.size(); ++i) {
      if (program_.waits[i].source == source) return true;
    }
    return false;
  }

  [[noreturn]] static void throw_missing(Action action, StageId stage, std::size_t merged) {
    action.stage = stage;
    action.microbatch = MicrobatchId{static_cast<std::int32_t>(index(action.microbatch) + merged)};
    action.merged = 0;
    throw CannotRun(to_string(action) + ": needed but run by no device; expected a valid schedule");
  }

  State& state_;
  Program& program_;
  std::uint32_t edge_via_;   ///< of a dependency that carries no bytes
  std::uint32_t value_via_;  ///< of a value
  std::vector<FoundEdge> extra_edges_;
  std::size_t next_collective_ = 0;
  std::size_t next_load_ = 0;
  std::size_t next_extra_ = 0;
};

}  // namespace

void add_waits(State& state) {
  Program& program = state.program;
  reserve_huge(program.waits, program.instrs.size() + state.collective_waits.size());
  if (state.schedule.stage_edges) {
    program.beside = {std::vector<std::uint8_t>(program.instrs.size()),
                      std::vector<std::uint8_t>(program.instrs.size())};
  }
  WaitWriter writer(state);
  for (std::size_t device = 0; device + 1 < program.lane_begin.size(); ++device) {
    writer.write_lane(program.lane_begin[device], program.lane_begin[device + 1]);
  }
  Instr sentinel;
  sentinel.first_wait = static_cast<std::uint32_t>(program.waits.size());
  program.instrs.push_back(sentinel);
}

}  // namespace plumb::lowering
