#include "sim/memory_changes.hpp"

#include <algorithm>
#include <iterator>

namespace plumb {
namespace {

MemoryClass class_of(LastUse use) {
  return use == LastUse::kWeightGrad ? MemoryClass::kKeptForWeightGrad : MemoryClass::kKeptForInputGrad;
}

/// Whether `wait` of `consumer` is for a value of another stage. Waits are only for other devices.
bool hands_over_value(const Program& program, const Wait& wait, InstrIndex consumer) {
  if (wait.via != Wait::kDirect && wait.via != Wait::kLatency) return false;
  const Row& from = program.rows[program.instrs[wait.source].row];
  const Row& to = program.rows[program.instrs[consumer].row];
  if (program.holders[from.holder].stage == program.holders[to.holder].stage) return false;
  return (from.op == Op::kF && to.op == Op::kF) || (is_backward(from.op) && is_backward(to.op));
}

}  // namespace

BufferKind buffer_of(const StashTensor& tensor) {
  if (tensor.made_by == StashTensor::MadeBy::kInputGrad) return BufferKind::kStashFromInputGrad;
  return tensor.last_use == LastUse::kWeightGrad ? BufferKind::kStashForWeightGrad : BufferKind::kStashForInputGrad;
}

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
  for (const StageMemory& stage_memory : program_.memory) {
    StashSums& sums = sums_.emplace_back();
    for (const StashTensor& tensor : stage_memory.stash) {
      const BufferKind buffer = buffer_of(tensor);
      if (buffer == BufferKind::kStashForInputGrad) sums.for_i += tensor.bytes;
      if (buffer == BufferKind::kStashForWeightGrad) sums.for_w += tensor.bytes;
      if (buffer == BufferKind::kStashFromInputGrad) sums.from_i += tensor.bytes;
    }
  }
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
  std::vector<std::uint32_t> sent;
  std::vector<std::uint32_t> received;
  for (const std::uint32_t c : positions_.channels_from.of(index(device))) {
    std::ranges::copy(positions_.by_channel.of(c), std::back_inserter(sent));
  }
  for (const std::uint32_t c : positions_.channels_to.of(index(device))) {
    std::ranges::copy(positions_.by_channel.of(c), std::back_inserter(received));
  }
  std::ranges::sort(sent);
  std::ranges::sort(received);
  made_ = by_position(sent, program_.transfers, &Transfer::producer);
  sent_ = by_position(sent, program_.transfers, &Transfer::sent);
  posted_ = by_position(received, program_.transfers, &Transfer::post);
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

const Row& MemoryChanges::row(InstrIndex i) const { return program_.rows[program_.instrs[i].row]; }
std::size_t MemoryChanges::stage(InstrIndex i) const { return index(program_.holders[row(i).holder].stage); }
const StageMemory& MemoryChanges::memory(InstrIndex i) const { return program_.memory[stage(i)]; }

void MemoryChanges::change(MemoryClass cls, BufferKind buffer, std::int64_t bytes) {
  if (bytes != 0) changes_->push_back({at_, phase_, cls, buffer, owner_, bytes});
}

void MemoryChanges::at(InstrIndex i, MemoryPhase phase) {
  at_ = i;
  owner_ = i;
  phase_ = phase;
}

void MemoryChanges::free_sends(InstrIndex i) {
  at(i, MemoryPhase::kBefore);
  for (const std::uint32_t t : sent_.of(i - begin_)) {
    const Transfer& transfer = program_.transfers[t];
    owner_ = transfer.producer;
    change(MemoryClass::kTransfer, transfer.op == Op::kSendB ? BufferKind::kInputGrad : BufferKind::kOutput,
           -transfer.bytes);
  }
}

void MemoryChanges::before(InstrIndex i) {
  free_sends(i);
  for (const std::uint32_t t : posted_.of(i - begin_)) {
    const Transfer& transfer = program_.transfers[t];
    owner_ = transfer.consumer;
    change(MemoryClass::kTransfer, transfer.op == Op::kSendB ? BufferKind::kOutputGrad : BufferKind::kInput,
           transfer.bytes);
  }
  owner_ = i;
  if (comes_without_transfer(i)) {
    const Op op = row(i).op;
    const std::int64_t bytes = op == Op::kF ? memory(i).input_bytes : memory(i).output_grad_bytes;
    change(MemoryClass::kTransfer, op == Op::kF ? BufferKind::kInput : BufferKind::kOutputGrad,
           bytes * row(i).microbatches);
  }
}

bool MemoryChanges::comes_without_transfer(InstrIndex i) const {
  if (positions_.leaves_without_transfer.empty()) return false;
  for (std::uint32_t w = program_.instrs[i].first_wait; w < program_.instrs[i + 1].first_wait; ++w) {
    if (hands_over_value(program_, program_.waits[w], i)) return true;
  }
  return false;
}

/// A value for another stage: a send buffer for each message, or one buffer for the consumer on this device.
void MemoryChanges::make_value(InstrIndex i, BufferKind buffer, BufferKind handed_over, std::int64_t bytes) {
  const auto messages = made_.of(i - begin_);
  for (const std::uint32_t t : messages) change(MemoryClass::kTransfer, buffer, program_.transfers[t].bytes);
  if (messages.empty()) change(MemoryClass::kTransfer, leaves_without_transfer(i) ? buffer : handed_over, bytes);
}

bool MemoryChanges::leaves_without_transfer(InstrIndex i) const {
  return !positions_.leaves_without_transfer.empty() && positions_.leaves_without_transfer[i];
}

void MemoryChanges::start(InstrIndex i) {
  at(i, MemoryPhase::kStart);
  const std::int64_t n = row(i).microbatches;
  const StageMemory& m = memory(i);
  switch (row(i).op) {
    case Op::kF:
      start_forward(i);
      break;
    case Op::kR:
      allocate_stash(i, n);
      change(MemoryClass::kWorkspace, BufferKind::kWorkspace, m.workspace_f_bytes * n);
      break;
    case Op::kB:
    case Op::kI:
      start_backward(i);
      break;
    case Op::kW:
      change(MemoryClass::kWorkspace, BufferKind::kWorkspace, m.workspace_w_bytes * n);
      break;
    case Op::kU:
      change(MemoryClass::kWorkspace, BufferKind::kWorkspace, m.workspace_u_bytes);
      change_versions(i, replaced_, 1);
      break;
    default:
      break;
  }
}

void MemoryChanges::allocate_stash(InstrIndex i, std::int64_t times) {
  const StashSums& sums = sums_[stage(i)];
  change(MemoryClass::kKeptForInputGrad, BufferKind::kStashForInputGrad, sums.for_i * times);
  change(MemoryClass::kKeptForWeightGrad, BufferKind::kStashForWeightGrad, sums.for_w * times);
}

void MemoryChanges::start_forward(InstrIndex i) {
  const std::int64_t n = row(i).microbatches;
  const StageMemory& m = memory(i);
  if (keeps_input(i)) {
    change(MemoryClass::kTransfer, BufferKind::kInput, -m.input_bytes * n);
    change(class_of(m.input_last_use), BufferKind::kInput, m.input_bytes * n);
  }
  if (!program_.forward_only) allocate_stash(i, n);
  make_value(i, BufferKind::kOutput, BufferKind::kInput, m.output_bytes * n);
  change(MemoryClass::kWorkspace, BufferKind::kWorkspace, m.workspace_f_bytes * n);
}

/// Whether F leaves its input to a later action.
bool MemoryChanges::keeps_input(InstrIndex i) const {
  return !program_.forward_only && (row(i).recompute || memory(i).input_last_use != LastUse::kForward);
}

void MemoryChanges::start_backward(InstrIndex i) {
  const std::int64_t n = row(i).microbatches;
  const StageMemory& m = memory(i);
  const bool whole = row(i).op == Op::kB;
  if (row(i).recompute) allocate_stash(i, n);
  if (!whole) change(MemoryClass::kKeptForWeightGrad, BufferKind::kStashFromInputGrad, sums_[stage(i)].from_i * n);
  make_value(i, BufferKind::kInputGrad, BufferKind::kOutputGrad, m.input_grad_bytes * n);
  change(MemoryClass::kWorkspace, BufferKind::kWorkspace, (whole ? m.workspace_b_bytes : m.workspace_i_bytes) * n);
}

/// Whether an R of the same work stood before: it has made the stash again.
bool MemoryChanges::was_recomputed(InstrIndex i) { return !recomputed_.empty() && recomputed_.erase(work_of(i)) != 0; }

void MemoryChanges::change_versions(InstrIndex i, const IndexLists& versions, std::int64_t sign) {
  for (const std::uint32_t v : versions.of(i - begin_)) {
    const StageId held = program_.holders[program_.kept_versions[v].holder].stage;
    change(MemoryClass::kWeightVersions, BufferKind::kWeightVersion, sign * program_.memory[index(held)].weight_bytes);
  }
}

void MemoryChanges::end(InstrIndex i) {
  at(i, MemoryPhase::kEnd);
  const std::int64_t n = row(i).microbatches;
  const StageMemory& m = memory(i);
  switch (row(i).op) {
    case Op::kF:
      end_forward(i);
      break;
    case Op::kR:
      change(MemoryClass::kWorkspace, BufferKind::kWorkspace, -m.workspace_f_bytes * n);
      recomputed_.insert(work_of(i));
      break;
    case Op::kB:
    case Op::kI:
      end_backward(i);
      break;
    case Op::kW:
      change(MemoryClass::kWorkspace, BufferKind::kWorkspace, -m.workspace_w_bytes * n);
      free_stash_for_weight_grad(i);
      change(MemoryClass::kKeptForWeightGrad, BufferKind::kStashFromInputGrad, -sums_[stage(i)].from_i * n);
      break;
    case Op::kU:
      change(MemoryClass::kWorkspace, BufferKind::kWorkspace, -m.workspace_u_bytes);
      break;
    default:
      break;
  }
  change_versions(i, read_, -1);
}

void MemoryChanges::end_forward(InstrIndex i) {
  const std::int64_t n = row(i).microbatches;
  const StageMemory& m = memory(i);
  change(MemoryClass::kWorkspace, BufferKind::kWorkspace, -m.workspace_f_bytes * n);
  if (row(i).recompute && !program_.forward_only) allocate_stash(i, -n);
  if (!keeps_input(i)) change(MemoryClass::kTransfer, BufferKind::kInput, -m.input_bytes * n);
  if (leaves_without_transfer(i)) change(MemoryClass::kTransfer, BufferKind::kOutput, -m.output_bytes * n);
}

void MemoryChanges::end_backward(InstrIndex i) {
  const std::int64_t n = row(i).microbatches;
  const StageMemory& m = memory(i);
  const bool whole = row(i).op == Op::kB;
  change(MemoryClass::kWorkspace, BufferKind::kWorkspace, -(whole ? m.workspace_b_bytes : m.workspace_i_bytes) * n);
  change(MemoryClass::kKeptForInputGrad, BufferKind::kStashForInputGrad, -sums_[stage(i)].for_i * n);
  if (whole) free_stash_for_weight_grad(i);
  if (m.input_last_use == LastUse::kInputGrad ||
      (m.input_last_use == LastUse::kForward && (row(i).recompute || was_recomputed(i)))) {
    change(MemoryClass::kKeptForInputGrad, BufferKind::kInput, -m.input_bytes * n);
  }
  change(MemoryClass::kTransfer, BufferKind::kOutputGrad, -m.output_grad_bytes * n);
  if (leaves_without_transfer(i)) change(MemoryClass::kTransfer, BufferKind::kInputGrad, -m.input_grad_bytes * n);
}

void MemoryChanges::free_stash_for_weight_grad(InstrIndex i) {
  const std::int64_t n = row(i).microbatches;
  const StageMemory& m = memory(i);
  change(MemoryClass::kKeptForWeightGrad, BufferKind::kStashForWeightGrad, -sums_[stage(i)].for_w * n);
  if (m.input_last_use == LastUse::kWeightGrad) {
    change(MemoryClass::kKeptForWeightGrad, BufferKind::kInput, -m.input_bytes * n);
  }
}

MemoryChanges::Work MemoryChanges::work_of(InstrIndex i) const {
  const Action& action = program_.instrs[i].action;
  return {row(i).holder, action.microbatch, action.slice};
}

}  // namespace plumb
