#include "trainer/device/queued_stage.hpp"

#include <cassert>
#include <utility>

#include "trainer/device/device_queue.hpp"

namespace plumb {
namespace {

/// Returns the bytes of a block in a pass.
std::int64_t block_bytes(const StageLayout& layout, StageBlock block, Op op) {
  const StageMemory& memory = layout.memory;
  switch (block) {
    case StageBlock::kInput:
      return memory.input_bytes;
    case StageBlock::kOutput:
      return memory.output_bytes;
    case StageBlock::kOutputGrad:
      return memory.output_grad_bytes;
    case StageBlock::kInputGrad:
      return memory.input_grad_bytes;
    case StageBlock::kKeptForInputGrad:
      return layout.kept_for_input_grad.storage;
    case StageBlock::kKeptForWeightGrad:
      return layout.kept_for_weight_grad.storage;
    case StageBlock::kMadeByInputGrad:
      return layout.made_by_input_grad.storage;
    case StageBlock::kKeyGrads:
    case StageBlock::kKeys:
      return layout.key_grads.storage;
    case StageBlock::kWorkspace:
      if (op == Op::kI) return memory.workspace_i_bytes;
      if (op == Op::kW) return memory.workspace_w_bytes;
      return op == Op::kB ? memory.workspace_b_bytes : memory.workspace_f_bytes;
    default:
      return 0;
  }
}

/// Calls `apply` with a list of as many blocks: a list of that type cannot be made at run time.
void apply_to(StageBackend& stage, const Elementwise& operation, const std::vector<const std::byte*>& x) {
  assert(x.size() >= 2 && x.size() <= 4);
  if (x.size() == 2) return stage.apply(operation, {x[0], x[1]});
  if (x.size() == 3) return stage.apply(operation, {x[0], x[1], x[2]});
  stage.apply(operation, {x[0], x[1], x[2], x[3]});
}

/// The arguments with the earlier slices that they refer to.
struct OwnArguments {
  PassArguments arguments;
  std::vector<EarlierSlice> earlier;

  explicit OwnArguments(const PassArguments& given) : arguments(given) {
    if (given.blocks.earlier == nullptr) return;
    earlier.assign(given.blocks.earlier, given.blocks.earlier + given.blocks.earlier_count);
  }
  PassArguments bound() const {
    PassArguments result = arguments;
    result.blocks.earlier = earlier.data();
    return result;
  }
};

/// Returns everything that a pass depends on.
std::string replay_key(const StageBackend* stage, Op op, const PassArguments& pass) {
  std::string key;
  const auto add = [&key](const auto& value) { key.append(reinterpret_cast<const char*>(&value), sizeof(value)); };
  add(stage);
  add(op);
  add(pass.weights);
  add(pass.frozen);
  add(pass.gradients);
  add(pass.blocks.data);
  for (std::size_t i = 0; i < pass.blocks.earlier_count; ++i) add(pass.blocks.earlier[i].blocks.data);
  for (const void* ids : {static_cast<const void*>(pass.ids.tokens), static_cast<const void*>(pass.ids.targets),
                          static_cast<const void*>(pass.ids.target_tokens), static_cast<const void*>(pass.ids.values),
                          static_cast<const void*>(pass.ids.target_values), static_cast<const void*>(pass.loss)}) {
    add(ids);
  }
  add(pass.ids.loss_tokens);
  add(pass.ids.soft.made);
  add(pass.ids.soft.given);
  return key;
}

}  // namespace

Access QueuedStage::read(const std::byte* block, std::int64_t bytes) const {
  return {{block, block == nullptr ? 0 : static_cast<std::size_t>(bytes)}, false};
}

Access QueuedStage::write(const std::byte* block, std::int64_t bytes) const {
  return {{block, block == nullptr ? 0 : static_cast<std::size_t>(bytes)}, true};
}

/// Lists what a pass may read and write, for checks of the order of streams. Everything that is alive may be written,
/// but for what is only read by definition.
std::vector<Access> QueuedStage::accesses(Op op, const PassArguments& arguments) const {
  const StageLayout& layout = *spec_.layout;
  std::vector<Access> list{
      read(arguments.weights, layout.memory.updated_bytes()),
      read(arguments.frozen, layout.memory.frozen_bytes),
      write(op == Op::kF || op == Op::kR || op == Op::kX ? nullptr : arguments.gradients, layout.memory.gradient_bytes),
      write(reinterpret_cast<const std::byte*>(arguments.loss), sizeof(double)),
      write(arguments.ids.soft.made, layout.memory.logit_bytes),
      read(arguments.ids.soft.given, layout.memory.logit_bytes)};
  for (std::size_t i = 0; i < kStageBlockCount; ++i) {
    const auto which = static_cast<StageBlock>(i);
    const std::byte* block = arguments.blocks.data[i];
    const std::int64_t bytes = block_bytes(layout, which, op);
    list.push_back(which == StageBlock::kInput ? read(block, bytes) : write(block, bytes));
  }
  for (std::size_t i = 0; i < arguments.blocks.earlier_count; ++i) {
    const EarlierSlice& slice = arguments.blocks.earlier[i];
    const auto block = [&](StageBlock which) { return slice.blocks.data[static_cast<std::size_t>(which)]; };
    list.push_back(read(block(StageBlock::kKeptForInputGrad), slice.layout->kept_for_input_grad.storage));
    list.push_back(read(block(StageBlock::kKeys), slice.layout->key_grads.storage));
    list.push_back(write(block(StageBlock::kKeyGrads), slice.layout->key_grads.storage));
  }
  return list;
}

std::vector<Access> QueuedStage::accesses(const HolderBlocks& blocks) const {
  const StageMemory& memory = spec_.layout->memory;
  return {write(blocks.weights, memory.updated_bytes()), write(blocks.gradients, memory.gradient_bytes),
          write(blocks.state, memory.optimizer_bytes)};
}

void QueuedStage::run(Op op, const PassArguments& arguments) {
  queue_.launch({.name = std::string(kOpNames[static_cast<std::size_t>(op)]),
                 .accesses = accesses(op, arguments),
                 .run = [stage = stage_, op, own = OwnArguments(arguments)] { stage->run(op, own.bound()); },
                 .replay = replay_key(stage_.get(), op, arguments)});
}

void QueuedStage::initialize(std::uint64_t seed, const HolderBlocks& blocks) {
  queue_.launch({.name = "initialize",
                 .accesses = accesses(blocks),
                 .run = [stage = stage_, seed, blocks] { stage->initialize(seed, blocks); },
                 .waits = true});
}

void QueuedStage::update(const UpdateStep& step, const HolderBlocks& blocks) {
  std::vector<Access> list = accesses(blocks);
  for (const Follower& follower : step.followers) {
    list.push_back(write(follower.buffer, spec_.layout->memory.updated_bytes()));
  }
  queue_.launch({.name = "update", .accesses = std::move(list), .run = [stage = stage_, step, blocks] {
                   stage->update(step, blocks);
                 }});
}

void QueuedStage::copy(std::byte* to, const std::byte* from) {
  const std::int64_t bytes = spec_.layout->memory.updated_bytes();
  queue_.launch({.name = "copy", .accesses = {read(from, bytes), write(to, bytes)}, .run = [stage = stage_, to, from] {
                   stage->copy(to, from);
                 }});
}

void QueuedStage::apply(const Elementwise& operation, std::initializer_list<const std::byte*> blocks) {
  std::vector<Access> list;
  for (const std::byte* block : blocks) list.push_back(write(block, spec_.layout->memory.updated_bytes()));
  queue_.launch({.name = "elementwise",
                 .accesses = std::move(list),
                 .run = [stage = stage_, operation, own = std::vector(blocks)] { apply_to(*stage, operation, own); }});
}

std::vector<double> QueuedStage::products(const std::byte* a, const std::byte* b) {
  const auto sums = std::make_shared<std::vector<double>>();
  const std::int64_t bytes = spec_.layout->memory.updated_bytes();
  queue_.launch({.name = "products",
                 .accesses = {read(a, bytes), read(b, bytes)},
                 .run = [stage = stage_, a, b, sums] { *sums = stage->products(a, b); },
                 .waits = true});
  queue_.memory().wait();
  return *sums;
}

void QueuedStage::scale(std::byte* block, std::span<const double> factors) {
  queue_.launch({.name = "scale",
                 .accesses = {write(block, spec_.layout->memory.updated_bytes())},
                 .run = [stage = stage_, block, own = std::vector(factors.begin(), factors.end())] {
                   stage->scale(block, own);
                 }});
}

std::vector<double> QueuedStage::squared_norms(const HolderBlocks& blocks) {
  const auto norms = std::make_shared<std::vector<double>>();
  queue_.launch({.name = "norms",
                 .accesses = {read(blocks.gradients, spec_.layout->memory.gradient_bytes)},
                 .run = [stage = stage_, blocks, norms] { *norms = stage->squared_norms(blocks); },
                 .waits = true});
  queue_.memory().wait();
  return *norms;
}

std::unique_ptr<StageBackend> make_queued_stage(DeviceQueue& queue, const Backend& backend, NumberType type,
                                                StageSpec spec) {
  spec.place = queue.stage_place();
  if (backend.scratch_bytes != nullptr)
    spec.place.scratch = queue.make_stage_scratch(backend.scratch_bytes(type, spec));
  return std::make_unique<QueuedStage>(queue, type, spec, backend.make_stage(type, spec));
}

}  // namespace plumb
