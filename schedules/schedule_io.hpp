#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "schedules/schedule.hpp"

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

/// Reads PyTorch CSV (compute-only or with transfers; both letter dialects; LF or CR LF).
Schedule schedule_from_torch_csv(std::string_view text, std::string_view file_name);

/// One line per device, actions in order: `d0: 0F0 0F1 0B0`.
std::string schedule_to_text(const Schedule& schedule);

}  // namespace plumb
