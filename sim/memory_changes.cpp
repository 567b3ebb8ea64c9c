#include "sim/memory_changes.hpp"

#include <algorithm>
#include <iterator>

namespace plumb {
namespace {

/// Whether `wait` of `consumer` is for a value of another stage. Waits are only for other devices.
bool hands_over_value(const Program& program, const Wait& wait, InstrIndex consumer) {
  if (wait.via != Wait::kDirect && wait.via != Wait::kLatency) return false;
  const Row& from = program.rows[program.instrs[wait.source].row];
  const Row& to = program.rows[program.instrs[consumer].row];
  if (program.holders[from.holder].stage == program.holders[to.holder].stage) return false;
  return (from.op == Op::kF && to.op == Op::kF) || (is_backward(from.op) && is_backward(to.op));
}

}  // namespace

MemoryPositions::MemoryPositions(const Program& source) : program(&source) {
  const auto devices = static_cast<std::size_t>(source.num_devices);
  const auto& all = source.channels;
  const auto& kept = source.kept_versions;
  by_channel =
      group_by(source.transfers.size(), all.size(), [&](std::size_t t) { return source.transfers[t].channel; });
  channels_from = group_by(all.size(), devices, [&](std::size_t c) { return index(all[c].from); });
  channels_to = group_by(all.size(), devices, [&](std::size_t c) { return index(all[c].to); });
  versions =
      group_by(kept.size(), devices, [&](std::size_t v) { return index(source.holders[kept[v].holder].device); });
  plans = row_plans(source);
  if (source.memory.empty() || !source.transfers.empty()) return;
  leaves_without_transfer.resize(source.size());
  for (InstrIndex i = 0; i < source.size(); ++i) {
    for (std::uint32_t w = source.instrs[i].first_wait; w < source.instrs[i + 1].first_wait; ++w) {
      if (hands_over_value(source, source.waits[w], i)) leaves_without_transfer[source.waits[w].source] = true;
    }
  }
}

MemoryChanges::MemoryChanges(const MemoryPositions& positions, DeviceId device)
    : positions_(positions),
      program_(*positions.program),
      begin_(program_.lane_begin[index(device)]),
      end_(program_.lane_begin[index(device) + 1]),
      next_(begin_) {
  index_transfers(device);
  const std::span<const std::uint32_t> versions = positions.versions.of(index(device));
  replaced_ = by_position(versions, program_.kept_versions, &KeptVersion::replaced_by);
  read_ = by_position(versions, program_.kept_versions, &KeptVersion::last_reader);
}

bool MemoryChanges::next(std::vector<MemoryChange>& changes) {
  changes.clear();
  changes_ = &changes;
  if (next_ > end_ || program_.memory.empty()) return false;
  if (next_ == end_) {
    free_sends(next_++);
    return true;
  }
  const InstrIndex first = next_;
  next_ += row(first).overlapped ? 2U : 1U;
  for (InstrIndex i = first; i < next_; ++i) before(i);
  for (InstrIndex i = first; i < next_; ++i) start(i);
  for (InstrIndex i = first; i < next_; ++i) end(i);
  return true;
}

/// Transfers of this device by position in its lane.
void MemoryChanges::index_transfers(DeviceId device) {
  const auto of_channels = [&](std::span<const std::uint32_t> channels) {
    std::vector<std::uint32_t> transfers;
    for (const std::uint32_t c : channels) {
      const auto more = positions_.by_channel.of(c);
      const auto middle = static_cast<std::ptrdiff_t>(transfers.size());
      transfers.insert(transfers.end(), more.begin(), more.end());
      std::inplace_merge(transfers.begin(), transfers.begin() + middle, transfers.end());
    }
    return transfers;
  };
  const std::vector<std::uint32_t> sent = of_channels(positions_.channels_from.of(index(device)));
  made_ = by_position(sent, program_.transfers, &Transfer::producer);
  sent_ = by_position(sent, program_.transfers, &Transfer::sent);
  posted_ = by_position(of_channels(positions_.channels_to.of(index(device))), program_.transfers, &Transfer::post);
}

/// `of(i - begin_)` lists those of `chosen` whose `position` is `i`; `end_` is a position too.
template <class T>
IndexLists MemoryChanges::by_position(std::span<const std::uint32_t> chosen, const std::vector<T>& all,
                                      InstrIndex T::*position) const {
  IndexLists lists =
      group_by(chosen.size(), end_ - begin_ + 1, [&](std::size_t k) { return all[chosen[k]].*position - begin_; });
  for (std::uint32_t& item : lists.items) item = chosen[item];
  return lists;
}

void MemoryChanges::add(const MemoryChange& change) {
  if (change.bytes != 0) changes_->push_back(change);
}

void MemoryChanges::free_sends(InstrIndex i) {
  for (const std::uint32_t t : sent_.of(i - begin_)) {
    const Transfer& transfer = program_.transfers[t];
    const BufferKind buffer = transfer.op == Op::kSendB ? BufferKind::kInputGrad : BufferKind::kOutput;
    add({i, MemoryPhase::kBefore, MemoryClass::kTransfer, buffer, transfer.producer, -transfer.bytes});
  }
}

void MemoryChanges::before(InstrIndex i) {
  free_sends(i);
  for (const std::uint32_t t : posted_.of(i - begin_)) {
    const Transfer& transfer = program_.transfers[t];
    const BufferKind buffer = transfer.op == Op::kSendB ? BufferKind::kOutputGrad : BufferKind::kInput;
    add({i, MemoryPhase::kBefore, MemoryClass::kTransfer, buffer, transfer.consumer, transfer.bytes});
  }
  if (!comes_without_transfer(i)) return;
  const RowPlan& plan = positions_.plans[program_.instrs[i].row];
  add({i, MemoryPhase::kBefore, MemoryClass::kTransfer, plan.received, i, plan.received_bytes});
}

/// Whether the instr's input comes from another device by an edge that is no transfer.
bool MemoryChanges::comes_without_transfer(InstrIndex i) const {
  if (positions_.leaves_without_transfer.empty()) return false;
  for (std::uint32_t w = program_.instrs[i].first_wait; w < program_.instrs[i + 1].first_wait; ++w) {
    if (hands_over_value(program_, program_.waits[w], i)) return true;
  }
  return false;
}

bool MemoryChanges::leaves_without_transfer(InstrIndex i) const {
  return !positions_.leaves_without_transfer.empty() && positions_.leaves_without_transfer[i];
}

void MemoryChanges::start(InstrIndex i) {
  for (const PlannedChange& planned : positions_.plans[program_.instrs[i].row].start) {
    if (planned.when == PlannedChange::When::kForValue) {
      make_value(i, planned);
    } else {
      add({i, MemoryPhase::kStart, planned.cls, planned.buffer, i, planned.bytes});
    }
  }
  change_versions(i, MemoryPhase::kStart, replaced_, 1);
}

/// A value for another stage: a send buffer for each message, or one buffer for the consumer on this device.
void MemoryChanges::make_value(InstrIndex i, const PlannedChange& planned) {
  const auto messages = made_.of(i - begin_);
  for (const std::uint32_t t : messages) {
    add({i, MemoryPhase::kStart, planned.cls, planned.buffer, i, program_.transfers[t].bytes});
  }
  if (!messages.empty()) return;
  const BufferKind buffer = leaves_without_transfer(i) ? planned.buffer : planned.handed_over;
  add({i, MemoryPhase::kStart, planned.cls, buffer, i, planned.bytes});
}

void MemoryChanges::end(InstrIndex i) {
  if (row(i).op == Op::kR) {
    const Action& action = program_.instrs[i].action;
    recomputed_.insert({row(i).holder, action.microbatch, action.slice});
  }
  for (const PlannedChange& planned : positions_.plans[program_.instrs[i].row].end) {
    if (planned.when == PlannedChange::When::kIfLeaves && !leaves_without_transfer(i)) continue;
    if (planned.when == PlannedChange::When::kIfRecomputed && !was_recomputed(i)) continue;
    add({i, MemoryPhase::kEnd, planned.cls, planned.buffer, i, planned.bytes});
  }
  change_versions(i, MemoryPhase::kEnd, read_, -1);
}

/// Whether an R of the same work stood before.
bool MemoryChanges::was_recomputed(InstrIndex i) {
  const Action& action = program_.instrs[i].action;
  return !recomputed_.empty() && recomputed_.erase({row(i).holder, action.microbatch, action.slice}) != 0;
}

void MemoryChanges::change_versions(InstrIndex i, MemoryPhase phase, const IndexLists& versions, std::int64_t sign) {
  if (versions.items.empty()) return;
  for (const std::uint32_t v : versions.of(i - begin_)) {
    const StageId held = program_.holders[program_.kept_versions[v].holder].stage;
    const std::int64_t bytes = program_.memory[index(held)].weight_bytes;
    add({i, phase, MemoryClass::kWeightVersions, BufferKind::kWeightVersion, i, sign * bytes});
  }
}

}  // namespace plumb
