#include "trainer/device_worker.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "sim/waits.hpp"

namespace plumb {
namespace {

constexpr bool reads_weights(Op op) { return op == Op::kF || is_backward(op) || op == Op::kR; }

std::span<std::byte> bytes_of(const Block& block) { return {block.data(), static_cast<std::size_t>(block.bytes())}; }

template <class Map>
Block extract(Map& blocks, const typename Map::key_type& key) {
  auto node = blocks.extract(key);
  return node.empty() ? Block() : std::move(node.mapped());
}

}  // namespace

DeviceWorker::DeviceWorker(const RunPlan& plan, DeviceId device, const RunOutputs& outputs)
    : plan_(plan),
      device_(device),
      outputs_(outputs),
      arena_({.log_events = plan.options.memory_curve, .poison = plan.options.poison_memory}),
      position_(plan.program.lane_begin[index(device)]) {
  for (std::uint32_t holder = 0; holder < plan.program.holders.size(); ++holder) {
    if (plan.program.holders[holder].device != device) continue;
    holders_.try_emplace(holder, plan, holder, arena_);
  }
  note_memory(0);
}

void DeviceWorker::start_document(std::int64_t first_microbatch) {
  position_ = plan_.program.lane_begin[index(device_)];
  first_microbatch_ = first_microbatch;
  versions_read_.clear();
  memory_.clear();
  for (std::size_t cls = 0; cls < kMemoryClassCount; ++cls) {
    memory_.push_back({0, device_, static_cast<MemoryClass>(cls), arena_.live()[cls]});
  }
  for (auto& [number, holder] : holders_) holder.restart_document();
}

void DeviceWorker::restore(InstrIndex position, std::int64_t first_microbatch) {
  position_ = position;
  first_microbatch_ = first_microbatch;
}

StageStash& DeviceWorker::add_stash(const StashKey& key) {
  return live_.stashes.try_emplace(key, holders_.at(key.first).layout(), arena_).first->second;
}

std::span<std::byte> DeviceWorker::add_value(const ValueKey& key, std::int64_t bytes) {
  return bytes_of(live_.values.emplace(key, arena_.allocate(MemoryClass::kTransfer, bytes)).first->second);
}

std::span<std::byte> DeviceWorker::add_buffer(std::uint32_t transfer, bool sending) {
  auto& buffers = sending ? live_.send_buffers : live_.slots;
  const std::int64_t bytes = plan_.program.transfers[transfer].bytes;
  return bytes_of(buffers.emplace(transfer, arena_.allocate(MemoryClass::kTransfer, bytes)).first->second);
}

void DeviceWorker::step() {
  const InstrIndex first = position_;
  const InstrIndex behind = plan_.behind(first);
  const auto each = [&](void (DeviceWorker::*part)(InstrIndex)) {
    for (InstrIndex at = first; at < behind; ++at) (this->*part)(at);
  };
  each(&DeviceWorker::before);
  note_memory(outputs_.clock.now_ns());
  each(&DeviceWorker::await);
  const Ticks start = outputs_.clock.now_ns();
  each(&DeviceWorker::take_messages);
  each(&DeviceWorker::begin);
  note_memory(start);
  each(&DeviceWorker::compute);
  each(&DeviceWorker::end);
  running_.clear();
  each(&DeviceWorker::send);
  const Ticks end = outputs_.clock.now_ns();
  note_memory(end);
  for (InstrIndex at = first; at < behind; ++at) {
    outputs_.times.start[at] = start;
    outputs_.times.end[at] = end;
  }
  position_ = behind;
  if (plan_.has_direct_edges) outputs_.transport.passed(device_, behind);
  if (behind == plan_.program.lane_begin[index(device_) + 1]) {
    live_.send_buffers.clear();
    note_memory(end);
  }
}

/// Waits of sends free their buffers (a buffered send is over once it is handed over); posted receives get their slots.
void DeviceWorker::before(InstrIndex at) {
  for (const std::uint32_t transfer : plan_.sent.of(at)) live_.send_buffers.erase(transfer);
  for (const std::uint32_t transfer : plan_.posted.of(at)) {
    live_.slots.emplace(transfer, arena_.allocate(MemoryClass::kTransfer, plan_.program.transfers[transfer].bytes));
  }
}

void DeviceWorker::await(InstrIndex at) {
  for (const Wait& wait : plan_.waits(at)) {
    if (is_for_transfer(wait)) {
      outputs_.times.transfers[wait.via] = outputs_.transport.await(wait.via);
    } else if (is_for_collective(wait)) {
      outputs_.transport.await_reduced(collective_of(wait));
    } else {
      outputs_.transport.await_instr(plan_.holder(wait.source).device, wait.source);
    }
  }
}

void DeviceWorker::take_messages(InstrIndex at) {
  for (const Wait& wait : plan_.waits(at)) {
    if (is_for_transfer(wait)) outputs_.transport.take(wait.via, bytes_of(live_.slots.at(wait.via)));
  }
}

Block DeviceWorker::take_value(InstrIndex at) {
  for (const Wait& wait : plan_.waits(at)) {
    if (is_for_transfer(wait)) return extract(live_.slots, wait.via);
  }
  const Action& action = plan_.program.instrs[at].action;
  return extract(live_.values, {action.op == Op::kF ? Op::kF : Op::kB, action.stage, action.microbatch});
}

void DeviceWorker::hand_over(InstrIndex at, Block value) {
  const auto transfers = plan_.made.of(at);
  if (!transfers.empty()) {
    live_.send_buffers.emplace(transfers.front(), std::move(value));
  } else if (value.bytes() > 0) {
    const Action& action = plan_.program.instrs[at].action;
    const bool forward = action.op == Op::kF;
    const StageId consumer{static_cast<std::int32_t>(action.stage) + (forward ? 1 : -1)};
    live_.values.emplace(ValueKey{forward ? Op::kF : Op::kB, consumer, action.microbatch}, std::move(value));
  }
}

void DeviceWorker::begin(InstrIndex at) {
  HolderState& holder = holders_.at(holder_index(at));
  const Op op = plan_.program.instrs[at].action.op;
  if (op == Op::kU) {
    holder.begin_update(!plan_.replaced.of(at).empty());
  } else if (op != Op::kReduceGrad) {
    begin_pass(at, holder);
  }
}

void DeviceWorker::begin_pass(InstrIndex at, HolderState& holder) {
  const Op op = plan_.program.instrs[at].action.op;
  if (op == Op::kF) live_.stashes.try_emplace(stash_key(at), holder.layout(), arena_);
  StageStash& stash = live_.stashes.at(stash_key(at));
  StageBlocks& blocks = running_[at];
  switch (op) {
    case Op::kF:
      blocks = stash.begin_forward(take_value(at),
                                   plan_.row(at).recompute ? StashLife::kUntilEndOfForward : StashLife::kUntilBackward);
      break;
    case Op::kR:
      blocks = stash.begin_recompute();
      break;
    case Op::kI:
      blocks = stash.begin_input_grad(take_value(at));
      break;
    case Op::kB:
      blocks = stash.begin_backward(take_value(at));
      break;
    case Op::kW:
      blocks = stash.begin_weight_grad();
      break;
    default:
      assert(false && "refused by RunPlan");
  }
}

void DeviceWorker::compute(InstrIndex at) {
  HolderState& holder = holders_.at(holder_index(at));
  const Op op = plan_.program.instrs[at].action.op;
  if (op == Op::kU) {
    collect(at, holder);
    holder.update();
  } else if (op == Op::kReduceGrad) {
    reduce(at, holder);
  } else {
    compute_pass(at, holder);
  }
}

void DeviceWorker::compute_pass(InstrIndex at, HolderState& holder) {
  const Action& action = plan_.program.instrs[at].action;
  PassArguments pass;
  pass.gradients = holder.gradients();
  pass.blocks = running_.at(at);
  if (reads_weights(action.op)) {
    const bool newest = plan_.program.version_read.empty();
    const std::int32_t version = newest ? holder.version() : plan_.program.version_read[at];
    pass.weights = holder.weights(version);
    versions_read_.push_back({action, version});
  }
  const std::int64_t microbatch = first_microbatch_ + static_cast<std::int64_t>(action.microbatch);
  const bool again = plan_.row(at).recompute && is_backward(action.op);
  const bool forward = action.op == Op::kF || action.op == Op::kR || again;
  const bool sees_data = forward && (holder.layout().first || holder.layout().last);
  TextData::Microbatch data;
  double loss = 0;
  if (sees_data) {
    data = plan_.options.data->microbatch(microbatch, plan_.options.shape, plan_.options.seed);
    pass.ids = {data.tokens.data(), data.targets.data()};
    pass.loss = &loss;
  }
  if (again) holder.backend().run(Op::kR, pass);
  holder.backend().run(action.op, pass);
  if (action.op == Op::kF && holder.layout().last) outputs_.losses.add(microbatch, loss);
}

/// Gives this holder's gradients to the collectives that the instr joins.
void DeviceWorker::reduce(InstrIndex at, HolderState& holder) {
  for (const std::uint32_t j : plan_.joins.of(at)) {
    const Joining& joining = plan_.joinings[j];
    std::vector<std::byte> part;
    for (const ByteRange& range : plan_.reduced_ranges(joining.collective, holder.stage())) {
      part.insert(part.end(), holder.gradients() + range.begin, holder.gradients() + range.end);
    }
    outputs_.transport.join(joining.collective, joining.member, part);
  }
}

/// Replaces this holder's gradients by the sums that the update waits for.
void DeviceWorker::collect(InstrIndex at, HolderState& holder) {
  for (const Wait& wait : plan_.waits(at)) {
    if (!is_for_collective(wait)) continue;
    const std::uint32_t collective = collective_of(wait);
    const std::vector<ByteRange> ranges = plan_.reduced_ranges(collective, holder.stage());
    std::int64_t size = 0;
    for (const ByteRange& range : ranges) size += range.end - range.begin;
    std::vector<std::byte> sum(static_cast<std::size_t>(size));
    outputs_.transport.collect(collective, sum);
    const std::byte* from = sum.data();
    for (const ByteRange& range : ranges) {
      std::copy(from, from + (range.end - range.begin), holder.gradients() + range.begin);
      from += range.end - range.begin;
    }
  }
}

void DeviceWorker::end(InstrIndex at) {
  HolderState& holder = holders_.at(holder_index(at));
  const Op op = plan_.program.instrs[at].action.op;
  if (op == Op::kU) {
    holder.end_update();
  } else if (op != Op::kReduceGrad) {
    const auto stash = live_.stashes.find(stash_key(at));
    if (op == Op::kF) hand_over(at, stash->second.end_forward());
    if (op == Op::kI) hand_over(at, stash->second.end_input_grad());
    if (op == Op::kB) hand_over(at, stash->second.end_backward());
    if (op == Op::kW) stash->second.end_weight_grad();
    if (op == Op::kR) stash->second.end_recompute();
    if (op == Op::kB || op == Op::kW) live_.stashes.erase(stash);
  }
  for (const std::uint32_t kept : plan_.last_read.of(at)) holder.drop(plan_.program.kept_versions[kept].version);
}

void DeviceWorker::send(InstrIndex at) {
  for (const std::uint32_t transfer : plan_.issued.of(at)) {
    outputs_.transport.send(transfer, bytes_of(live_.send_buffers.at(transfer)));
  }
}

void DeviceWorker::note_memory(std::int64_t time) {
  const std::vector<ArenaEvent> events = arena_.take_events();
  std::array<std::int64_t, kMemoryClassCount> bytes{};
  std::array<bool, kMemoryClassCount> changed{};
  for (const ArenaEvent& event : events) {
    bytes[static_cast<std::size_t>(event.cls)] = event.live_bytes;
    changed[static_cast<std::size_t>(event.cls)] = true;
  }
  for (std::size_t cls = 0; cls < kMemoryClassCount; ++cls) {
    if (changed[cls]) memory_.push_back({time, device_, static_cast<MemoryClass>(cls), bytes[cls]});
  }
}

}  // namespace plumb
