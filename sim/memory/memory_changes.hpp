#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "models/costs/memory_class.hpp"
#include "models/ground/units.hpp"
#include "schedules/program/program.hpp"
#include "schedules/program/waits.hpp"
#include "sim/memory/memory_plan.hpp"
#include "sim/memory/memory_positions.hpp"

namespace plumb {

/// Moments at which buffers are allocated and freed: just before an instr (waits of sends, then posts), at its start,
/// at its end.
enum class MemoryPhase : std::uint8_t { kBefore, kStart, kEnd };

/// One allocation or release of a buffer on one device (schedules/program/program.hpp, "Life of a buffer").
struct MemoryChange {
  static constexpr InstrIndex kNobody = 0xFFFFFFFFU;

  InstrIndex instr = 0;  ///< where it happens; the lane's end for sends waited for after the last instr (kBefore)
  MemoryPhase phase{};
  MemoryClass cls{};
  BufferKind buffer{};
  InstrIndex owner = 0;        ///< the instr whose stage and microbatches the buffer belongs to
  std::int64_t bytes = 0;      ///< negative when freed
  InstrIndex other = kNobody;  ///< the instr at the other end of a message: only what both work on is in it

  friend bool operator==(const MemoryChange&, const MemoryChange&) = default;
};

/// The activations of a device that an R has recomputed, part by part: an R and the backward after it may cover
/// different microbatches and slices.
class RecomputedWork {
 public:
  /// The program must outlive this.
  explicit RecomputedWork(const Program& program) : program_(&program) {}

  void note(InstrIndex recompute) {
    for_each(recompute, [&](const Work& work) { made_.insert(work); });
  }

  /// Whether an R has made again what the backward works on, which is forgotten then.
  bool take(InstrIndex backward) {
    bool any = false;
    if (!made_.empty()) for_each(backward, [&](const Work& work) { any = made_.erase(work) > 0 || any; });
    return any;
  }

 private:
  using Work = std::tuple<std::uint32_t, std::size_t, std::size_t>;  ///< holder, microbatch, slice

  template <class Visit>
  void for_each(InstrIndex i, Visit&& visit) const {
    const Instr& instr = program_->instrs[i];
    program_->parts.for_each(instr.action, [&](std::size_t microbatch, std::size_t slice, std::size_t) {
      visit(Work{program_->rows[instr.row].holder, microbatch, slice});
    });
  }

  const Program* program_;
  std::set<Work> made_;
};

/// Produces the memory changes of one device in order.
///
/// Within one position the order is: frees of waited-for sends and evictions, new receive slots (by index of the
/// transfer), what is held for others from here on, and no longer; at a start: what several stages gave is added up,
/// the input changes from transfer to its kept class, then stash, outputs, workspace, weight version; at an end:
/// workspace, stash, input, output gradient, weight versions. An overlapped pair: both befores, both starts, both ends.
/// Between devices without transfers a value has a send buffer during its producer and a receive slot from just before
/// its consumer. Without backwards (forward_only) F frees at its end all that it made.
class MemoryChanges {
 public:
  /// `positions` and its program must outlive this.
  MemoryChanges(const MemoryPositions& positions, DeviceId device)
      : positions_(positions), program_(*positions.program), lane_(positions, device), recomputed_(program_) {}

  /// Calls `sink(const MemoryChange&)` for all of them until it returns false. Linear in the lane.
  template <class Sink>
  void tell(Sink&& sink);

  const LanePositions& lane() const { return lane_; }

 private:
  const RowPlan& plan(InstrIndex i) const { return positions_.plans[program_.instrs[i].row]; }
  bool leaves_without_transfer(InstrIndex i) const {
    return !positions_.leaves_without_transfer.empty() && positions_.leaves_without_transfer[i];
  }
  /// Evictions that are over, and what is held for other devices from here on or no longer; a LOAD's buffers.
  std::vector<MemoryChange> moves_before(InstrIndex i) const;
  std::vector<MemoryChange> loads_at(InstrIndex i) const;
  std::vector<MemoryChange> moved(std::uint32_t transfer, InstrIndex at, MemoryPhase phase) const;
  /// Of the values that several stages send for one, one is left.
  std::vector<MemoryChange> added_up(InstrIndex i) const;
  template <class Add>
  void before(InstrIndex i, Add&& add) const;
  template <class Add>
  void start(InstrIndex i, Add&& add) const;
  template <class Add>
  void end(InstrIndex i, Add&& add);
  template <class Add>
  void change_versions(InstrIndex i, MemoryPhase phase, Add&& add) const;

  const MemoryPositions& positions_;
  const Program& program_;
  LanePositions lane_;
  RecomputedWork recomputed_;
};

template <class Sink>
void MemoryChanges::tell(Sink&& sink) {
  bool more = !program_.memory.empty();
  const auto add = [&](const MemoryChange& change) {
    if (more && change.bytes != 0) more = sink(change);
  };
  for (InstrIndex first = lane_.begin; more && first < lane_.end;) {
    const InstrIndex end = unit_end(program_, first);
    for (InstrIndex i = first; i < end; ++i) before(i, add);
    for (InstrIndex i = first; i < end; ++i) start(i, add);
    for (InstrIndex i = first; i < end; ++i) this->end(i, add);
    first = end;
  }
  before(lane_.end, add);
}

template <class Add>
void MemoryChanges::before(InstrIndex i, Add&& add) const {
  for (const std::uint32_t t : lane_.sent(i)) {
    if (program_.is_move(t) || program_.carries_weights(t)) continue;
    const Transfer& transfer = program_.transfers[t];
    const BufferKind buffer = program_.op_of(t) == Op::kSendB ? BufferKind::kInputGrad : BufferKind::kOutput;
    add({i, MemoryPhase::kBefore, MemoryClass::kTransfer, buffer, transfer.producer, -transfer.bytes,
         transfer.consumer});
  }
  for (const std::uint32_t t : lane_.posted(i)) {
    if (program_.is_move(t) || program_.carries_weights(t)) continue;
    const Transfer& transfer = program_.transfers[t];
    const BufferKind buffer = program_.op_of(t) == Op::kSendB ? BufferKind::kOutputGrad : BufferKind::kInput;
    add({i, MemoryPhase::kBefore, MemoryClass::kTransfer, buffer, transfer.consumer, transfer.bytes,
         transfer.producer});
  }
  for (const MemoryChange& change : moves_before(i)) add(change);
  if (i == lane_.end || !comes_without_transfer(positions_, i)) return;
  add({i, MemoryPhase::kBefore, MemoryClass::kTransfer, plan(i).received, i, plan(i).received_bytes});
}

template <class Add>
void MemoryChanges::start(InstrIndex i, Add&& add) const {
  for (const MemoryChange& change : loads_at(i)) add(change);
  for (const MemoryChange& change : added_up(i)) add(change);
  for (const PlannedChange& planned : plan(i).start) {
    std::int64_t left = planned.bytes;
    const bool is_value = planned.when == PlannedChange::When::kForValue;
    const auto messages = is_value ? lane_.made(i) : std::span<const std::uint32_t>();
    for (const std::uint32_t t : messages) {
      const Transfer& of = program_.transfers[t];
      add({i, MemoryPhase::kStart, planned.cls, planned.buffer, i, of.bytes, of.consumer});
      left -= of.bytes;
    }
    const BufferKind buffer = is_value && !leaves_without_transfer(i) ? planned.handed_over : planned.buffer;
    if (is_value && !program_.beside.given.empty()) {
      const std::int32_t here = program_.beside.given[i] + (leaves_without_transfer(i) ? 1 : 0);
      for (std::int32_t k = 1; k < here; ++k) add({i, MemoryPhase::kStart, planned.cls, buffer, i, planned.bytes});
      left = here > 0 ? planned.bytes : left > 0 ? left : 0;
    }
    add({i, MemoryPhase::kStart, planned.cls, buffer, i, left});
  }
  change_versions(i, MemoryPhase::kStart, add);
}

template <class Add>
void MemoryChanges::end(InstrIndex i, Add&& add) {
  const Op op = program_.rows[program_.instrs[i].row].op;
  if (op == Op::kR) recomputed_.note(i);
  const bool made_again = is_backward(op) && recomputed_.take(i);
  for (const PlannedChange& planned : plan(i).end) {
    if (planned.when == PlannedChange::When::kIfLeaves && !leaves_without_transfer(i)) continue;
    if (planned.when == PlannedChange::When::kIfRecomputed && !made_again) continue;
    add({i, MemoryPhase::kEnd, planned.cls, planned.buffer, i, planned.bytes});
  }
  change_versions(i, MemoryPhase::kEnd, add);
}

/// A replaced version is kept when its update starts, and freed at the end of its last reader.
template <class Add>
void MemoryChanges::change_versions(InstrIndex i, MemoryPhase phase, Add&& add) const {
  const IndexLists& versions = phase == MemoryPhase::kStart ? lane_.replaced : lane_.read;
  if (versions.items.empty()) return;
  for (const std::uint32_t v : versions.of(i - lane_.begin)) {
    const StageId held = program_.holders[program_.kept_versions[v].holder].stage;
    const StageMemory& of = program_.memory[index(held)];
    const std::int64_t bytes = of.updated_bytes() + (program_.kept_versions[v].for_rollback ? of.optimizer_bytes : 0);
    add({i, phase, MemoryClass::kWeightVersions, BufferKind::kWeightVersion, i,
         phase == MemoryPhase::kStart ? bytes : -bytes});
  }
}

}  // namespace plumb
