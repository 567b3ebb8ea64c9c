#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/cluster/cluster.hpp"
#include "models/costs/stage_costs.hpp"
#include "models/ground/units.hpp"
#include "schedules/document/action.hpp"
#include "schedules/document/part_table.hpp"
#include "schedules/document/segments.hpp"
#include "schedules/program/instr.hpp"
#include "schedules/program/move.hpp"
#include "schedules/program/runtime_ticks.hpp"
#include "schedules/program/send_buffers.hpp"
#include "schedules/program/transfer.hpp"

namespace plumb {

/// A reduction over several holders. It starts when the last member has joined and occupies no compute lane.
struct Collective {
  enum class Kind : std::uint8_t { kReduceGrad, kReduceTied, kSyncWeights };

  Kind kind = Kind::kReduceGrad;
  std::vector<InstrIndex> members;  ///< the REDUCE_GRAD (or SYNC_WEIGHTS) instrs that join it
  std::int64_t bytes = 0;           ///< of one holder's gradients
  Ticks duration = 0;
};

/// An older version of a holder's weights that must outlive the update that replaces it.
struct KeptVersion {
  std::uint32_t holder = 0;
  std::int32_t version = 0;    ///< updates done before it was replaced
  InstrIndex replaced_by = 0;  ///< the U that makes `version + 1`; the copy is allocated at its start
  InstrIndex last_reader = 0;  ///< the copy is freed at the end of this instr
  bool for_rollback = false;   ///< `last_reader` is the V of the update; the optimizer state is kept, too
};

/// What simulator and trainer run: the schedule with everything it implies (transfers, collectives, versions, sizes).
///
/// ### Life of a buffer
/// All changes happen at fixed positions of the owner's compute lane, so the peak follows from order alone. Just before
/// an instr: (1) the waits for sends at that place free the send buffers, (2) the receives posted there allocate slots.
/// Then its start, then its end. An overlapped pair: both starts, then both ends.
///
/// - F: at its start the stash made by F (by class of last use), the output buffer (transfer) and the workspace are
///   allocated, and the input moves from transfer to its kept class; at its end the workspace is freed, and the input
///   if nothing reads it after F. Of a dropped stash, slices keep a copy of keys and values until I, B or last F.
/// - I: start: stash made by I, input gradient (transfer), workspace; of the last sequence slice also the sums of the
///   gradients of the earlier slices' keys and values. End frees workspace, everything last used by I (input and own
///   sums included) and the output gradient.
/// - W: start: workspace. End frees workspace and everything last used by W.
/// - B: start as I without its stash. End frees workspace, all stash of F, the input, own sums, the output gradient.
/// - U: start: workspace, and a weight version when the old one is still to be read. End frees the workspace.
/// - V after forwards with the weights of its update (`Row::recompute`), which it may take back: the U allocates a
///   copy of the optimizer state, too; both copies are freed at the end of V. V: start: what F works on besides its
///   stash (workspace, output and input), because the forwards may have to be run again; end frees that.
/// - X, a teacher's forward (`Row::taught`): as F in forward mode, with weights of its own, a correction buffer; of the
///   last stage also its output (transfer), which the F of its microbatch frees at its end.
/// - Any reader frees at its end the weight version whose last reader it is; so does U where a method looks back.
///
/// An action on several microbatches or slices holds the buffers of all of them at once.
/// With recompute F frees its stash at its end and keeps the input; B or I allocates the stash again at its start, and
/// the larger of the two workspaces; or an R of its own does, with the workspace of F. In a segment of several stages
/// (schedules/document/segments.hpp) only the first stage keeps the input; the R of the others takes it as F does, and
/// R makes the output as F does. In forward mode F frees its stash and the input at its end. A value whose consumer is
/// on the same device has one buffer: allocated by the producer in class transfer, taken over by the consumer as if
/// received. A value for another device has a send buffer (producer's start until its wait) and a receive slot (its
/// post until the consumer's end, or until the kept class takes it over). Weights, gradients, optimizer state and
/// correction buffers live the whole run; moved weights as `Move` says.
struct Program {
  Timebase base;
  std::int32_t num_devices = 0;
  std::int32_t num_stages = 0;
  std::int64_t num_microbatches = 0;
  std::vector<std::int64_t> microbatches_per_update;  ///< one, or by stage
  bool forward_only = false;
  bool asynchronous = false;  ///< some stage's policy is not flush
  bool has_teacher = false;   ///< some X are its forwards

  std::vector<std::uint32_t> lane_begin;  ///< num_devices + 1 offsets into `instrs`
  std::vector<Instr> instrs;              ///< device by device; one past the end is a sentinel that ends the waits
  std::vector<Wait> waits;
  std::vector<Row> rows;
  std::vector<std::uint8_t> together;  ///< by instr: 0, or where it starts together with instrs of other lanes one more
                                       ///< than its own waits, behind which stand theirs; empty: none does
  std::vector<Ticks> durations;        ///< by row, device speed included
  std::vector<Ticks> folded_recompute;  ///< by row: the part of the duration that is recompute besides that of R (of a
                                        ///< pair: also R, and extra work); empty when none has any
  ValuesBeside beside;
  std::vector<Holder> holders;
  std::vector<Transfer> transfers;  ///< only those of `moves` when edges are latencies (abstract `comm`)
  std::vector<Channel> channels;
  bool waits_by_rank = false;  ///< sends are waited for later than the buffers require, so that lanes do not deadlock
  SendBuffers send_buffers;
  std::vector<Move> moves;  ///< in order of their transfers, which are the last ones
  std::vector<Collective> collectives;

  std::vector<std::int32_t> version_read;  ///< by instr (-1: reads none); empty when every policy is flush
  std::vector<KeptVersion> kept_versions;

  PartTable parts;                        ///< what microbatches are cut into
  std::vector<StageMemory> memory;        ///< by stage; empty when memory is not modelled
  std::vector<StageMemory> part_memory;   ///< by stage and part; empty when `parts` is plain: `memory` holds then
  std::vector<StageMemory> sums;          ///< of everything that one instr works on (`Row::sum`)
  std::int64_t memory_units_per_one = 0;  ///< see StageCosts
  std::vector<SegmentPlace> segments;     ///< of recompute, by stage; empty when there are none
  std::optional<Ticks> comm;              ///< see StageCosts
  std::vector<SharedLink> shared_links;
  std::vector<DeviceSpec> device_specs;  ///< jitter and limits; empty when no cluster is known
  Contention contention;                 ///< between the devices of a node; empty: there is none
  std::int32_t devices_per_node = 1;
  RuntimeTicks runtime;
  WorkUnits work;

  /// What the transfer is: `message_op`.
  Op op_of(std::uint32_t transfer) const {
    const Row& row = rows[instrs[transfers[transfer].producer].row];
    return row.taught >= 0 ? Op::kSendF : message_op(row.op);
  }
  /// The action of the instr; that of a teacher's forward names its microbatches instead of its number.
  Action work_of(InstrIndex at) const {
    Action action = instrs[at].action;
    const Row& row = rows[instrs[at].row];
    if (row.taught < 0) return action;
    action.microbatch = MicrobatchId{row.taught};
    action.merged = (row.microbatches - 1) & 127;
    return action;
  }
  /// An `ExtraEdge` with what it carries. No buffers are counted; the trainer, whose devices have it, sends nothing.
  bool carries_weights(std::uint32_t transfer) const { return op_of(transfer) == Op::kUnshard; }
  bool is_move(std::uint32_t transfer) const { return transfer >= transfers.size() - moves.size(); }
  /// The move of an EVICT's or LOAD's transfer.
  const Move& move_of(std::uint32_t transfer) const { return moves[transfer - (transfers.size() - moves.size())]; }
  std::size_t size() const { return instrs.empty() ? 0 : instrs.size() - 1; }
  /// Memory of a stage for one part. Requires modelled memory.
  const StageMemory& memory_of(StageId stage, std::size_t part) const {
    return part_memory.empty() ? memory[index(stage)] : part_memory[index(stage) * parts.all().size() + part];
  }
};

}  // namespace plumb
