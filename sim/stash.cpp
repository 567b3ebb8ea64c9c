#include "sim/stash.hpp"

namespace plumb {
namespace {

std::int64_t counted(Op op) {
  switch (op) {
    case Op::kF:
      return 1;
    case Op::kB:
    case Op::kW:
      return -1;
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

std::int64_t measured_in_units(const Row& row, const StashBytes& bytes) {
  const std::int64_t forward = bytes.forward_to_input_grad + bytes.forward_to_weight_grad;
  const std::int64_t made_again = row.recompute ? forward : 0;
  switch (row.op) {
    case Op::kF:
      return forward - made_again;
    case Op::kB:
      return made_again - forward;
    case Op::kI:
      return made_again + bytes.input_grad_to_weight_grad - bytes.forward_to_input_grad;
    case Op::kW:
      return -bytes.forward_to_weight_grad - bytes.input_grad_to_weight_grad;
    default:
      return 0;
  }
}

}  // namespace

StashChanges stash_changes(const Program& program) {
  StashChanges changes;
  changes.by_row.reserve(program.rows.size());
  const bool abstract = program.memory_units_per_one > 0 && !program.memory.empty();
  if (abstract) changes.per_one = program.memory_units_per_one;
  for (const Row& row : program.rows) {
    std::int64_t change = 0;
    if (abstract) {
      const Holder& holder = program.holders[row.holder];
      change = measured_in_units(row, StashBytes(program.memory[index(holder.stage)]));
    } else if (!program.forward_only) {
      change = counted(row.op);
    }
    changes.by_row.push_back(change * row.microbatches);
  }
  return changes;
}

}  // namespace plumb
