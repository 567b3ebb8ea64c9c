#include "sim/runtimes/runtime_presets.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <vector>

#include "models/ground/error.hpp"
#include "models/ground/plain_name.hpp"
#include "models/sources/run_profile.hpp"
#include "schedules/document/first_stages.hpp"
#include "sim/runtimes/megatron_messages.hpp"
#include "sim/runtimes/single_classes.hpp"
#include "sim/runtimes/torch_messages.hpp"

namespace plumb {
namespace {

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
