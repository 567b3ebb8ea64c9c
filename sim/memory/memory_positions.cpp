#include "sim/memory/memory_positions.hpp"

#include <algorithm>
#include <cstdint>
#include <span>

#include "schedules/program/waits.hpp"

namespace plumb {
namespace {

/// Whether `wait` of `consumer` is for a value of another stage. Waits are only for other devices.
bool hands_over_value(const Program& program, const Wait& wait, InstrIndex consumer) {
  if (!is_plain(wait)) return false;
  const Row& from = program.rows[program.instrs[wait.source].row];
  const Row& to = program.rows[program.instrs[consumer].row];
  if (program.holders[from.holder].stage == program.holders[to.holder].stage) return false;
  const Action& producer = program.instrs[wait.source].action;
  const Action& taker = program.instrs[consumer].action;
  const bool same_microbatch = index(producer.microbatch) <= index(taker.microbatch) + taker.merged &&
                               index(taker.microbatch) <= index(producer.microbatch) + producer.merged;
  if (!same_microbatch) return false;  // an extra edge
  if (from.taught >= 0 && to.taught >= 0) return true;
  return (from.op == Op::kF && to.op == Op::kF) || (from.op == Op::kR && to.op == Op::kR) ||
         (is_backward(from.op) && is_backward(to.op));
}

/// What an instr waits for itself; after that stand the waits of those with which it starts together.
std::span<const Wait> own_waits(const Program& program, InstrIndex i) {
  const std::span<const Wait> all = waits_of(program, i);
  return starts_together(program, i) ? all.first(program.together[i] - 1U) : all;
}

/// The transfers of `channels`, by index.
std::vector<std::uint32_t> transfers_of(const MemoryPositions& positions, std::span<const std::uint32_t> channels) {
  std::vector<std::uint32_t> transfers;
  for (const std::uint32_t c : channels) {
    const auto more = positions.by_channel.of(c);
    const auto middle = static_cast<std::ptrdiff_t>(transfers.size());
    transfers.insert(transfers.end(), more.begin(), more.end());
    std::inplace_merge(transfers.begin(), transfers.begin() + middle, transfers.end());
  }
  return transfers;
}

/// Those of `chosen` by `position` in the lane, in order of index.
template <class T>
IndexLists by_position(const LanePositions& lane, std::span<const std::uint32_t> chosen, const std::vector<T>& all,
                       InstrIndex T::*position) {
  IndexLists lists = group_by(chosen.size(), lane.end - lane.begin + 1,
                              [&](std::size_t k) { return all[chosen[k]].*position - lane.begin; });
  for (std::uint32_t& item : lists.items) item = chosen[item];
  return lists;
}

}  // namespace

MemoryPositions::MemoryPositions(const Program& source) : program(&source), plans(row_plans(source)) {
  const auto devices = static_cast<std::size_t>(source.num_devices);
  const auto& all = source.channels;
  const auto& kept = source.kept_versions;
  by_channel =
      group_by(source.transfers.size(), all.size(), [&](std::size_t t) { return source.transfers[t].channel; });
  channels_from = group_by(all.size(), devices, [&](std::size_t c) { return index(all[c].from); });
  channels_to = group_by(all.size(), devices, [&](std::size_t c) { return index(all[c].to); });
  versions =
      group_by(kept.size(), devices, [&](std::size_t v) { return index(source.holders[kept[v].holder].device); });
  guests = group_by(source.moves.size(), devices + 1, [&](std::size_t m) {
    const Move& move = source.moves[m];
    const bool held = move.guest != Move::kHost && source.op_of(move.transfer) == Op::kEvict;
    return held ? index(move.guest) : devices;
  });
  if (source.memory.empty() || source.transfers.size() != source.moves.size()) return;
  leaves_without_transfer.resize(source.size());
  for (InstrIndex i = 0; i < source.size(); ++i) {
    for (const Wait& wait : own_waits(source, i)) {
      if (hands_over_value(source, wait, i)) leaves_without_transfer[wait.source] = true;
    }
  }
}

LanePositions::LanePositions(const MemoryPositions& positions, DeviceId device)
    : begin(positions.program->lane_begin[index(device)]), end(positions.program->lane_begin[index(device) + 1]) {
  const Program& program = *positions.program;
  const std::vector<std::uint32_t> sending = transfers_of(positions, positions.channels_from.of(index(device)));
  const std::vector<std::uint32_t> receiving = transfers_of(positions, positions.channels_to.of(index(device)));
  made_ = by_position(*this, sending, program.transfers, &Transfer::producer);
  sent_ = by_position(*this, sending, program.transfers, &Transfer::sent);
  posted_ = by_position(*this, receiving, program.transfers, &Transfer::post);
  const std::span<const std::uint32_t> of_device = positions.versions.of(index(device));
  replaced = by_position(*this, of_device, program.kept_versions, &KeptVersion::replaced_by);
  const std::span<const std::uint32_t> as_guest = positions.guests.of(index(device));
  held = by_position(*this, as_guest, program.moves, &Move::held_from);
  released = by_position(*this, as_guest, program.moves, &Move::held_until);
  read = by_position(*this, of_device, program.kept_versions, &KeptVersion::last_reader);
}

bool comes_without_transfer(const MemoryPositions& positions, InstrIndex instr) {
  if (positions.leaves_without_transfer.empty()) return false;
  const Program& program = *positions.program;
  return std::ranges::any_of(own_waits(program, instr),
                             [&](const Wait& wait) { return hands_over_value(program, wait, instr); });
}

}  // namespace plumb
