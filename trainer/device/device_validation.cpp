#include <algorithm>
#include <utility>

#include "trainer/device/device_worker.hpp"

namespace plumb {

/// Room that the forwards after the update may need once more.
void DeviceWorker::begin_validation(InstrIndex at) {
  const StageMemory& memory = holders_.at(holder_index(at)).layout().memory;
  const bool again = plan_.row(at).recompute;
  const std::int64_t workspace = std::max(memory.workspace_u_bytes, again ? memory.workspace_f_bytes : 0);
  spare_.push_back(arena_.allocate(MemoryClass::kWorkspace, workspace));
  if (again) spare_.push_back(arena_.allocate(MemoryClass::kTransfer, memory.output_bytes + memory.input_bytes));
}

/// Returns what holder `own` decides with the norms of the holders in `known` (by stage).
UpdateDecision DeviceWorker::decision(std::span<const std::uint32_t> known, std::uint32_t own,
                                      std::int32_t update) const {
  std::vector<std::vector<double>> squared;
  for (const std::uint32_t holder : known) {
    const bool unknown = holder == ValidationPlan::kNobody;
    squared.push_back(unknown ? std::vector<double>()
                              : norms_from(outputs_.transport.published(holder, update, device_)).squared);
  }
  const GradientClip clip{plan_.options.optimization.clip_norm, plan_.options.optimization.clip_scope};
  const double scale = norms_from(outputs_.transport.published(own, update, device_)).scale;
  return decide(clip, scale, squared, index(plan_.program.holders[own].stage));
}

/// U with what is known of the norms; where V follows at once, it makes the update.
void DeviceWorker::propose(InstrIndex at, HolderState& holder) {
  const std::uint32_t number = holder_index(at);
  const auto update = static_cast<std::int32_t>(plan_.program.instrs[at].action.microbatch);
  outputs_.transport.publish(number, update, to_bytes({holder.gradient_scale(), holder.squared_norms()}));
  if (plan_.replaced.of(at).empty()) return holder.propose(std::nullopt);
  holder.propose(decision(plan_.validation.known(at), number, update));
}

void DeviceWorker::validate(InstrIndex at, HolderState& holder) {
  const ValidationPlan::Window& window = plan_.validation.window(at);
  holder.validate(decision(plan_.validation.known(at), holder_index(at), window.number));
  if (!was_wrong(at)) return;
  if (!pending_reruns_) {
    const auto messages = plan_.validation.messages_to(device_, window.number);
    pending_reruns_ = PendingReruns{window.number, {}, {messages.begin(), messages.end()}};
  }
  std::vector<InstrIndex>& forwards = pending_reruns_->forwards;
  forwards.insert(forwards.end(), window.forwards.begin(), window.forwards.end());
  std::ranges::sort(forwards);
}

/// Returns whether any stage has decided otherwise than all norms together tell. All devices find the same.
bool DeviceWorker::was_wrong(InstrIndex validation) const {
  const std::int32_t number = plan_.validation.window(validation).number;
  return std::ranges::any_of(plan_.validation.updates(number), [&](InstrIndex update) {
    if (plan_.replaced.of(update).empty()) return false;
    const std::uint32_t holder = holder_index(update);
    return decision(plan_.validation.known(update), holder, number) !=
           decision(plan_.validation.known(validation), holder, number);
  });
}

bool DeviceWorker::must_rerun() const {
  if (!pending_reruns_) return false;
  const InstrIndex end = plan_.program.lane_begin[index(device_) + 1];
  return position_ == end || plan_.row(position_).op != Op::kV;
}

void DeviceWorker::rerun_forwards() {
  if (!pending_reruns_) return;
  for (const std::uint32_t transfer : pending_reruns_->messages) outputs_.transport.await_again(transfer);
  for (const InstrIndex forward : pending_reruns_->forwards) run_again(forward);
  pending_reruns_.reset();
}

/// The forward once more, on the stash that it has made: with the weights as they are now, and its input as it came
/// again.
void DeviceWorker::run_again(InstrIndex forward) {
  HolderState& holder = holders_.at(holder_index(forward));
  const std::vector<std::byte> message = message_again(forward);
  std::span<const std::byte> rest = message;
  std::vector<std::byte> outputs;
  PassArguments pass{.weights = holder.weights(holder.version()), .frozen = holder.frozen()};
  const Action& action = plan_.program.instrs[forward].action;
  plan_.program.parts.for_each(action, [&](std::size_t microbatch, std::size_t slice, std::size_t part) {
    RunningPart running;
    running.key = {holder_index(forward), static_cast<std::int32_t>(microbatch), static_cast<std::int16_t>(slice)};
    running.part = part;
    const StageMemory& memory = live_.stashes.at(running.key).layout().memory;
    const Block workspace = arena_.allocate(MemoryClass::kWorkspace, memory.workspace_f_bytes);
    const Block output = arena_.allocate(MemoryClass::kTransfer, memory.output_bytes);
    running.blocks = live_.stashes.at(running.key).blocks();
    find_earlier(running);
    const auto bytes = message.empty() ? 0 : static_cast<std::size_t>(memory.input_bytes);
    const Block input = input_again(running, rest.first(bytes));
    rest = rest.subspan(bytes);
    running.blocks[StageBlock::kWorkspace] = workspace.data();
    running.blocks[StageBlock::kOutput] = output.data();
    compute_part(forward, holder, running, pass);
    hand_over_again(forward, running, output);
    std::vector<std::byte> scratch;
    const std::span<const std::byte> made = arena_.memory().view(output.span(), scratch);
    outputs.insert(outputs.end(), made.begin(), made.end());
  });
  for (const std::uint32_t transfer : plan_.indexed.made().of(forward)) {
    if (!plan_.program.is_move(transfer)) outputs_.transport.send_again(transfer, outputs);
  }
}

/// Returns the input of a forward that came again, its parts one after the other; empty when it has none, or had it
/// already.
std::vector<std::byte> DeviceWorker::message_again(InstrIndex forward) {
  for (const Wait& wait : plan_.waits(forward)) {
    if (!is_for_message(wait)) continue;
    std::vector<std::byte> message(static_cast<std::size_t>(plan_.program.transfers[wait.via].bytes));
    if (outputs_.transport.take_again(wait.via, message)) return message;
  }
  return {};
}

/// Puts the input where the stash has it, or, where it has let go of it, into a block for this once.
Block DeviceWorker::input_again(RunningPart& running, std::span<const std::byte> message) {
  Block input;
  if (message.empty()) return input;
  std::byte* place = running.blocks[StageBlock::kInput];
  if (place == nullptr) {
    input = arena_.allocate(MemoryClass::kTransfer, static_cast<std::int64_t>(message.size()));
    place = running.blocks[StageBlock::kInput] = input.data();
  }
  arena_.memory().write(place, message);
  return input;
}

/// A value that waits on this device for the next stage.
void DeviceWorker::hand_over_again(InstrIndex forward, const RunningPart& running, const Block& output) {
  const StageId next{static_cast<std::int32_t>(plan_.program.instrs[forward].action.stage) + 1};
  const ValueKey key{Op::kF, next, MicrobatchId{running.key.microbatch}, running.key.slice};
  const auto value = live_.values.find(key);
  if (value != live_.values.end()) arena_.memory().copy(value->second.data(), output.span());
}

}  // namespace plumb
