#include "sim/memory/memory.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

namespace plumb {
namespace {

std::int64_t total(const MemoryByClass& bytes) { return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0}); }

std::int64_t& of(MemoryByClass& bytes, MemoryClass cls) { return bytes[static_cast<std::size_t>(cls)]; }

/// A buffer of one microbatch or slice: what it holds, of which stage, in which class, how large.
struct BufferName {
  MemoryClass cls{};
  StageId stage{};
  BufferKind kind{};
  std::int64_t bytes = 0;

  auto operator<=>(const BufferName&) const = default;
};

/// Microbatches alive, by buffer.
using Alive = std::map<BufferName, std::multiset<std::int64_t>>;

/// The stage whose value the buffer holds. A value handed over on the device is its consumer's from the start.
StageId stage_of(const Program& program, const MemoryChange& change) {
  const Row& row = program.rows[program.instrs[change.owner].row];
  const StageId stage = program.holders[row.holder].stage;
  if (is_move(row.op)) return stage;
  if (change.phase != MemoryPhase::kStart || change.bytes < 0 || change.cls != MemoryClass::kTransfer) return stage;
  const int to_consumer = change.buffer == BufferKind::kInput ? 1 : change.buffer == BufferKind::kOutputGrad ? -1 : 0;
  return StageId{static_cast<std::int32_t>(stage) + to_consumer};
}

/// Bytes of a buffer that holds one part of a microbatch.
std::int64_t bytes_of(const StageMemory& memory, BufferKind kind, Op op) {
  const auto stash = [&] {
    std::int64_t sum = 0;
    for (const StashTensor& tensor : memory.stash) sum += buffer_of(tensor) == kind ? tensor.bytes : 0;
    return sum;
  };
  switch (kind) {
    case BufferKind::kKeyGrads:
    case BufferKind::kKeys:
      return memory.key_grads_freed_bytes;
    case BufferKind::kInput:
      return memory.input_bytes;
    case BufferKind::kOutput:
      return memory.output_bytes;
    case BufferKind::kOutputGrad:
      return memory.output_grad_bytes;
    case BufferKind::kInputGrad:
      return memory.input_grad_bytes;
    case BufferKind::kTeacherOutput:
      return memory.logit_bytes;
    case BufferKind::kWorkspace:
      return op == Op::kB   ? memory.workspace_b_bytes
             : op == Op::kI ? memory.workspace_i_bytes
             : op == Op::kW ? memory.workspace_w_bytes
                            : memory.workspace_f_bytes;
    default:
      return stash();
  }
}

void apply_to(std::multiset<std::int64_t>& numbers, std::int64_t number, bool made) {
  if (made) {
    numbers.insert(number);
  } else if (const auto found = numbers.find(number); found != numbers.end()) {
    numbers.erase(found);
  } else if (!numbers.empty()) {
    numbers.erase(numbers.begin());  // a version: freed by its last reader, not by an update
  }
}

/// What a change is for, part by part: calls `visit(microbatch, part)`.
template <class Visit>
void for_each_part(const Program& program, const MemoryChange& change, Visit&& visit) {
  const Action action = program.work_of(change.owner);
  const bool for_all = (change.buffer == BufferKind::kKeyGrads && change.bytes > 0) ||
                       (change.buffer == BufferKind::kKeys && change.bytes < 0 && program.forward_only);
  if (for_all) {  // with an action of the last slice, those of all before it
    Action whole = action;
    whole.slice = Action::kAllSlices;
    program.parts.for_each(whole, [&](std::size_t microbatch, std::size_t slice, std::size_t part) {
      if (slice + 1 < program.parts.slices(microbatch)) visit(microbatch, part);
    });
    return;
  }
  program.parts.for_each(action, [&](std::size_t microbatch, std::size_t slice, std::size_t part) {
    const bool shared =
        change.other == MemoryChange::kNobody || names(program.work_of(change.other), microbatch, slice);
    if (shared) visit(microbatch, part);
  });
}

void apply(const Program& program, const MemoryChange& change, Alive& alive) {
  const Row& row = program.rows[program.instrs[change.owner].row];
  const StageId stage = stage_of(program, change);
  const bool made = change.bytes > 0;
  const bool as_one = change.buffer == BufferKind::kWeightVersion || change.buffer == BufferKind::kWeights ||
                      change.buffer == BufferKind::kEvicted;
  if (row.op == Op::kU || as_one) {
    const auto number = static_cast<std::int64_t>(program.instrs[change.owner].action.microbatch);
    return apply_to(alive[{change.cls, stage, change.buffer, std::abs(change.bytes)}], number, made);
  }
  const StageId owner = program.holders[row.holder].stage;
  const bool handed_over = stage != owner;  // named after what its producer calls it
  const BufferKind kind = !handed_over                          ? change.buffer
                          : change.buffer == BufferKind::kInput ? BufferKind::kOutput
                                                                : BufferKind::kInputGrad;
  for_each_part(program, change, [&](std::size_t microbatch, std::size_t part) {
    const StageMemory& memory = program.memory_of(owner, part);
    std::int64_t bytes = bytes_of(memory, kind, row.op);
    const bool recomputes = row.recompute && is_backward(row.op);
    if (kind == BufferKind::kWorkspace && recomputes) bytes = std::max(bytes, memory.workspace_f_bytes);
    if (bytes != 0) {
      apply_to(alive[{change.cls, stage, change.buffer, bytes}], static_cast<std::int64_t>(microbatch), made);
    }
  });
}

std::string_view name_of(BufferKind kind) {
  switch (kind) {
    case BufferKind::kKeyGrads:
      return "key_grads";
    case BufferKind::kKeys:
      return "keys";
    case BufferKind::kInput:
      return "input";
    case BufferKind::kOutput:
      return "output";
    case BufferKind::kOutputGrad:
      return "output_grad";
    case BufferKind::kInputGrad:
      return "input_grad";
    case BufferKind::kWeightVersion:
    case BufferKind::kWeights:
      return "weights";
    case BufferKind::kEvicted:
      return "evicted";
    case BufferKind::kTeacherOutput:
      return "teacher_output";
    default:
      return "workspace";
  }
}

/// The part that a stash of so many bytes belongs to.
const StageMemory& part_of(const Program& program, const BufferName& buffer) {
  for (std::size_t part = 0; part + 1 < program.parts.all().size(); ++part) {
    const StageMemory& memory = program.memory_of(buffer.stage, part);
    if (bytes_of(memory, buffer.kind, Op::kF) == buffer.bytes) return memory;
  }
  return program.memory_of(buffer.stage, program.parts.all().size() - 1);
}

void append_tensors(const Program& program, const BufferName& buffer, const std::multiset<std::int64_t>& microbatches,
                    std::vector<PeakTensor>& tensors) {
  const std::vector<std::int64_t> alive(microbatches.begin(), microbatches.end());
  if (alive.empty()) return;
  if (buffer.kind > BufferKind::kStashFromInputGrad) {
    tensors.push_back({buffer.cls, buffer.stage, std::string(name_of(buffer.kind)), buffer.bytes, alive});
    return;
  }
  for (const StashTensor& tensor : part_of(program, buffer).stash) {
    if (buffer_of(tensor) == buffer.kind && tensor.bytes != 0) {
      tensors.push_back({buffer.cls, buffer.stage, tensor.name, tensor.bytes, alive});
    }
  }
}

/// Whether weights come and go; then they are changes.
bool moves_weights(const Program& program, const Holder& holder) {
  return std::ranges::any_of(program.moves, [&](const Move& move) {
    const Instr& instr = program.instrs[program.transfers[move.transfer].issue];
    return move.weights && program.holders[program.rows[instr.row].holder] == holder;
  });
}

/// The weights that a holder keeps for itself: what no update changes is there once for all copies of its stage on the
/// device.
std::int64_t own_weights(const Program& program, const Holder& holder) {
  const StageMemory& memory = program.memory[index(holder.stage)];
  if (memory.frozen_bytes == 0) return memory.weight_bytes;
  const auto first = std::ranges::find_if(program.holders, [&](const Holder& other) {
    return other.device == holder.device && other.stage == holder.stage;
  });
  return *first == holder ? memory.weight_bytes : memory.updated_bytes();
}

void append_resident(const Program& program, const Holder& holder, std::vector<PeakTensor>& tensors) {
  const StageMemory& memory = program.memory[index(holder.stage)];
  const auto append = [&](MemoryClass cls, const char* name, std::int64_t bytes) {
    if (bytes != 0) tensors.push_back({cls, holder.stage, name, bytes, {}});
  };
  if (!moves_weights(program, holder)) append(MemoryClass::kWeights, "weights", own_weights(program, holder));
  if (program.forward_only) return;
  append(MemoryClass::kWeightVersions, "corrections", memory.updated_bytes() * holder.correction_buffers);
  append(MemoryClass::kGradients, "gradients", memory.gradient_bytes * holder.gradient_blocks);
  append(MemoryClass::kOptimizer, "optimizer", memory.optimizer_bytes);
}

/// Follows the changes of a device to its fullest moment.
class PeakSearch {
 public:
  PeakSearch(const MemoryByClass& resident, InstrIndex lane_begin)
      : now_(resident), bytes_(total(resident)), peak_{bytes_, resident, lane_begin, MemoryPhase::kBefore} {}

  void apply(const MemoryChange& change) {
    of(now_, change.cls) += change.bytes;
    bytes_ += change.bytes;
    if (bytes_ > peak_.bytes) peak_ = {bytes_, now_, change.instr, change.phase};
  }

  const MemoryPeak& peak() const { return peak_; }
  const MemoryByClass& now() const { return now_; }

  /// Goes on as if what came before had changed the bytes by so much more.
  void lift(const MemoryByClass& by) {
    for (std::size_t c = 0; c < kMemoryClassCount; ++c) now_[c] += by[c];
    bytes_ += total(by);
  }

 private:
  MemoryByClass now_;
  std::int64_t bytes_;
  MemoryPeak peak_;
};

/// Notes the bytes at the ends of stretches that a lane leaves out, and adds what is left out after them.
class LeftOutBytes {
 public:
  LeftOutBytes(std::span<const LeftOut> left_out, PeakSearch& search) : left_out_(left_out), search_(search) {
    for (std::size_t k = 0; k < left_out.size(); ++k) {
      marks_.push_back({left_out[k].before, 2, k});
      marks_.push_back({left_out[k].begin, 1, k});
      marks_.push_back({left_out[k].end, 0, k});
    }
    std::ranges::sort(marks_);
    bytes_.resize(left_out.size());
  }

  /// The search is about to apply a change at `at`.
  void come_to(InstrIndex at) {
    for (; next_ < marks_.size() && std::get<0>(marks_[next_]) <= at; ++next_) {
      const auto& [place, left, k] = marks_[next_];
      bytes_[k][left] = search_.now();
      if (left == 0) add(bytes_[k], left_out_[k].times);
    }
  }

  bool repeats() const { return repeats_; }

 private:
  using Bytes = std::array<MemoryByClass, 3>;  ///< at the end, the begin, and before

  void add(const Bytes& bytes, std::int64_t times) {
    MemoryByClass change{};
    for (std::size_t c = 0; c < kMemoryClassCount; ++c) {
      change[c] = bytes[0][c] - bytes[1][c];
      repeats_ = repeats_ && change[c] == bytes[1][c] - bytes[2][c];
      change[c] *= times;
    }
    search_.lift(change);
  }

  std::span<const LeftOut> left_out_;
  PeakSearch& search_;
  std::vector<std::tuple<InstrIndex, std::size_t, std::size_t>> marks_;  ///< place, into `Bytes`, into `left_out_`
  std::vector<Bytes> bytes_;
  std::size_t next_ = 0;
  bool repeats_ = true;
};

/// Bytes by class on their way through time; emits a point when a moment is over.
class Curve {
 public:
  Curve(const MemoryByClass& resident, std::vector<MemoryPoint>& points) : bytes_(resident), points_(points) {}

  void apply(Ticks time, const MemoryChange& change) {
    if (time > time_) flush();
    time_ = std::max(time_, time);
    of(bytes_, change.cls) += change.bytes;
    changed_ |= 1U << static_cast<unsigned>(change.cls);
  }

  /// Points for all classes whose bytes differ from the last ones written.
  void flush() {
    for (; changed_ != 0; changed_ &= changed_ - 1) {
      const auto c = static_cast<std::size_t>(std::countr_zero(changed_));
      if (bytes_[c] == told_[c]) continue;
      points_.emplace_back(time_, static_cast<MemoryClass>(c), bytes_[c]);
      told_[c] = bytes_[c];
    }
  }

 private:
  MemoryByClass bytes_;
  MemoryByClass told_{};
  unsigned changed_ = (1U << kMemoryClassCount) - 1;  ///< bit per class that may differ from the last one written
  Ticks time_ = 0;
  std::vector<MemoryPoint>& points_;
};

/// When the lane has waited for the sends that stand before `i` (a pair is one).
Ticks before_time(const Program& program, const RunTimes& times, const LanePositions& lane, InstrIndex i) {
  const InstrIndex first = unit_begin(program, i);
  Ticks time = first == lane.begin ? 0 : times.end[first - 1];
  for (InstrIndex j = first; j <= i; ++j) {
    for (const std::uint32_t t : lane.sent(j)) time = std::max(time, times.sent(t));
  }
  return time;
}

}  // namespace

bool knows_bytes(const Program& program) { return !program.memory.empty() && program.memory_units_per_one == 0; }

MemoryModel::MemoryModel(const Program& program) : positions_(program) {}

MemoryByClass MemoryModel::resident(DeviceId device) const {
  MemoryByClass bytes{};
  if (program().memory.empty()) return bytes;
  for (const Holder& holder : program().holders) {
    if (holder.device != device) continue;
    const StageMemory& memory = program().memory[index(holder.stage)];
    if (!holder.weights_start_away) of(bytes, MemoryClass::kWeights) += own_weights(program(), holder);
    if (program().forward_only) continue;
    of(bytes, MemoryClass::kWeightVersions) += memory.updated_bytes() * holder.correction_buffers;
    of(bytes, MemoryClass::kGradients) += memory.gradient_bytes * holder.gradient_blocks;
    of(bytes, MemoryClass::kOptimizer) += memory.optimizer_bytes;
  }
  return bytes;
}

std::vector<MemoryChange> MemoryModel::changes(DeviceId device) const {
  std::vector<MemoryChange> all;
  MemoryChanges(positions_, device).tell([&](const MemoryChange& change) {
    all.push_back(change);
    return true;
  });
  return all;
}

MemoryPeak MemoryModel::peak(DeviceId device) const {
  PeakSearch search(resident(device), program().lane_begin[index(device)]);
  MemoryChanges(positions_, device).tell([&](const MemoryChange& change) {
    search.apply(change);
    return true;
  });
  return search.peak();
}

std::optional<MemoryPeak> MemoryModel::peak(DeviceId device, std::span<const LeftOut> left_out) const {
  PeakSearch search(resident(device), program().lane_begin[index(device)]);
  LeftOutBytes lifts(left_out, search);
  MemoryChanges(positions_, device).tell([&](const MemoryChange& change) {
    lifts.come_to(change.instr);
    search.apply(change);
    return true;
  });
  if (!lifts.repeats()) return std::nullopt;
  return search.peak();
}

std::vector<PeakTensor> MemoryModel::composition(DeviceId device, const MemoryPeak& peak) const {
  std::vector<PeakTensor> tensors;
  if (program().memory.empty()) return tensors;
  for (const Holder& holder : program().holders) {
    if (holder.device == device) append_resident(program(), holder, tensors);
  }
  Alive alive;
  for (const Holder& holder : program().holders) {
    if (holder.device != device || holder.weights_start_away || !moves_weights(program(), holder)) continue;
    const std::int64_t weights = program().memory[index(holder.stage)].weight_bytes;
    apply_to(alive[{MemoryClass::kWeights, holder.stage, BufferKind::kWeights, weights}], -1, true);
  }
  std::int64_t bytes = total(resident(device));
  MemoryChanges(positions_, device).tell([&](const MemoryChange& change) {
    if (bytes == peak.bytes) return false;
    bytes += change.bytes;
    apply(program(), change, alive);
    return true;
  });
  // Where stages branch and meet, a value is not named after one giver and one taker: all under way are one row.
  const std::int64_t under_way = peak.by_class[static_cast<std::size_t>(MemoryClass::kTransfer)];
  const bool branches = !program().beside.given.empty();
  if (branches && under_way > 0) {
    const auto here = [&](const Holder& holder) { return holder.device == device; };
    const StageId first = std::ranges::find_if(program().holders, here)->stage;
    tensors.push_back({MemoryClass::kTransfer, first, "values under way", under_way, {}});
  }
  for (const auto& [buffer, microbatches] : alive) {
    if (branches && buffer.cls == MemoryClass::kTransfer) continue;
    append_tensors(program(), buffer, microbatches, tensors);
  }
  return tensors;
}

MemoryPeak MemoryModel::append_curve(DeviceId device, const RunTimes& times, std::vector<MemoryPoint>& points) const {
  PeakSearch search(resident(device), program().lane_begin[index(device)]);
  Curve curve(resident(device), points);
  MemoryChanges changes(positions_, device);
  changes.tell([&](const MemoryChange& change) {
    const Ticks time = change.phase == MemoryPhase::kStart ? times.start[change.instr]
                       : change.phase == MemoryPhase::kEnd
                           ? times.end[change.instr]
                           : before_time(program(), times, changes.lane(), change.instr);
    curve.apply(time, change);
    search.apply(change);
    return true;
  });
  curve.flush();
  return search.peak();
}

}  // namespace plumb
