#include "sim/memory/memory_plan.hpp"

#include <algorithm>

namespace plumb {
namespace {

using When = PlannedChange::When;

MemoryClass class_of(LastUse use) {
  return use == LastUse::kWeightGrad ? MemoryClass::kKeptForWeightGrad : MemoryClass::kKeptForInputGrad;
}

/// Writes the plan of one row.
class MemoryPlanner {
 public:
  MemoryPlanner(const Program& program, const Row& row)
      : row_(row),
        memory_(row.sum == Row::kWhole ? program.memory[index(program.holders[row.holder].stage)]
                                       : program.sums[row.sum]),
        count_(row.sum == Row::kWhole && row.op != Op::kU ? row.microbatches : 1),
        forward_only_(program.forward_only),
        has_teacher_(program.has_teacher) {
    if (!program.segments.empty()) segment_ = program.segments[index(program.holders[row.holder].stage)];
    for (const StashTensor& tensor : memory_.stash) {
      const BufferKind buffer = buffer_of(tensor);
      if (buffer == BufferKind::kStashForInputGrad) for_i_ += tensor.bytes;
      if (buffer == BufferKind::kStashForWeightGrad) for_w_ += tensor.bytes;
      if (buffer == BufferKind::kStashFromInputGrad) from_i_ += tensor.bytes;
    }
  }

  RowPlan plan() {
    switch (row_.op) {
      case Op::kF:
        plan_forward();
        break;
      case Op::kR:
        plan_recompute();
        break;
      case Op::kB:
      case Op::kI:
        plan_backward();
        break;
      case Op::kW:
        plan_weight_grad();
        break;
      case Op::kU:
        plan_update();
        break;
      case Op::kV:
        plan_validation();
        break;
      case Op::kX:
        if (row_.taught >= 0) plan_teacher();
        break;
      default:
        break;
    }
    return plan_;
  }

 private:
  void add(std::vector<PlannedChange>& changes, MemoryClass cls, BufferKind buffer, std::int64_t bytes,
           When when = When::kAlways) const {
    if (bytes != 0) changes.push_back({when, cls, buffer, buffer, bytes * count_});
  }

  void at_start(MemoryClass cls, BufferKind buffer, std::int64_t bytes) { add(plan_.start, cls, buffer, bytes); }
  void at_end(MemoryClass cls, BufferKind buffer, std::int64_t bytes, When when = When::kAlways) {
    add(plan_.end, cls, buffer, -bytes, when);
  }

  void workspace(std::int64_t bytes) {
    at_start(MemoryClass::kWorkspace, BufferKind::kWorkspace, bytes);
    at_end(MemoryClass::kWorkspace, BufferKind::kWorkspace, bytes);
  }

  /// The value that the row's instrs make for another stage; freed at the end when it leaves without a message.
  void value(BufferKind buffer, BufferKind handed_over, std::int64_t bytes) {
    plan_.start.push_back({When::kForValue, MemoryClass::kTransfer, buffer, handed_over, bytes * count_});
  }

  void allocate_stash() {
    at_start(MemoryClass::kKeptForInputGrad, BufferKind::kStashForInputGrad, for_i_);
    at_start(MemoryClass::kKeptForWeightGrad, BufferKind::kStashForWeightGrad, for_w_);
  }

  /// Whether F leaves its input to a later action.
  bool keeps_input() const {
    if (forward_only_ || (row_.recompute && segment_.takes)) return false;
    return row_.recompute || memory_.input_last_use != LastUse::kForward;
  }

  void keep_input() {
    at_start(MemoryClass::kTransfer, BufferKind::kInput, -memory_.input_bytes);
    at_start(class_of(memory_.input_last_use), BufferKind::kInput, memory_.input_bytes);
  }

  void receive_input() {
    plan_.received = BufferKind::kInput;
    plan_.received_bytes = memory_.input_bytes * count_;
  }

  void plan_forward() {
    receive_input();
    if (keeps_input()) keep_input();
    allocate_stash();
    value(BufferKind::kOutput, BufferKind::kInput, memory_.output_bytes);
    workspace(memory_.workspace_f_bytes);
    if (row_.recompute || forward_only_) {
      at_start(MemoryClass::kKeptForInputGrad, BufferKind::kKeys, memory_.key_grads_freed_bytes);
      at_end(MemoryClass::kKeptForInputGrad, BufferKind::kStashForInputGrad, for_i_);
      at_end(MemoryClass::kKeptForWeightGrad, BufferKind::kStashForWeightGrad, for_w_);
    }
    if (forward_only_) at_end(MemoryClass::kKeptForInputGrad, BufferKind::kKeys, memory_.key_grads_made_bytes);
    if (!keeps_input()) at_end(MemoryClass::kTransfer, BufferKind::kInput, memory_.input_bytes);
    at_end(MemoryClass::kTransfer, BufferKind::kOutput, memory_.output_bytes, When::kIfLeaves);
    if (has_teacher_) at_end(MemoryClass::kTransfer, BufferKind::kTeacherOutput, memory_.logit_bytes);
  }

  /// As F in forward mode; what the last stage makes waits for the F of its microbatches.
  void plan_teacher() {
    receive_input();
    allocate_stash();
    value(BufferKind::kOutput, BufferKind::kInput, memory_.output_bytes);
    at_start(MemoryClass::kTransfer, BufferKind::kTeacherOutput, memory_.logit_bytes);
    workspace(memory_.workspace_f_bytes);
    at_end(MemoryClass::kKeptForInputGrad, BufferKind::kStashForInputGrad, for_i_);
    at_end(MemoryClass::kKeptForWeightGrad, BufferKind::kStashForWeightGrad, for_w_);
    at_end(MemoryClass::kTransfer, BufferKind::kInput, memory_.input_bytes);
    at_end(MemoryClass::kTransfer, BufferKind::kOutput, memory_.output_bytes, When::kIfLeaves);
  }

  void plan_recompute() {
    if (segment_.takes) {
      receive_input();
      keep_input();
    }
    allocate_stash();
    if (segment_.passes) value(BufferKind::kOutput, BufferKind::kInput, memory_.output_bytes);
    workspace(memory_.workspace_f_bytes);
    if (segment_.passes) at_end(MemoryClass::kTransfer, BufferKind::kOutput, memory_.output_bytes, When::kIfLeaves);
  }

  void plan_backward() {
    const bool whole = row_.op == Op::kB;
    plan_.received = BufferKind::kOutputGrad;
    plan_.received_bytes = memory_.output_grad_bytes * count_;
    if (row_.recompute) allocate_stash();
    if (!whole) at_start(MemoryClass::kKeptForWeightGrad, BufferKind::kStashFromInputGrad, from_i_);
    at_start(MemoryClass::kKeptForInputGrad, BufferKind::kKeyGrads, memory_.key_grads_made_bytes);
    value(BufferKind::kInputGrad, BufferKind::kOutputGrad, memory_.input_grad_bytes);
    const std::int64_t backward = whole ? memory_.workspace_b_bytes : memory_.workspace_i_bytes;
    workspace(row_.recompute ? std::max(backward, memory_.workspace_f_bytes) : backward);
    const When made_again = row_.recompute ? When::kAlways : When::kIfRecomputed;
    at_end(MemoryClass::kKeptForInputGrad, BufferKind::kKeyGrads, memory_.key_grads_freed_bytes);
    at_end(MemoryClass::kKeptForInputGrad, BufferKind::kKeys, memory_.key_grads_freed_bytes, made_again);
    at_end(MemoryClass::kKeptForInputGrad, BufferKind::kStashForInputGrad, for_i_);
    if (whole) free_for_weight_grad();
    const When input = memory_.input_last_use == LastUse::kInputGrad ? When::kAlways : made_again;
    if (memory_.input_last_use != LastUse::kWeightGrad) {
      at_end(MemoryClass::kKeptForInputGrad, BufferKind::kInput, memory_.input_bytes, input);
    }
    at_end(MemoryClass::kTransfer, BufferKind::kOutputGrad, memory_.output_grad_bytes);
    at_end(MemoryClass::kTransfer, BufferKind::kInputGrad, memory_.input_grad_bytes, When::kIfLeaves);
  }

  void plan_weight_grad() {
    workspace(memory_.workspace_w_bytes);
    free_for_weight_grad();
    at_end(MemoryClass::kKeptForWeightGrad, BufferKind::kStashFromInputGrad, from_i_);
  }

  void free_for_weight_grad() {
    at_end(MemoryClass::kKeptForWeightGrad, BufferKind::kStashForWeightGrad, for_w_);
    if (memory_.input_last_use == LastUse::kWeightGrad) {
      at_end(MemoryClass::kKeptForWeightGrad, BufferKind::kInput, memory_.input_bytes);
    }
  }

  void plan_update() { workspace(memory_.workspace_u_bytes); }

  /// A validation may make the update again, and the forwards that read its weights.
  void plan_validation() {
    workspace(std::max(memory_.workspace_u_bytes, row_.recompute ? memory_.workspace_f_bytes : 0));
    if (!row_.recompute) return;
    const std::int64_t values = memory_.output_bytes + memory_.input_bytes;
    at_start(MemoryClass::kTransfer, BufferKind::kOutput, values);
    at_end(MemoryClass::kTransfer, BufferKind::kOutput, values);
  }

  const Row& row_;
  const StageMemory& memory_;
  std::int64_t count_;
  bool forward_only_;
  bool has_teacher_;
  SegmentPlace segment_;
  std::int64_t for_i_ = 0;
  std::int64_t for_w_ = 0;
  std::int64_t from_i_ = 0;
  RowPlan plan_;
};

}  // namespace

BufferKind buffer_of(const StashTensor& tensor) {
  if (tensor.made_by == StashTensor::MadeBy::kInputGrad) return BufferKind::kStashFromInputGrad;
  return tensor.last_use == LastUse::kWeightGrad ? BufferKind::kStashForWeightGrad : BufferKind::kStashForInputGrad;
}

std::vector<MovedBuffer> moved_buffers(const Program& program, const Move& move) {
  if (move.weights) return {{MemoryClass::kWeights, BufferKind::kWeights, move.bytes}};
  const Action& action = program.instrs[program.transfers[move.transfer].issue].action;
  std::vector<MovedBuffer> buffers;
  const auto add = [&](MemoryClass cls, BufferKind buffer, std::int64_t bytes) {
    if (bytes != 0) buffers.push_back({cls, buffer, bytes});
  };
  program.parts.for_each(action, [&](std::size_t, std::size_t, std::size_t part) {
    const StageMemory& memory = program.memory_of(action.stage, part);
    const bool for_weight_grad = memory.input_last_use == LastUse::kWeightGrad;
    if (move.input_only || memory.input_last_use != LastUse::kForward) {
      add(for_weight_grad ? MemoryClass::kKeptForWeightGrad : MemoryClass::kKeptForInputGrad, BufferKind::kInput,
          memory.input_bytes);
    }
    if (move.input_only) return;
    for (const StashTensor& tensor : memory.stash) {
      const BufferKind buffer = buffer_of(tensor);
      if (buffer == BufferKind::kStashForInputGrad) add(MemoryClass::kKeptForInputGrad, buffer, tensor.bytes);
      if (buffer == BufferKind::kStashForWeightGrad) add(MemoryClass::kKeptForWeightGrad, buffer, tensor.bytes);
    }
  });
  return buffers;
}

std::vector<RowPlan> row_plans(const Program& program) {
  std::vector<RowPlan> plans;
  if (program.memory.empty()) return plans;
  for (const Row& row : program.rows) plans.push_back(MemoryPlanner(program, row).plan());
  return plans;
}

}  // namespace plumb
