#pragma once

#include <iterator>
#include <utility>
#include <vector>

#include "schedules/program/program.hpp"
#include "schedules/program/program_index.hpp"
#include "sim/lanes/idle_causes.hpp"
#include "sim/lanes/metrics.hpp"
#include "sim/memory/stash.hpp"
#include "sim/rules/run_times.hpp"
#include "sim/rules/sim_options.hpp"
#include "sim/timeline/timeline.hpp"

namespace plumb {

/// Reads compute lanes front to back and adds up what a timeline holds of every device: busy and useful time, first
/// start, last end, the idle causes between them (`options.idle_causes`), the peak of activations, and the spans
/// (`options.spans`). Lanes may be read in parts, and times after the part read may still change.
class LaneReader {
 public:
  /// All must outlive this. Clears `timeline.devices`.
  LaneReader(const ProgramIndex& indexed, const RunTimes& times, const SimOptions& options, Timeline& timeline);

  /// Reads on to `until`, between units.
  void read(std::size_t lane, InstrIndex until);

  /// Stashes held at the position reached, in the units of `StashChanges`, and their change by what is not read one by
  /// one.
  std::int64_t stash(std::size_t lane) const { return places_[lane].stash; }
  void add_stash(std::size_t lane, std::int64_t change) { places_[lane].stash += change; }

  /// Updates made up to the position reached, and those that are not read one by one.
  std::int64_t updates(std::size_t lane) const { return std::ssize(places_[lane].marks) + places_[lane].skipped; }
  void skip_updates(std::size_t lane, std::int64_t count) { places_[lane].skipped += count; }

  /// The updates met, by device, then by end.
  std::vector<UpdateMark> marks() const;

 private:
  struct Place {
    InstrIndex next = 0;
    InstrIndex previous = 0;  ///< first instr of the unit before `next`
    bool started = false;
    std::int64_t stash = 0;
    std::int64_t peak_stash = 0;
    std::size_t guest = 0;          ///< next of its `guests_`
    std::vector<UpdateMark> marks;  ///< by update
    std::int64_t skipped = 0;       ///< updates before this position that are no marks
    std::size_t draining = 0;       ///< marks without a forward after them yet
  };

  /// What all instrs of a row share.
  struct RowFacts {
    Ticks duration = 0;
    Ticks not_useful = 0;
    std::int64_t stash_at_start = 0;
    std::int64_t stash_at_end = 0;
    bool forward = false;
    bool update = false;
  };

  const RowFacts& facts(InstrIndex i) const { return rows_[program_.instrs[i].row]; }
  void find_guests();
  void read_unit(DeviceId device, Place& place, InstrIndex i, InstrIndex end);
  IdleCause read_gap(DeviceSummary& summary, const Place& place, InstrIndex i, InstrIndex end);
  bool stands_alone(std::size_t lane) const;
  void read_alone(std::size_t lane, InstrIndex until);
  Ticks not_useful(InstrIndex i, Ticks busy) const;
  void add_span(DeviceId device, InstrIndex i, Ticks idle, IdleCause cause);
  /// Notes what the device holds from `time` on.
  void add_stash_point(DeviceId device, Ticks time, std::int64_t held);
  void mark(DeviceId device, Place& place, InstrIndex i) const;

  const Program& program_;
  const RunTimes& times_;
  const SimOptions& options_;
  Timeline& timeline_;
  bool contended_;
  bool has_pairs_ = false;
  IdleCauses causes_;
  StashChanges stash_;
  std::vector<RowFacts> rows_;
  std::vector<Place> places_;
  /// By device: stashes that it holds for others, as (position from which on, change), in order.
  std::vector<std::vector<std::pair<InstrIndex, std::int64_t>>> guests_;
};

/// Everything that `LaneReader` finds in a finished run, the spans of all lanes, and the makespan.
/// Returns the updates of every device, for `fill_metrics`.
std::vector<UpdateMark> fill_lanes(const ProgramIndex& indexed, const RunTimes& times, const SimOptions& options,
                                   Timeline& timeline);

/// Of a row's duration, the part that is neither recompute nor extra work.
Ticks useful_share(const Program& program, std::size_t row, Ticks duration);

}  // namespace plumb
