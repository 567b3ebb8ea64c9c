#include "sim/memory/memory_changes.hpp"

#include <algorithm>

#include "schedules/program/waits.hpp"

namespace plumb {

std::vector<MemoryChange> MemoryChanges::moves_before(InstrIndex i) const {
  std::vector<MemoryChange> changes;
  if (program_.moves.empty()) return changes;
  for (const std::uint32_t t : lane_.sent(i)) {
    if (program_.op_of(t) != Op::kEvict) continue;
    const std::vector<MemoryChange> freed = moved(t, i, MemoryPhase::kBefore);
    changes.insert(changes.end(), freed.begin(), freed.end());
  }
  const auto guest = [&](std::uint32_t m, std::int64_t sign) {
    const Move& move = program_.moves[m];
    changes.push_back({i, MemoryPhase::kBefore, MemoryClass::kEvicted, BufferKind::kEvicted,
                       program_.transfers[move.transfer].issue, sign * move.bytes});
  };
  for (const std::uint32_t m : lane_.held.of(i - lane_.begin)) guest(m, +1);
  for (const std::uint32_t m : lane_.released.of(i - lane_.begin)) guest(m, -1);
  return changes;
}

std::vector<MemoryChange> MemoryChanges::loads_at(InstrIndex i) const {
  if (program_.instrs[i].action.op != Op::kLoad) return {};
  for (const std::uint32_t t : lane_.made(i)) {
    if (program_.op_of(t) == Op::kLoad) return moved(t, i, MemoryPhase::kStart);
  }
  return {};
}

std::vector<MemoryChange> MemoryChanges::added_up(InstrIndex i) const {
  std::vector<MemoryChange> changes;
  if (program_.beside.taken.empty()) return changes;
  const std::int64_t value = plan(i).received_bytes;
  std::int64_t more = value * (program_.beside.taken[i] + (comes_without_transfer(positions_, i) ? 1 : 0) - 1);
  std::vector<MemoryChange> whole;
  const auto add = [&](std::int64_t bytes, InstrIndex giver) {
    whole.push_back({i, MemoryPhase::kStart, MemoryClass::kTransfer, plan(i).received, i, -bytes, giver});
  };
  for (const Wait& wait : waits_of(program_, i)) {
    const std::uint32_t t = wait.via;
    if (!is_for_transfer(wait) || program_.is_move(t) || program_.carries_weights(t)) continue;
    if (program_.transfers[t].consumer != i) continue;  // that of a pass that starts together with this one
    add(program_.transfers[t].bytes, program_.transfers[t].producer);
    more += program_.transfers[t].bytes;
  }
  for (std::int32_t k = 0; k < program_.beside.taken[i]; ++k) add(value, MemoryChange::kNobody);
  for (MemoryChange& change : whole) {
    if (more <= 0) break;
    change.bytes = std::max(change.bytes, -more);
    more += change.bytes;
    changes.push_back(change);
  }
  return changes;
}

/// EVICT frees, LOAD allocates.
std::vector<MemoryChange> MemoryChanges::moved(std::uint32_t transfer, InstrIndex at, MemoryPhase phase) const {
  const Transfer& of = program_.transfers[transfer];
  const std::int64_t sign = program_.op_of(transfer) == Op::kEvict ? -1 : 1;
  std::vector<MemoryChange> changes;
  for (const MovedBuffer& buffer : moved_buffers(program_, program_.move_of(transfer))) {
    changes.push_back({at, phase, buffer.cls, buffer.buffer, of.issue, sign * buffer.bytes});
  }
  return changes;
}

}  // namespace plumb
