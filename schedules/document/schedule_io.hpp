#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/ground/error.hpp"
#include "schedules/document/schedule.hpp"

namespace plumb {

/// The action's text: `[replica:]stage OP [microbatch][.slice][@where]` (replica only when not 0).
std::string to_string(const Action& action);

/// Parses one action's text; the whole text must match. Throws `Error` naming `where` otherwise.
Action parse_action(std::string_view text, std::string_view where);

/// The schedule document (JSON, version 1). Repeat blocks stay folded.
std::string schedule_to_json(const Schedule& schedule);

/// Reads a document. Throws `Error` with line and column for broken JSON, with the path of the value for wrong types,
/// unknown keys and values out of range. Checks the form only; `validate` checks the meaning.
Schedule schedule_from_json(std::string_view text, std::string_view file_name);

/// Compute-only PyTorch CSV: one line per device, CR LF, no final blank line.
std::string schedule_to_torch_csv(const Schedule& schedule);

/// Throws `Error` with the first reason why PyTorch's runtime cannot be given the schedule as CSV: replicas, stages on
/// several devices or not in a chain, stale weights, several updates, slices, unequal microbatches, recomputation,
/// waits beside those for data, a run-time policy, actions that it has no word for.
void check_torch_writable(const Schedule& schedule);

/// PyTorch CSV with the transfers and collectives that the lists hold ("compute_comms"); updates are left out.
std::string schedule_to_torch_comms_csv(const Schedule& schedule);

/// Reads PyTorch CSV (compute-only or with transfers; LF or CR LF). If the older letters were translated,
/// `parameters` has the entry "letters".
Schedule schedule_from_torch_csv(std::string_view text, std::string_view file_name);

/// For every line of a PyTorch CSV the number of the cell (from 1) that each action stands in.
std::vector<std::vector<std::size_t>> torch_csv_cells(std::string_view text);

/// Reads the instruction lists of DeepSpeed's `PipeSchedule`: one block per stage, begun by `stage N:` or an empty
/// line, with texts such as `ForwardPass(buffer_id=0)` (schedules/formats/FORMATS.md). Throws `Error` with the line.
Schedule schedule_from_deepspeed(std::string_view text, std::string_view file_name);

/// A Python module with the literal table of (type, microbatch, chunk) that a scheduler of the zero-bubble fork of
/// Megatron-LM returns. Refuses what PyTorch's CSV cannot hold.
std::string schedule_to_zero_bubble_table(const Schedule& schedule);

/// One line per device, actions in order and repeats written out: `d0: 0F0 0F1 0B0`.
std::string lists_to_text(const Schedule& schedule);

/// The lists as `lists_to_text` writes them; before them a line `key: JSON` for
/// every member of the document that the lists do not tell (FORMAT.md, "Text"). Throws `Error` for a run-time policy,
/// which has no lists.
std::string schedule_to_text(const Schedule& schedule);

/// The mistakes of a text, and the lists without the items that cannot be read.
class PartlyRead : public Errors {
 public:
  /// `lines`: by device, the line (from 1) on which its list stands.
  PartlyRead(const std::vector<std::string>& messages, Schedule part, std::vector<std::size_t> lines)
      : Errors(messages), part_(std::move(part)), lines_(std::move(lines)) {}

  const Schedule& part() const { return part_; }
  std::size_t line_of(DeviceId device) const { return lines_[index(device)]; }

 private:
  Schedule part_;
  std::vector<std::size_t> lines_;
};

/// Reads that. What `schedule_to_text` writes is read back as the same schedule, repeats written out. Throws `Error`
/// with the line, and `PartlyRead` where only items of lists and the beginnings of lines cannot be read.
Schedule schedule_from_text(std::string_view text, std::string_view file_name);

}  // namespace plumb
