#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/stages/stage_layout.hpp"
#include "schedules/program/program.hpp"
#include "schedules/program/program_index.hpp"
#include "schedules/program/waits.hpp"
#include "schedules/versions/method_buffers.hpp"
#include "sim/rules/jitter.hpp"
#include "trainer/methods/correction.hpp"
#include "trainer/plan/post_validation.hpp"
#include "trainer/plan/train_options.hpp"

namespace plumb {

/// A member's part of a collective, by the REDUCE_GRAD instr that joins it.
struct Joining {
  std::uint32_t collective = 0;
  std::uint32_t member = 0;
};

/// Bytes [begin, end) of a holder's gradient block.
struct ByteRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// One part of a message: the value of a slice of a microbatch.
struct MessagePart {
  std::int32_t microbatch = 0;
  std::int16_t slice = 0;
  std::int64_t bytes = 0;
};

/// What all devices of a run share and none changes: the program, the layouts of its stages, and what happens where.
struct RunPlan {
  explicit RunPlan(const TrainOptions& options);
  RunPlan(const RunPlan&) = delete;
  RunPlan& operator=(const RunPlan&) = delete;

  const TrainOptions& options;
  const Backend& backend;
  Program program;
  std::vector<PartPlace> places;           ///< by part of `program.parts`
  std::vector<StageLayout> layouts;        ///< by stage and part
  std::int64_t document_updates = 0;       ///< in forward mode: groups of microbatches that losses are means of
  std::vector<MethodPlace> method_places;  ///< by holder; empty when the schedule has no methods
  bool steady_delays = true;               ///< whether the methods' delays do not depend on the number of updates
  std::vector<std::int32_t>
      forward_versions;  ///< by instr (schedules/versions/weight_versions.hpp); empty without methods
  std::vector<PredictedRead> predicted_reads;     ///< by instr (schedules/versions/predicted_reads.hpp); empty without
  std::vector<std::vector<std::int64_t>> summed;  ///< by holder and update: microbatches whose gradients are summed

  ProgramIndex indexed{program};  ///< transfers by instr
  IndexLists held;                ///< moves by `held_from`
  IndexLists released;            ///< moves by `held_until`; the end of lane d is `program.size()` + d
  IndexLists replaced;            ///< kept versions by the update that replaces them
  IndexLists last_read;           ///< kept versions by their last reader
  IndexLists joins;               ///< `joinings` by the instr that joins
  std::vector<Joining> joinings;
  ValidationPlan validation;
  /// Devices say how far they are: some instr waits for another device's without a message, or messages are paced.
  bool tells_progress = false;

  const Row& row(InstrIndex at) const { return program.rows[program.instrs[at].row]; }
  const Holder& holder(InstrIndex at) const { return program.holders[row(at).holder]; }
  /// F, B, I, W, R, or X of a teacher.
  bool is_pass(InstrIndex at) const { return row(at).op <= Op::kR || row(at).taught >= 0; }
  SegmentPlace segment(InstrIndex at) const {
    return program.segments.empty() ? SegmentPlace{} : program.segments[index(holder(at).stage)];
  }
  std::span<const Wait> waits(InstrIndex at) const { return waits_of(program, at); }
  const StageLayout& layout(StageId stage, std::size_t part) const {
    return layouts[index(stage) * places.size() + part];
  }
  /// Returns what a message consists of, by microbatch, then slice.
  std::vector<MessagePart> message(std::uint32_t transfer) const;
  /// Returns the tokens that the loss of a microbatch of the document is a mean over: those of a microbatch of the mean
  /// size of its update, so that every token of an update counts the same.
  double loss_tokens(std::size_t microbatch) const;
  /// Returns the version that methods look back at in an update; -1: none.
  std::int32_t looked_back_at(InstrIndex update) const {
    return program.version_read.empty() ? -1 : program.version_read[update];
  }
  /// Returns the facts that methods get about an instr that reads `version`.
  WeightRead weight_read(InstrIndex at, std::int32_t version) const;
  /// Returns what the unit that begins with `at` takes on a paced back end.
  Ticks given_time(InstrIndex at, DeviceId device) const {
    return duration_of(program, at, device, options.model.seed);
  }
  /// First instr after the unit (overlapped pair) that begins with `at`.
  InstrIndex unit_end(InstrIndex at) const { return plumb::unit_end(program, at); }

  /// Returns the parts of a stage's gradients that a collective adds up.
  std::vector<ByteRange> reduced_ranges(std::uint32_t collective, StageId stage) const;

 private:
  void count_summed();
  void index_guests();
};

}  // namespace plumb
