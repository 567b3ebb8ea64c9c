#include <algorithm>
#include <string>
#include <tuple>

#include "models/costs/reverses.hpp"
#include "models/ground/error.hpp"
#include "models/ground/huge_pages.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/document/walk.hpp"
#include "schedules/lowering/lower_state.hpp"
#include "schedules/lowering/row_table.hpp"
#include "schedules/rules/recompute_rules.hpp"

namespace plumb::lowering {
namespace {

/// Writes the lanes, one device after the other.
class LaneWriter {
 public:
  explicit LaneWriter(State& state)
      : state_(state),
        program_(state.program),
        rows_(state),
        recompute_(state.schedule),
        microbatches_(static_cast<std::size_t>(state.schedule.num_microbatches)) {
    special_ = recompute_.any() || !state.schedule.extra_edges.empty() || state.validates;
    forwards_since_update_.resize(state.validates ? state.program.holders.size() : 0, false);
    for (const ExtraEdge& edge : state.schedule.extra_edges) {
      state.extra_ends.emplace(key_of(edge.before), ProducerTable::kNone);
      state.extra_ends.emplace(key_of(edge.after), ProducerTable::kNone);
    }
  }

  void write(DeviceId device) {
    program_.lane_begin.push_back(here_);
    in_pair_ = false;
    rows_.begin_device(device);
    const auto visit = [this](const Action& action) { add(action); };
    if (const auto actions = with_updates(state_, device)) {
      for (const Action& action : *actions) visit(action);
    } else {
      walk(state_.schedule.devices[index(device)], visit);
    }
  }

 private:
  void add(const Action& action) {
    const bool plain = action.op <= Op::kW && action.merged == 0 && !action.overlaps_next && !in_pair_ && !special_;
    if (plain && index(action.microbatch) < microbatches_) {
      const std::uint32_t row = rows_.row(action, false);
      state_.producers.set(action, here_);
      program_.instrs.push_back({action, row, 0});
      ++here_;
    } else if (is_compute(action.op)) {
      add_compute(action);
    } else if (is_send(action.op)) {
      state_.sends.push_back({action, here_});
    } else if (is_recv(action.op)) {
      state_.receives.push_back({action, here_});
    } else if (is_move(action.op)) {
      state_.has_moves = true;
      add_compute(action);
    } else if (action.op == Op::kSyncWeights) {
      state_.steps[rows_.holder_of(action)].syncs.push_back(here_);
      add_compute(action);
      add_compute(action);
    } else if (action.op == Op::kReduceGrad) {
      if (state_.reduces_with[rows_.holder_of(action)] != 0) add_compute(action);
    }
    // UNSHARD and RESHARD do nothing here: every holder has its stage's weights whole.
  }

  /// A stage that reverses has nothing to make again: its backward does so by itself.
  bool recomputes(const Action& action) const {
    const auto& memory = state_.costs.memory;
    if (memory.empty() || !reverses(memory[index(action.stage)])) return recompute_.applies(action);
    if (action.op == Op::kR) {
      throw Error(to_string(action) + ": the backward of its stage makes its input again; expected no R of it");
    }
    return false;
  }

  void add_compute(const Action& action) {
    check_microbatch(action);
    const bool again = (recompute_.any() && recomputes(action)) || (state_.validates && may_run_again(action));
    Instr instr{action, rows_.row(action, again), 0};
    if (in_pair_) {
      Instr& first = program_.instrs.back();
      std::tie(first.row, instr.row) = rows_.pair_rows(first.row, instr.row);
    }
    in_pair_ = action.overlaps_next;
    state_.producers.set(action, here_);
    if (action.op == Op::kU || action.op == Op::kReduceGrad) note_step(action);
    if (!state_.extra_ends.empty()) {
      Action one = action;
      for (std::int32_t more = 0; more <= action.merged; ++more) {
        if (more > 0) one.microbatch = MicrobatchId{static_cast<std::int32_t>(one.microbatch) + 1};
        const auto end = state_.extra_ends.find(key_of(one));
        if (end != state_.extra_ends.end()) end->second = here_;
      }
    }
    program_.instrs.push_back(instr);
    ++here_;
  }

  /// Whether `action` is a V with forwards between it and its update.
  bool may_run_again(const Action& action) {
    const std::uint32_t holder = rows_.holder_of(action);
    if (action.op == Op::kF) forwards_since_update_[holder] = true;
    if (action.op == Op::kU) forwards_since_update_[holder] = false;
    return action.op == Op::kV && forwards_since_update_[holder];
  }

  void note_step(const Action& action) {
    const std::uint32_t holder = rows_.holder_of(action);
    if (state_.reduces_with[holder] == 0) return;
    HolderSteps& steps = state_.steps[holder];
    (action.op == Op::kU ? steps.updates : steps.reduces).push_back(here_);
  }

  void check_microbatch(const Action& action) const {
    const auto first = static_cast<std::int64_t>(action.microbatch);
    const bool names_one = action.op <= Op::kR;
    if (!names_one || (first >= 0 && first + action.merged < state_.schedule.num_microbatches)) return;
    throw CannotRun(to_string(action) + ": microbatch out of range; expected 0 to " +
                    std::to_string(state_.schedule.num_microbatches - 1));
  }

  State& state_;
  Program& program_;
  RowTable rows_;
  RecomputeRules recompute_;
  std::size_t microbatches_;
  std::vector<bool> forwards_since_update_;  ///< by holder; empty without V
  bool special_ = false;                     ///< actions have to be looked at one by one
  InstrIndex here_ = 0;                      ///< the next instr
  bool in_pair_ = false;                     ///< it is the second half of a pair
};

}  // namespace

void add_lanes(State& state) {
  std::int64_t size = 1;
  for (const DeviceList& list : state.schedule.devices) size += expanded_size(list);
  reserve_huge(state.program.instrs, static_cast<std::size_t>(size));
  state.program.lane_begin.reserve(state.schedule.devices.size() + 1);
  LaneWriter writer(state);
  for (std::int32_t device = 0; device < state.schedule.num_devices; ++device) writer.write(DeviceId{device});
  state.program.lane_begin.push_back(static_cast<InstrIndex>(state.program.instrs.size()));
}

}  // namespace plumb::lowering
