#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "models/cluster/cluster.hpp"
#include "models/costs/stage_costs.hpp"
#include "schedules/document/schedule.hpp"
#include "schedules/lowering/lower_options.hpp"
#include "schedules/lowering/part_costs.hpp"
#include "schedules/program/producer_table.hpp"
#include "schedules/program/program.hpp"
#include "schedules/program/written_program.hpp"
#include "schedules/rules/dependency_rules.hpp"

/// The steps of `lower`, in order. Internal to schedules/lowering.
namespace plumb::lowering {

/// A SEND or RECV of the document: where it stands in the compute lane.
struct ExplicitTransfer {
  Action action;
  InstrIndex before = 0;                      ///< the compute-lane step that follows it
  std::uint32_t next = ProducerTable::kNone;  ///< another one of the same value (to another peer)
};

/// Steps of one holder at which gradients are reduced and weights updated, in order of updates.
struct HolderSteps {
  std::vector<InstrIndex> reduces;
  std::vector<InstrIndex> updates;
  std::vector<InstrIndex> syncs;  ///< SYNC_WEIGHTS: joins here, and waits at the next instr
};

/// What identifies an action, however it is merged or overlapped.
using WorkKey = std::tuple<StageId, Op, MicrobatchId, ReplicaId, std::int16_t, std::int16_t>;
inline WorkKey key_of(const Action& action) {
  return {action.stage, action.op, action.microbatch, action.replica, action.slice, action.where};
}

struct State {
  State(const Schedule& s, const StageCosts& c, const Cluster* cl, const LowerOptions& o);

  const Schedule& schedule;
  const StageCosts& costs;
  const Cluster* cluster;
  const LowerOptions& options;
  DependencyRules rules;
  PartTable parts;
  PartCostTable part_costs;
  ProducerTable producers;
  Program program;

  std::vector<std::uint32_t> first_holder;  ///< by replica * stages + stage; one more than those ends the last
  std::vector<std::vector<std::uint32_t>> holders_on;  ///< by device
  std::vector<std::int32_t> reduces_with;  ///< by holder: reduces its gradients with others (number of groups it is in)
  std::vector<HolderSteps> steps;          ///< by holder; reduces and updates where `reduces_with` is not 0
  std::vector<ExplicitTransfer> sends;
  std::vector<ExplicitTransfer> receives;
  std::map<WorkKey, InstrIndex> extra_ends;             ///< the ends of extra edges, where they stand in the lanes
  std::map<std::uint32_t, std::int64_t> carried_bytes;  ///< of extra edges that are messages, by wait
  std::vector<std::pair<InstrIndex, Wait>> collective_waits;  ///< by instr
  std::vector<std::pair<InstrIndex, InstrIndex>> load_waits;  ///< by instr: it waits for that LOAD
  bool has_moves = false;
  bool validates = false;         ///< updates are validated (V), by the document ...
  bool adds_validations = false;  ///< ... or because `LowerOptions::global_norm` wants it
  std::vector<std::pair<InstrIndex, InstrIndex>> validation_waits;  ///< (V, U): of the added ones

  bool has_transfers() const { return makes_transfers(costs, cluster, options); }
  /// The way of a message; a link of its own where all edges have one time.
  Route route(DeviceId from, DeviceId to) const;
};

/// Marks a wait for a value from another device until its transfer is known.
inline constexpr std::uint32_t kPendingTransfer = 0xFFFFFFFDU;
/// Marks a wait for a LOAD until its transfer is known.
inline constexpr std::uint32_t kPendingMove = 0xFFFFFFFCU;

/// Holders by replica and stage, and which of them reduce gradients together.
void add_holders(State& state);
/// Instrs, rows and durations of all devices, updates and reductions added where the document has none.
void add_lanes(State& state);
/// Collectives, and which updates wait for them.
void add_collectives(State& state);
/// Which holders need two blocks of gradients.
void count_gradient_blocks(State& state);
/// Who waits for which LOAD.
void find_load_waits(State& state);
/// Waits of all instrs.
void add_waits(State& state);
/// Whether updates are validated, and by whom.
void note_validations(State& state);
/// Puts V after the last U of every update in a device's list.
void insert_validations(std::vector<Action>& actions);
/// Added V wait for the updates of all devices.
void find_validation_waits(State& state);
/// Keeps the versions to which updates may be rolled back.
void keep_for_rollback(State& state);
/// Transfers and channels for the waits between devices.
void add_transfers(State& state);

/// Gives passes that start together the waits of each other, and lets no send be waited for just before them. Requires
/// all waits and transfers.
void add_common_starts(State& state);

/// The transfers of all EVICT and LOAD, over the copy lanes of their devices.
void add_moves(State& state);

/// The actions of `device` in order, with U and REDUCE_GRAD added where the document has none for a holder; no value
/// when there is nothing to add.
std::optional<std::vector<Action>> with_updates(const State& state, DeviceId device);

/// Whether the document leaves U or REDUCE_GRAD of a holder on `device` to us.
bool lacks_updates(const State& state, DeviceId device);

/// What `lower_written` returns; takes the program out of the state. Requires holders and validations.
std::optional<WrittenProgram> written_lanes(State& state);

/// The groups of holders that reduce the gradients of `stage` together; groups of one are left out.
std::vector<std::vector<std::uint32_t>> reduce_groups(const State& state, StageId stage);

}  // namespace plumb::lowering
