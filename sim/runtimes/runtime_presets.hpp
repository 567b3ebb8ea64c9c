#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "models/costs/stage_costs.hpp"
#include "schedules/document/schedule.hpp"
#include "schedules/lowering/lower.hpp"
#include "sim/rules/sim_options.hpp"

namespace plumb {

/// How a system sends and receives messages: one row of the table of presets.
struct RuntimePreset {
  std::string_view name;  ///< as in `--runtime`
  /// Schedules that the row is for: those with one stage per device or several (Megatron), the orders that PyTorch has
  /// a class for. Of several rows of a name the first one that fits counts.
  enum class For : std::uint8_t { kAll, kOneChunk, kSeveralChunks, kGPipe, k1F1B } schedules = For::kAll;
  TransferMode transfers = TransferMode::kBuffered;
  ReceivePlacement receives = ReceivePlacement::kAhead;
  std::int32_t send_buffers = 2;         ///< messages in flight per channel before the sender waits
  bool skips_first_input_grad = false;   ///< the first stage has no I: its W is the whole backward
  bool pairs_in_turn = false;            ///< the halves of an overlapped pair run one after the other
  bool exchanges_between_turns = false;  ///< messages stand where Megatron-LM puts them that does not hide them
  bool defers_receives = false;          ///< receives stand where PyTorch's `defer_pp_recv` puts them
  std::string_view format = {};         ///< format of the schedules that it can be given, as in `--format`; empty: none
  std::string_view runs_files_as = {};  ///< the preset of what runs such a file; empty: this one
  std::string_view what;                ///< which part of the system it models
};

/// Returns all rows, `plumbline` (the defaults) first.
std::span<const RuntimePreset> runtime_presets();

/// Their names, each once.
std::vector<std::string_view> runtime_names();

/// Returns the runtime of a system that runs pipelines by another one's rules: "nemo" as "megatron". `plain` is a
/// `plain_name`; others come back as they are.
std::string_view runtime_called(std::string_view plain);

/// Returns the row called `name` for `schedule`; empty: `plumbline`. Throws `Error` for unknown names, with the nearest
/// one.
const RuntimePreset& runtime_preset(std::string_view name, const Schedule& schedule);

/// Returns what runs `schedule` where a run of the runtime called `traced` was traced: this runtime, or what runs files
/// (`runs_files_as`) where PyTorch's classes 1F1B and GPipe were traced and `schedule` is none of theirs, because it
/// has its own messages, several stages per device, or another order. Empty stays empty.
std::string_view runtime_after(std::string_view traced, const Schedule& schedule);

/// What the system does with the actions of `schedule` and their costs: its own places for messages
/// (torch_messages.hpp, megatron_messages.hpp), pairs in turn, no I on the first stage. Throws `Error` for an order
/// that the system would run wrongly.
void run_as(const RuntimePreset& preset, Schedule& schedule, StageCosts& costs);

/// Returns how its messages travel.
LowerOptions lowering_of(const RuntimePreset& preset);

}  // namespace plumb
