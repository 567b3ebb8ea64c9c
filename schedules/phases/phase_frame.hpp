#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/catalogue/recompute_option.hpp"
#include "schedules/catalogue/schedule_params.hpp"
#include "schedules/document/schedule.hpp"
#include "schedules/phases/phase_lines.hpp"
#include "schedules/phases/whole_expression.hpp"

namespace plumb {

/// What rules say once for all devices, for given sizes: who holds what, and which microbatches there are.
struct PhaseFrame {
  std::int32_t devices = 0;
  std::int32_t chunks = 1;
  std::int32_t copies = 1;
  std::int64_t updates = 1;           ///< of the whole schedule
  bool whole = false;                 ///< lists cover all updates; otherwise one, which is repeated
  std::int64_t slices = 1;            ///< of every microbatch
  bool sliced = false;                ///< passes name their slice
  std::vector<std::int64_t> lengths;  ///< of slices; empty: equal
  bool forward_only = false;
  std::int64_t update_every = 0;     ///< backwards of a stage, behind which it is updated; 0: rules say it themselves
  RecomputeChoice recompute;         ///< what the option `recompute` asks for, where the rules offer it
  WholeNames names;                  ///< p, m, v, u and the options; "OPTION is WORD" for each of its words
  std::vector<std::int32_t> stages;  ///< of copy, then chunk, then device; -1: the device holds none

  /// Microbatches by copy: those that there are in a list; those that it is written for.
  std::vector<std::int64_t> real;
  std::vector<std::int64_t> written;
  PlacedExpression item;                   ///< the microbatch of number i of copy r; none: i
  std::optional<std::int64_t> stride = 1;  ///< from one microbatch of a copy to the next, where it is always the same
  std::vector<std::int64_t> first;         ///< microbatch of a copy, where there is such a stride

  std::size_t place(std::int32_t copy, std::int64_t chunk) const {
    return static_cast<std::size_t>(copy) * static_cast<std::size_t>(chunks) + static_cast<std::size_t>(chunk);
  }
  std::int32_t stage(std::int32_t copy, std::int64_t chunk, std::int32_t device) const {
    return stages[place(copy, chunk) * static_cast<std::size_t>(devices) + static_cast<std::size_t>(device)];
  }
};

/// The last one whose condition holds; null: none.
const PlacedText* chosen_text(const PlacedTexts& texts, const WholeNames& names);

/// Throws `Error` where `need` lines at the beginning do not hold.
void check_needs(const PhaseRules& rules, std::string_view file_name, const WholeNames& names);

/// What such a line says, the values of {expressions} put in.
std::string said_of_need(const PhaseStatement& need, std::string_view file_name, const WholeNames& names);

/// Throws `Error` for another number of chunks per device than the rules have.
void check_chunks(const PhaseRules& rules, std::string_view file_name, const ScheduleParams& params);

/// Throws `Error` with the line for options that the rules do not have, sizes out of range and stages that no device
/// or several hold.
PhaseFrame phase_frame(const PhaseRules& rules, std::string_view file_name, const ScheduleParams& params);

/// The schedule without its lists. Notes in `frame` which forwards lists run again.
Schedule framed_schedule(const PhaseRules& rules, PhaseFrame& frame, std::string_view name,
                         const ScheduleParams& params);

}  // namespace plumb
