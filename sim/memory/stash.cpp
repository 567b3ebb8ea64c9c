#include "sim/memory/stash.hpp"

#include <algorithm>
#include <numeric>

namespace plumb {
namespace {

/// In a segment the input counts one, and what R makes one.
std::int64_t counted(Op op, const SegmentPlace& segment) {
  const std::int64_t input = segment.takes ? 0 : 1;
  const std::int64_t replay = segment.inside() ? 1 : 0;
  switch (op) {
    case Op::kF:
    case Op::kLoad:
      return input;
    case Op::kR:
      return replay;
    case Op::kB:
    case Op::kW:
    case Op::kEvict:
      return -input - replay;
    default:
      return 0;
  }
}

/// Bytes of a stage's stash by maker and last reader.
struct StashBytes {
  std::int64_t forward_to_input_grad = 0;
  std::int64_t forward_to_weight_grad = 0;
  std::int64_t input_grad_to_weight_grad = 0;

  explicit StashBytes(const StageMemory& memory) {
    for (const StashTensor& tensor : memory.stash) {
      const bool by_forward = tensor.made_by == StashTensor::MadeBy::kForward;
      const bool for_input = tensor.last_use == LastUse::kInputGrad;
      (by_forward ? for_input ? forward_to_input_grad : forward_to_weight_grad : input_grad_to_weight_grad) +=
          tensor.bytes;
    }
  }
};

/// What a row adds at its start and takes away at its end.
struct StartAndEnd {
  std::int64_t start = 0;
  std::int64_t end = 0;
};

StartAndEnd measured_in_units(const Row& row, const StashBytes& bytes) {
  const std::int64_t forward = bytes.forward_to_input_grad + bytes.forward_to_weight_grad;
  const std::int64_t made_again = row.recompute ? forward : 0;
  switch (row.op) {
    case Op::kF:
      return {forward, -made_again};
    case Op::kR:
      return {forward, 0};
    case Op::kLoad:
      return {forward - made_again, 0};
    case Op::kEvict:
      return {0, made_again - forward};
    case Op::kB:
      return {made_again, -forward};
    case Op::kI:
      return {made_again + bytes.input_grad_to_weight_grad, -bytes.forward_to_input_grad};
    case Op::kW:
      return {0, -bytes.forward_to_weight_grad - bytes.input_grad_to_weight_grad};
    default:
      return {};
  }
}

/// Slices of all microbatches are whole in this unit.
std::int64_t unit_of_slices(const PartTable& parts) {
  std::int64_t unit = 1;
  if (parts.plain()) return unit;
  for (const Part& part : parts.all()) unit = std::lcm(unit, part.whole);
  return unit;
}

/// What the row's instrs work on, in units of a microbatch over `unit`, whatever the microbatch's size. By row.
std::vector<std::int64_t> counted_work(const Program& program, std::int64_t unit) {
  std::vector<std::int64_t> work(program.rows.size(), 0);
  if (program.parts.plain()) {
    for (std::size_t row = 0; row < work.size(); ++row) work[row] = program.rows[row].microbatches;
    return work;
  }
  for (InstrIndex i = 0; i < program.size(); ++i) {
    std::int64_t& sum = work[program.instrs[i].row];
    const Op op = program.instrs[i].action.op;
    if (sum != 0 || (op != Op::kR && counted(op, {}) == 0)) continue;
    if (program.rows[program.instrs[i].row].microbatches == 0) continue;
    program.parts.for_each(program.instrs[i].action, [&](std::size_t, std::size_t, std::size_t p) {
      const Part& part = program.parts.all()[p];
      sum += (part.end - part.begin) * (unit / part.whole);
    });
  }
  return work;
}

StashChanges in_units(const Program& program) {
  StashChanges changes;
  changes.per_one = program.memory_units_per_one;
  for (const Row& row : program.rows) {
    const bool whole = row.sum == Row::kWhole;
    const StageMemory& memory =
        whole ? program.memory[index(program.holders[row.holder].stage)] : program.sums[row.sum];
    const StartAndEnd one = measured_in_units(row, StashBytes(memory));
    const std::int64_t count = whole ? row.microbatches : 1;
    changes.add(one.start * count, one.end * count);
  }
  return changes;
}

StashChanges in_stashes(const Program& program) {
  StashChanges changes;
  changes.per_one = unit_of_slices(program.parts);
  const std::vector<std::int64_t> work = counted_work(program, changes.per_one);
  for (std::size_t row = 0; row < work.size(); ++row) {
    const Row& of = program.rows[row];
    const SegmentPlace segment =
        program.segments.empty() ? SegmentPlace{} : program.segments[index(program.holders[of.holder].stage)];
    const std::int64_t change = counted(of.op, segment) * work[row];
    changes.add(std::max<std::int64_t>(0, change), std::min<std::int64_t>(0, change));
  }
  return changes;
}

}  // namespace

StashChanges stash_changes(const Program& program) {
  const bool in_abstract_units = program.memory_units_per_one > 0 && !program.memory.empty();
  StashChanges changes = in_abstract_units ? in_units(program) : in_stashes(program);
  for (std::size_t row = 0; program.forward_only && row < program.rows.size(); ++row) {
    changes.at_end[row] = -changes.at_start[row];
  }
  return changes;
}

}  // namespace plumb
