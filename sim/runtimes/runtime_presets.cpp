#include "sim/runtimes/runtime_presets.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/ground/error.hpp"
#include "models/ground/plain_name.hpp"
#include "models/sources/run_profile.hpp"
#include "schedules/checks/validate.hpp"
#include "schedules/document/first_stages.hpp"
#include "schedules/document/schedule.hpp"
#include "schedules/document/walk.hpp"
#include "schedules/formats/torch_lowering.hpp"
#include "sim/runtimes/single_classes.hpp"

namespace plumb {
namespace {

/// Returns whether its result, or what it takes, is a message.
bool is_pass(const Action& action) { return action.op == Op::kF || is_backward(action.op); }

/// Returns the number of passes in the turn that begins with `passes`: two where a backward follows a forward.
std::size_t turn_length(std::span<const Action* const> passes) {
  return passes.size() > 1 && passes[0]->op == Op::kF && passes[1]->op != Op::kF ? 2 : 1;
}

class ExchangeWriter {
 public:
  ExchangeWriter(std::int32_t num_stages, std::vector<Action>& out) : num_stages_(num_stages), out_(out) {}

  /// Writes what `before` made and `next` takes, in Megatron-LM's order: with the previous stage, then with the next.
  void write(std::span<const Action* const> before, std::span<const Action* const> next) {
    add(before, Op::kSendB);
    add(next, Op::kRecvF);
    add(before, Op::kSendF);
    add(next, Op::kRecvB);
  }

 private:
  /// A message of that op for the passes that have one.
  void add(std::span<const Action* const> passes, Op op) {
    const bool activation = op == Op::kSendF || op == Op::kRecvF;
    const bool behind = op == Op::kSendF || op == Op::kRecvB;
    for (const Action* action : passes) {
      const auto stage = static_cast<std::int32_t>(action->stage);
      if ((action->op == Op::kF) != activation || (behind ? stage + 1 >= num_stages_ : stage == 0)) continue;
      Action message = *action;
      message.op = op;
      out_.push_back(message);
    }
  }

  std::int32_t num_stages_;
  std::vector<Action>& out_;
};

DeviceList with_exchanges(const DeviceList& list, std::int32_t num_stages) {
  std::vector<Action> actions;
  walk(list, [&](const Action& action) { actions.push_back(action); });
  std::vector<const Action*> passes;
  for (const Action& action : actions) {
    if (is_pass(action)) passes.push_back(&action);
  }
  DeviceList result = list;
  result.actions.clear();
  result.repeats.clear();
  ExchangeWriter writer(num_stages, result.actions);
  std::span<const Action* const> before;
  std::span<const Action* const> rest = passes;
  for (const Action& action : actions) {
    if (!rest.empty() && &action == rest.front()) {
      const auto turn = rest.first(turn_length(rest));
      writer.write(before, turn);
      before = turn;
      rest = rest.subspan(turn.size());
    }
    result.actions.push_back(action);
    if (rest.empty() && !before.empty() && &action == before.back()) writer.write(std::exchange(before, {}), {});
  }
  return result;
}

/// Returns the schedule with its messages where Megatron-LM puts them that does not hide them
/// (`--no-overlap-p2p-communication`, `send_forward_backward_recv_forward_backward`): between two turns of a device
/// stands one exchange of all that the turn before made and all that the next one takes. A turn is a forward of the
/// warm-up, then a forward and the backward behind it, then a backward.
///
/// A schedule that has its own messages stays.
Schedule with_exchanges_between_turns(Schedule schedule) {
  const bool has_messages = std::ranges::any_of(schedule.devices, [](const DeviceList& list) {
    return std::ranges::any_of(list.actions, [](const Action& a) { return is_send(a.op) || is_recv(a.op); });
  });
  if (has_messages) return schedule;
  for (DeviceList& list : schedule.devices) list = with_exchanges(list, schedule.num_stages);
  return schedule;
}

/// PyTorch's gathers and reductions take turns with the messages, so they are taken out only afterwards.
Schedule with_own_messages(const Schedule& schedule) {
  Schedule lowered = torch_lowered(schedule);
  for (DeviceList& list : lowered.devices) {
    std::erase_if(list.actions, [](const Action& action) { return is_collective(action.op); });
  }
  return lowered;
}

bool has_action(const Schedule& schedule, bool (*is_one)(const Action&)) {
  return std::ranges::any_of(schedule.devices,
                             [&](const DeviceList& list) { return std::ranges::any_of(list.actions, is_one); });
}

/// Returns whether it has overlapped pairs, and leaves it to the runtime where messages and gathers stand.
bool leaves_messages_of_pairs(const Schedule& schedule) {
  return has_action(schedule, [](const Action& action) { return action.overlaps_next != 0; }) &&
         !has_action(schedule, [](const Action& action) {
           return is_send(action.op) || is_recv(action.op) || is_collective(action.op);
         });
}

/// Returns the schedule with its sends and receives where PyTorch's `defer_pp_recv` puts them; an order with messages
/// of its own stays. Throws `Error`, which names `runtime`, where PyTorch would take one message for another: messages
/// between two ranks have no names there, and gradients would be wrong.
Schedule with_deferred_receives(const Schedule& schedule, std::string_view runtime) {
  Schedule lowered = torch_lowered(schedule, {.collectives = false, .late_receives = true});
  const auto findings = validate(lowered);
  if (findings.empty()) return lowered;
  throw Error("--runtime " + std::string(runtime) + ": PyTorch would take messages of '" + schedule.name +
              "' for each other: " + to_string(findings.front()));
}

/// Returns the schedule with its sends and receives where PyTorch puts them, if it has overlapped pairs, whose results
/// are sent when both halves are done. Any other schedule, and one that has its own messages or gathers, stays.
Schedule with_messages_of_pairs(Schedule schedule) {
  return leaves_messages_of_pairs(schedule) ? with_own_messages(schedule) : std::move(schedule);
}

using For = RuntimePreset::For;

/// Sends are waited for at the end of the step only.
constexpr std::int32_t kNoSendLimit = std::numeric_limits<std::int32_t>::max();

constexpr std::array kPresets{
    RuntimePreset{.name = "plumbline",
                  .what = "a message starts when its data exists; receives are posted one action ahead"},
    RuntimePreset{
        .name = "pytorch",
        .transfers = TransferMode::kRendezvous,
        .receives = ReceivePlacement::kOnSend,
        .send_buffers = kNoSendLimit,
        .skips_first_input_grad = true,
        .pairs_in_turn = true,
        .format = "torch-comms",
        .what = "_PipelineScheduleRuntime 2.14: receives are posted where its lowering puts them, sends are waited for "
                "at the end of the step, the first stage has no I"},
    RuntimePreset{.name = "pytorch-deferred",
                  .transfers = TransferMode::kRendezvous,
                  .receives = ReceivePlacement::kOnSend,
                  .send_buffers = kNoSendLimit,
                  .skips_first_input_grad = true,
                  .pairs_in_turn = true,
                  .defers_receives = true,
                  .format = "torch-comms-late",
                  .what = "the same with defer_pp_recv: a receive is posted just before what takes it. Orders whose "
                          "messages PyTorch would then take for each other are refused"},
    RuntimePreset{
        .name = "pytorch-single",
        .schedules = For::kGPipe,
        .transfers = TransferMode::kRendezvous,
        .receives = ReceivePlacement::kLate,
        .send_buffers = kNoSendLimit,
        .skips_first_input_grad = true,
        .format = "torch-comms",
        .runs_files_as = "pytorch",
        .what = "ScheduleGPipe of PyTorch 2.14: sends are waited for when all forwards, or all backwards, are done"},
    RuntimePreset{
        .name = "pytorch-single",
        .transfers = TransferMode::kBatched,
        .receives = ReceivePlacement::kLate,
        .send_buffers = 1,
        .skips_first_input_grad = true,
        .format = "torch-comms",
        .runs_files_as = "pytorch",
        .what = "Schedule1F1B of PyTorch 2.14: every send is waited for before the next one, or with the receive that "
                "it is fused with"},
    RuntimePreset{.name = "torchtitan",
                  .schedules = For::kGPipe,
                  .transfers = TransferMode::kRendezvous,
                  .receives = ReceivePlacement::kLate,
                  .send_buffers = kNoSendLimit,
                  .skips_first_input_grad = true,
                  .format = "torch-csv",
                  .what = "torchtitan with GPipe: as pytorch-single"},
    RuntimePreset{.name = "torchtitan",
                  .schedules = For::k1F1B,
                  .transfers = TransferMode::kBatched,
                  .receives = ReceivePlacement::kLate,
                  .send_buffers = 1,
                  .skips_first_input_grad = true,
                  .format = "torch-csv",
                  .what = "torchtitan with 1F1B: as pytorch-single"},
    RuntimePreset{.name = "torchtitan",
                  .transfers = TransferMode::kRendezvous,
                  .receives = ReceivePlacement::kOnSend,
                  .send_buffers = kNoSendLimit,
                  .skips_first_input_grad = true,
                  .pairs_in_turn = true,
                  .format = "torch-csv",
                  .what = "torchtitan with several stages per rank, or an order from a CSV: as pytorch"},
    RuntimePreset{
        .name = "megatron",
        .schedules = For::kOneChunk,
        .transfers = TransferMode::kBatched,
        .receives = ReceivePlacement::kLate,
        .send_buffers = 1,
        .format = "megatron",
        .what = "Megatron-LM without interleaving: the send of one step and the receive of the next are fused"},
    RuntimePreset{.name = "megatron",
                  .schedules = For::kSeveralChunks,
                  .transfers = TransferMode::kRendezvous,
                  .receives = ReceivePlacement::kAhead,
                  .send_buffers = 1,
                  .format = "megatron",
                  .what = "Megatron-LM interleaved with overlapped transfers: the receive of a step is posted one step "
                          "before"},
    RuntimePreset{.name = "megatron-batched",
                  .schedules = For::kOneChunk,
                  .transfers = TransferMode::kBatched,
                  .receives = ReceivePlacement::kLate,
                  .send_buffers = 1,
                  .format = "megatron",
                  .what = "Megatron-LM without interleaving: as megatron"},
    RuntimePreset{.name = "megatron-batched",
                  .schedules = For::kSeveralChunks,
                  .transfers = TransferMode::kBatched,
                  .receives = ReceivePlacement::kLate,
                  .send_buffers = 1,
                  .exchanges_between_turns = true,
                  .format = "megatron",
                  .what = "Megatron-LM with --no-overlap-p2p-communication: one call behind each forward and backward "
                          "exchanges with both neighbours"},
    RuntimePreset{.name = "zero-bubble",
                  .transfers = TransferMode::kRendezvous,
                  .receives = ReceivePlacement::kOnSend,
                  .send_buffers = kNoSendLimit,
                  .what = "the zero-bubble fork of Megatron-LM: its runtime places every send and receive in the order "
                          "of the whole pipeline, and waits for sends at the end of the step only"},
    RuntimePreset{.name = "deepspeed",
                  .transfers = TransferMode::kBatched,
                  .receives = ReceivePlacement::kLate,
                  .send_buffers = 1,
                  .what = "DeepSpeed's TrainSchedule: neighbours exchange the results of one step before the next one, "
                          "and wait for both"},
};

bool serves(const RuntimePreset& preset, const Schedule& schedule) {
  switch (preset.schedules) {
    case For::kAll:
      return true;
    case For::kOneChunk:
      return schedule.num_stages <= schedule.num_devices;
    case For::kSeveralChunks:
      return schedule.num_stages > schedule.num_devices;
    case For::kGPipe:
      return single_class_of(schedule) == SingleClass::kGPipe;
    case For::k1F1B:
      return single_class_of(schedule) == SingleClass::k1F1B;
  }
  return false;
}

}  // namespace

std::span<const RuntimePreset> runtime_presets() { return kPresets; }

std::vector<std::string_view> runtime_names() {
  std::vector<std::string_view> names;
  for (const RuntimePreset& preset : kPresets) {
    if (names.empty() || names.back() != preset.name) names.push_back(preset.name);
  }
  return names;
}

std::string_view runtime_called(std::string_view plain) {
  static constexpr std::array<std::string_view, 6> kOfMegatron{"megatroncore", "megatronbridge", "mcore",
                                                               "nemo",         "primus",         "megatronlm"};
  if (std::ranges::find(kOfMegatron, plain) != kOfMegatron.end()) return "megatron";
  return plain == "torch" || plain == "pippy" ? "pytorch" : plain;
}

const RuntimePreset& runtime_preset(std::string_view name, const Schedule& schedule) {
  if (name.empty()) return kPresets.front();
  const std::string plain(runtime_called(plain_name(name)));
  for (const RuntimePreset& preset : kPresets) {
    if (plain_name(preset.name) == plain && serves(preset, schedule)) return preset;
  }
  throw_unknown("runtime", dashed_name(name), runtime_names());
}

std::string_view runtime_after(std::string_view traced, const Schedule& schedule) {
  const RuntimePreset& preset = runtime_preset(traced, schedule);
  return preset.runs_files_as.empty() || single_class_of(schedule) != SingleClass::kNone ? traced
                                                                                         : preset.runs_files_as;
}

void run_as(const RuntimePreset& preset, Schedule& schedule, StageCosts& costs) {
  if (preset.exchanges_between_turns) {
    schedule = with_exchanges_between_turns(std::move(schedule));
  } else if (preset.defers_receives) {
    schedule = with_deferred_receives(schedule, preset.name);
  } else if (preset.pairs_in_turn) {
    schedule = with_messages_of_pairs(std::move(schedule));
  }
  if (preset.skips_first_input_grad) skip_input_grads(costs, first_stages(schedule));
  if (!preset.pairs_in_turn) return;
  for (DeviceList& list : schedule.devices) {
    for (Action& action : list.actions) action.overlaps_next = 0;
  }
}

LowerOptions lowering_of(const RuntimePreset& preset) {
  return {.receives = preset.receives,
          .send_buffers = preset.send_buffers,
          .messages = &preset != &runtime_presets().front()};
}

}  // namespace plumb
