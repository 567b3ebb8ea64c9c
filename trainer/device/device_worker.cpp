#include "trainer/device/device_worker.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <stdexcept>
#include <utility>

#include "schedules/program/waits.hpp"
#include "trainer/device/device_queue.hpp"

namespace plumb {
namespace {

/// Returns where passes may be replayed, and where the pipeline does not run empty between updates, which by itself
/// brings every block back to its place.
bool lends_lanes_to_microbatches(const RunPlan& plan, const RunOutputs& outputs) {
  const auto flushes = [&](StageId stage) { return plan.options.schedule.is_synchronous(stage); };
  return outputs.queue != nullptr && !std::ranges::all_of(plan.program.holders, flushes, &Holder::stage);
}

/// What identifies a value: it is for a forward, a recompute or a backward.
constexpr Op value_op(Op op) { return is_backward(op) ? Op::kB : op; }

constexpr bool reads_weights(Op op) { return op == Op::kF || is_backward(op) || op == Op::kR; }

/// Tells forwards, in an X of the student or its teacher, too.
constexpr bool is_forward(Op op) { return op == Op::kF || op == Op::kX; }

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
      arena_({.log_events = plan.options.observation.memory_curve,
              .poison = plan.options.hooks.poison_memory,
              .memory = outputs.queue == nullptr ? nullptr : &outputs.queue->memory()}),
      lends_lanes_(lends_lanes_to_microbatches(plan, outputs)),
      position_(plan.program.lane_begin[index(device)]) {
  for (std::uint32_t holder = 0; holder < plan.program.holders.size(); ++holder) {
    if (plan.program.holders[holder].device != device) continue;
    holders_.try_emplace(holder, plan, holder, arena_, shared_, outputs.queue);
  }
  note_memory(0);
}

std::optional<Arena::Lent> DeviceWorker::blocks_of(std::int32_t microbatch) {
  if (!lends_lanes_) return std::nullopt;
  return std::optional<Arena::Lent>(std::in_place, arena_, microbatch);
}

void DeviceWorker::start_document(std::int64_t first_microbatch) {
  position_ = plan_.program.lane_begin[index(device_)];
  first_microbatch_ = first_microbatch;
  versions_read_.clear();
  memory_.clear();
  for (std::size_t cls = 0; cls < kMemoryClassCount; ++cls) {
    memory_.emplace_back(0, static_cast<MemoryClass>(cls), arena_.live()[cls]);
  }
  timed_memory_ = memory_.size();
  for (auto& [number, holder] : holders_) holder.restart_document();
}

void DeviceWorker::restore(InstrIndex position, std::int64_t first_microbatch) {
  position_ = position;
  first_microbatch_ = first_microbatch;
}

StageStash& DeviceWorker::add_stash(const StashKey& key) {
  const std::size_t part =
      plan_.program.parts.part(static_cast<std::size_t>(key.microbatch), static_cast<std::size_t>(key.slice));
  const StageLayout& layout = plan_.layout(holders_.at(key.holder).stage(), part);
  return live_.stashes.try_emplace(key, layout, arena_).first->second;
}

std::span<std::byte> DeviceWorker::add_value(const ValueKey& key, std::int64_t bytes) {
  const auto lent = blocks_of(static_cast<std::int32_t>(key.microbatch));
  return live_.values.emplace(key, arena_.allocate(MemoryClass::kTransfer, bytes)).first->second.span();
}

std::vector<Block> DeviceWorker::allocate_message(std::uint32_t transfer) {
  std::vector<Block> blocks;
  for (const MessagePart& part : plan_.message(transfer)) {
    const auto lent = blocks_of(part.microbatch);
    blocks.push_back(arena_.allocate(MemoryClass::kTransfer, part.bytes));
  }
  return blocks;
}

const std::vector<Block>& DeviceWorker::add_buffer(std::uint32_t transfer, bool sending) {
  auto& buffers = sending ? live_.send_buffers : live_.slots;
  const std::vector<Block>& blocks = buffers.emplace(transfer, allocate_message(transfer)).first->second;
  if (!sending) outputs_.transport.post(transfer, blocks);
  return blocks;
}

/// Returns the moment that is now, or the last mark of the queue.
Ticks DeviceWorker::now() const {
  return outputs_.queue == nullptr ? outputs_.clock.now() : Ticks{outputs_.queue->last_mark()};
}

void DeviceWorker::prepare() {
  if (std::exchange(prepared_, true)) return;
  const InstrIndex unit_end = plan_.unit_end(position_);
  outputs_.transport.reached(device_, position_);
  for (InstrIndex at = position_; at < unit_end; ++at) before(at);
  note_memory(now());
}

void DeviceWorker::step() {
  const InstrIndex first = position_;
  const InstrIndex unit_end = plan_.unit_end(first);
  const DeviceClock::Spell spell(outputs_.clock, true);
  if (must_rerun()) rerun_forwards();
  const auto each = [&](void (DeviceWorker::*part)(InstrIndex)) {
    for (InstrIndex at = first; at < unit_end; ++at) (this->*part)(at);
  };
  prepare();
  prepared_ = false;
  each(&DeviceWorker::await);
  if (outputs_.queue != nullptr) outputs_.queue->begin_unit(first, unit_end, plan_.program.instrs[first].action);
  const Ticks start = now();
  each(&DeviceWorker::take_messages);
  each(&DeviceWorker::begin);
  note_memory(start);
  each(&DeviceWorker::compute);
  if (plan_.backend.paced) outputs_.clock.sleep_until(start + plan_.given_time(first, device_));
  each(&DeviceWorker::end);
  running_.clear();
  each(&DeviceWorker::send);
  if (outputs_.queue != nullptr) outputs_.queue->end_unit();
  const Ticks end = now();
  note_memory(end);
  for (InstrIndex at = first; at < unit_end; ++at) {
    outputs_.times.start[at] = start;
    outputs_.times.end[at] = end;
  }
  position_ = unit_end;
  if (plan_.tells_progress) outputs_.transport.passed(device_, unit_end);
  if (outputs_.queue == nullptr) end_lane();
}

void DeviceWorker::end_lane() {
  if (position_ != plan_.program.lane_begin[index(device_) + 1]) return;
  for (const auto& [transfer, blocks] : live_.send_buffers) outputs_.transport.await_sent(transfer);
  live_.send_buffers.clear();
  update_remote_stashes(plan_.program.size() + index(device_));
  note_memory(now());
}

void DeviceWorker::note_times() {
  for (; timed_memory_ < memory_.size(); ++timed_memory_) {
    MemoryPoint& point = memory_[timed_memory_];
    point = {outputs_.queue->time_of(static_cast<std::uint32_t>(point.time())), point.cls(), point.bytes()};
  }
}

/// Waits of sends free their buffers (a buffered send is over once it is handed over); posted receives get their slots.
void DeviceWorker::before(InstrIndex at) {
  const auto sent = plan_.indexed.sent().of(at);
  for (const std::uint32_t transfer : sent) {
    if (!plan_.program.is_move(transfer)) outputs_.transport.await_sent(transfer);
  }
  for (const std::uint32_t transfer : sent) {
    if (plan_.program.op_of(transfer) == Op::kEvict) free_evicted(transfer);
    live_.send_buffers.erase(transfer);
  }
  for (const std::uint32_t transfer : plan_.indexed.posted().of(at)) {
    if (plan_.program.is_move(transfer)) continue;
    outputs_.transport.post(transfer, live_.slots.emplace(transfer, allocate_message(transfer)).first->second);
  }
  update_remote_stashes(at);
}

/// What the device holds for others from `place` on, and no longer.
void DeviceWorker::update_remote_stashes(std::size_t place) {
  for (const std::uint32_t move : plan_.held.of(place)) add_remote_stash(move);
  for (const std::uint32_t move : plan_.released.of(place)) live_.remote_stashes.erase(move);
}

void DeviceWorker::add_remote_stash(std::uint32_t move) {
  live_.remote_stashes.emplace(move, arena_.allocate(MemoryClass::kEvicted, plan_.program.moves[move].bytes));
}

void DeviceWorker::await(InstrIndex at) {
  for (const Wait& wait : plan_.waits(at)) {
    if (is_for_message(wait)) {
      outputs_.times.transfers[wait.via] = outputs_.transport.await(wait.via);
    } else if (is_for_transfer(wait)) {
      continue;  // a LOAD is done when its instr is
    } else if (is_for_collective(wait)) {
      outputs_.transport.await_reduced(collective_of(wait), device_);
    } else {
      outputs_.transport.await_instr(plan_.holder(wait.source).device, wait.source, device_);
      if (outputs_.clock.gives_times()) outputs_.clock.sleep_until(over_at(plan_.program, outputs_.times, wait));
    }
  }
}

/// Fills the slots of the messages; from now on they are values like those handed over on the device.
void DeviceWorker::take_messages(InstrIndex at) {
  const Action& consumer = plan_.program.instrs[at].action;
  for (const Wait& wait : plan_.waits(at)) {
    if (!is_for_message(wait)) continue;
    auto slots = live_.slots.extract(wait.via);
    std::vector<Block>& blocks = slots.mapped();
    const std::vector<MessagePart> parts = plan_.message(wait.via);
    outputs_.transport.take(wait.via, blocks);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const ValueKey key{value_op(consumer.op), consumer.stage, MicrobatchId{parts[i].microbatch}, parts[i].slice};
      live_.values.emplace(key, std::move(blocks[i]));
    }
  }
}

Block DeviceWorker::take_value(InstrIndex at, const RunningPart& running) {
  const Action& action = plan_.program.instrs[at].action;
  return extract(live_.values,
                 {value_op(action.op), action.stage, MicrobatchId{running.key.microbatch}, running.key.slice});
}

void DeviceWorker::hand_over(InstrIndex at, const RunningPart& running, Block value) {
  if (value.bytes() == 0) return;
  const auto microbatch = static_cast<std::size_t>(running.key.microbatch);
  const auto slice = static_cast<std::size_t>(running.key.slice);
  for (const std::uint32_t transfer : plan_.indexed.made().of(at)) {
    const InstrIndex consumer = plan_.program.transfers[transfer].consumer;
    if (!names(plan_.program.work_of(consumer), microbatch, slice)) continue;
    live_.send_buffers[transfer].push_back(std::move(value));
    return;
  }
  const Action& action = plan_.program.instrs[at].action;
  const StageId consumer{static_cast<std::int32_t>(action.stage) + (is_backward(action.op) ? -1 : 1)};
  const ValueKey key{value_op(action.op), consumer, MicrobatchId{running.key.microbatch}, running.key.slice};
  live_.values.emplace(key, std::move(value));
}

void DeviceWorker::begin(InstrIndex at) {
  const Op op = plan_.program.instrs[at].action.op;
  if (op == Op::kU) {
    const auto& kept = plan_.replaced.of(at);
    const bool with_state = !kept.empty() && plan_.program.kept_versions[kept.front()].for_rollback;
    holders_.at(holder_index(at)).begin_update(!kept.empty(), with_state);
  } else if (op == Op::kV) {
    begin_validation(at);
  } else if (op == Op::kLoad) {
    load(at);
  } else if (plan_.is_pass(at)) {
    begin_pass(at);
  }
}

void DeviceWorker::begin_pass(InstrIndex at) {
  std::vector<RunningPart>& parts = running_[at];
  const Action action = plan_.program.work_of(at);
  plan_.program.parts.for_each(action, [&](std::size_t microbatch, std::size_t slice, std::size_t part) {
    RunningPart& running = parts.emplace_back();
    running.key = {holder_index(at), static_cast<std::int32_t>(microbatch), static_cast<std::int16_t>(slice),
                   action.op == Op::kX};
    running.part = part;
    begin_part(at, running);
  });
}

StashLife DeviceWorker::stash_life(InstrIndex at) const {
  if (plan_.program.forward_only || plan_.row(at).op == Op::kX) return StashLife::kForwardOnly;
  if (!plan_.row(at).recompute) return StashLife::kUntilBackward;
  return plan_.segment(at).takes ? StashLife::kInputComesAgain : StashLife::kUntilEndOfForward;
}

void DeviceWorker::begin_part(InstrIndex at, RunningPart& running) {
  const Op op = plan_.program.instrs[at].action.op;
  const auto lent = blocks_of(running.key.microbatch);
  if (is_forward(op)) add_stash(running.key);
  StageStash& stash = live_.stashes.at(running.key);
  if (is_backward(op)) make_key_grads(running);
  switch (op) {
    case Op::kX:
      make_room_for_teacher(running);
      [[fallthrough]];
    case Op::kF:
      running.blocks = stash.begin_forward(take_value(at, running), stash_life(at));
      break;
    case Op::kR:
      running.blocks = stash.begin_recompute(take_value(at, running), plan_.segment(at).passes);
      break;
    case Op::kI:
      running.blocks = stash.begin_input_grad(take_value(at, running));
      break;
    case Op::kB:
      running.blocks = stash.begin_backward(take_value(at, running));
      break;
    default:
      running.blocks = stash.begin_weight_grad();
      break;
  }
}

/// The backward of the last sequence slice makes the sums that all backwards of the microbatch add to.
void DeviceWorker::make_key_grads(const RunningPart& last) {
  const PartTable& parts = plan_.program.parts;
  const auto slices = static_cast<std::int16_t>(parts.slices(static_cast<std::size_t>(last.key.microbatch)));
  if (!parts.causal() || last.key.slice + 1 != slices) return;
  StashKey key = last.key;
  for (key.slice = 0; key.slice < last.key.slice; ++key.slice) live_.stashes.at(key).make_key_grads();
}

/// Sequence slices read the keys of those before them.
void DeviceWorker::find_earlier(RunningPart& running) {
  if (!plan_.program.parts.causal()) return;
  StashKey key = running.key;
  for (key.slice = 0; key.slice < running.key.slice; ++key.slice) {
    StageStash& stash = live_.stashes.at(key);
    running.earlier.push_back({&stash.layout(), stash.blocks()});
  }
  running.blocks = live_.stashes.at(running.key).blocks();
  running.blocks.earlier = running.earlier.data();
  running.blocks.earlier_count = running.earlier.size();
}

void DeviceWorker::compute(InstrIndex at) {
  HolderState& holder = holders_.at(holder_index(at));
  const Op op = plan_.program.instrs[at].action.op;
  if (op == Op::kU) {
    collect(at, holder);
    holder.teacher_weights(update_of(at) + 1);
    plan_.validation.any() ? propose(at, holder) : holder.update(plan_.looked_back_at(at));
  } else if (joins_collective(op)) {
    reduce(at, holder);
    if (op == Op::kSyncWeights) collect(at, holder);
  } else if (op == Op::kEvict) {
    evict(at);
  } else if (op == Op::kV) {
    validate(at, holder);
  } else if (plan_.is_pass(at)) {
    compute_pass(at, holder);
  }
}

void DeviceWorker::compute_pass(InstrIndex at, HolderState& holder) {
  const Action& action = plan_.program.instrs[at].action;
  PassArguments pass{.frozen = holder.frozen(), .gradients = holder.gradients()};
  if (reads_weights(action.op)) {
    const bool newest = plan_.program.version_read.empty();
    const std::int32_t version = newest ? holder.version() : plan_.program.version_read[at];
    pass.weights = holder.weights(plan_.weight_read(at, version));
    versions_read_.push_back({action, version});
  } else if (action.op == Op::kX) {
    pass.weights = holder.teacher_weights(update_of(at));
  }
  std::vector<RunningPart>& parts = running_.at(at);
  for (RunningPart& running : parts) {
    if (action.op != Op::kW) find_earlier(running);
  }
  // Sequence slices go back in reverse order.
  if (is_backward(action.op) && plan_.program.parts.causal()) {
    for (auto running = parts.rbegin(); running != parts.rend(); ++running) compute_part(at, holder, *running, pass);
  } else {
    for (const RunningPart& running : parts) compute_part(at, holder, running, pass);
  }
}

void DeviceWorker::compute_part(InstrIndex at, HolderState& holder, const RunningPart& running, PassArguments pass) {
  const Op op = plan_.program.instrs[at].action.op;
  pass.blocks = running.blocks;
  if (op != Op::kF) pass.blocks[StageBlock::kKeys] = nullptr;  // the keys of F remain
  const std::int64_t microbatch = first_microbatch_ + running.key.microbatch;
  const bool again = plan_.row(at).recompute && is_backward(op);
  const bool forward = is_forward(op) || op == Op::kR || again;
  const bool sees_data = forward && holder.layout().reads_data;
  PartData data;
  double loss = 0;
  const bool ends = op == Op::kF && holder.layout().last;
  const std::size_t slices = plan_.program.parts.slices(static_cast<std::size_t>(running.key.microbatch));
  const auto slice = static_cast<std::size_t>(running.key.slice);
  if (sees_data) {
    data = outputs_.data.part(microbatch, plan_.places[running.part],
                              plan_.loss_tokens(static_cast<std::size_t>(running.key.microbatch)));
    pass.ids = data.ids;
    pass.loss = &loss;
    if (outputs_.queue != nullptr) pass.ids = outputs_.queue->keep(std::move(data));
    if (outputs_.queue != nullptr) pass.loss = ends ? outputs_.queue->loss() : nullptr;
    if (plan_.program.has_teacher) pass.ids.soft = soft_targets(op, running);
  }
  StageBackend& backend = holder.backend(running.part);
  if (again) backend.run(Op::kR, pass);
  const bool passes_on = op == Op::kR && plan_.segment(at).passes;
  backend.run(passes_on ? Op::kF : op, pass);
  if (plan_.options.hooks.on_gradients && (op == Op::kB || op == Op::kW)) show_gradients(holder, microbatch);
  if (!ends) return;
  if (outputs_.queue != nullptr) return outputs_.queue->note_loss({microbatch, slice, slices, 0});
  outputs_.losses.add(microbatch, slice, slices, loss);
}

void DeviceWorker::show_gradients(HolderState& holder, std::int64_t microbatch) {
  const std::span<std::byte> there(holder.gradients(), static_cast<std::size_t>(holder.layout().memory.gradient_bytes));
  std::vector<std::byte> scratch;
  const std::span<const std::byte> seen = arena_.memory().view(there, scratch);
  const bool here = seen.data() == there.data();
  plan_.options.hooks.on_gradients(holder.stage(), microbatch, here ? there : std::span<std::byte>(scratch));
  if (!here) arena_.memory().write(there.data(), scratch);
}

void DeviceWorker::end(InstrIndex at) {
  HolderState& holder = holders_.at(holder_index(at));
  const Op op = plan_.program.instrs[at].action.op;
  if (op == Op::kU) {
    holder.end_update();
  } else if (op == Op::kV) {
    spare_.clear();
  } else if (plan_.is_pass(at)) {
    for (const RunningPart& running : running_.at(at)) end_part(at, running);
  }
  for (const std::uint32_t kept : plan_.last_read.of(at)) holder.drop(plan_.program.kept_versions[kept].version);
}

void DeviceWorker::end_part(InstrIndex at, const RunningPart& running) {
  const Op op = plan_.program.instrs[at].action.op;
  const auto stash = live_.stashes.find(running.key);
  if (is_forward(op)) hand_over(at, running, stash->second.end_forward());
  if (op == Op::kI) hand_over(at, running, stash->second.end_input_grad());
  if (op == Op::kB) hand_over(at, running, stash->second.end_backward());
  if (op == Op::kW) stash->second.end_weight_grad();
  if (op == Op::kR) hand_over(at, running, stash->second.end_recompute());
  if (op == Op::kB || op == Op::kW || op == Op::kX) live_.stashes.erase(stash);
  if (op == Op::kF) forget_teacher(running);
  if (plan_.program.forward_only) forget_forward(running.key);
}

/// Frees what remains of a forward without backwards: nothing, but the keys of a sequence slice until the last slice is
/// through.
void DeviceWorker::forget_forward(StashKey last) {
  const PartTable& parts = plan_.program.parts;
  const auto slices = static_cast<std::int16_t>(parts.slices(static_cast<std::size_t>(last.microbatch)));
  if (!parts.causal()) live_.stashes.erase(last);
  if (!parts.causal() || last.slice + 1 != slices) return;
  for (last.slice = 0; last.slice < slices; ++last.slice) live_.stashes.erase(last);
}

void DeviceWorker::send(InstrIndex at) {
  for (const std::uint32_t transfer : plan_.indexed.issued().of(at)) {
    if (plan_.program.is_move(transfer)) continue;
    outputs_.transport.send(transfer, live_.send_buffers[transfer]);
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
    if (changed[cls]) memory_.emplace_back(time, static_cast<MemoryClass>(cls), bytes[cls]);
  }
}

}  // namespace plumb
