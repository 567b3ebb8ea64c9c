#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/costs/memory_class.hpp"
#include "schedules/document/action.hpp"
#include "sim/comparison/error_split.hpp"
#include "sim/timeline/timeline.hpp"

namespace plumb {

// Compares two timelines. The first is called "predicted", the second (or several runs) "measured", but any two
// timelines can be compared. Times are nanoseconds. Errors are relative: (predicted - measured) / measured, and 0 / 0
// is 0; anything else / 0 is +1.

/// One figure of both timelines, and its error.
struct FigureError {
  double predicted = 0;
  double measured = 0;
  double error = 0;

  friend bool operator==(const FigureError&, const FigureError&) = default;
};

/// All actions of one op that run alone, or all overlapped pairs of two ops. A pair counts once, from the start of the
/// first to the end of the last. The errors are those of single actions and need aligned timelines.
struct KindError {
  Op op{};
  std::optional<Op> partner = std::nullopt;  ///< later one of a pair's ops, in their order
  std::int64_t predicted_count = 0;
  std::int64_t measured_count = 0;
  std::int64_t predicted_ns = 0;  ///< all of them together
  std::int64_t measured_ns = 0;
  double median_error = 0;  ///< signed: positive when predicted longer
  double p90_error = 0;     ///< 90th percentile of the absolute errors, nearest rank

  friend bool operator==(const KindError&, const KindError&) = default;
};

/// Idle time of all devices for one cause. Shares are of num_devices x makespan, so that their sum is the bubble
/// fraction.
struct CauseError {
  IdleCause cause{};
  std::int64_t predicted_ns = 0;
  std::int64_t measured_ns = 0;
  double predicted_share = 0;
  double measured_share = 0;

  friend bool operator==(const CauseError&, const CauseError&) = default;
};

/// Peak memory of one device, all together or one class of it (at the moment of the peak).
struct MemoryError {
  DeviceId device{};
  std::optional<MemoryClass> cls;  ///< empty: the peak itself
  std::int64_t predicted_bytes = 0;
  std::int64_t measured_bytes = 0;

  friend bool operator==(const MemoryError&, const MemoryError&) = default;
};

/// An action that occurs in both timelines.
struct Offender {
  DeviceId device{};
  Action action;
  std::int64_t predicted_start_ns = 0;
  std::int64_t measured_start_ns = 0;
  std::int64_t predicted_ns = 0;  ///< its duration
  std::int64_t measured_ns = 0;

  friend bool operator==(const Offender&, const Offender&) = default;
};

struct CompareOptions {
  std::optional<double> max_error = std::nullopt;   ///< bound of the model's part of the step time's error, e.g. 0.05;
                                                    ///< all of it counts where the error is not split
  std::optional<double> max_noise = std::nullopt;   ///< bound of what the step time differs by from what is usual, and
                                                    ///< by the spread of several runs; beyond it there is no answer
  bool memory_exact = false;                        ///< peaks must be equal to the byte, in all and by class
  std::optional<std::size_t> shown = std::nullopt;  ///< the run that stands for all; without it the one of (lower)
                                                    ///< median step time, and the step time is that of the median
  std::size_t most_offenders = 10;
  std::size_t most_part_actions = 3;  ///< named of every part of the error
};

enum class Verdict : std::uint8_t {
  kNone,  ///< no bound was given
  kPass,
  kFail,   ///< see `findings`
  kNoisy,  ///< no answer: more noise than `max_noise`, or beyond the bound of runs that spread by more than it
};

struct Comparison {
  std::string predicted_schedule;
  std::string measured_schedule;
  std::int64_t runs = 1;  ///< measured ones, or steps that a traced one tells of; figures are of the run with the
                          ///< median step time, see `compare`
  double spread = 0;      ///< spread of their step times: (largest - smallest) / median

  FigureError makespan_ns;
  FigureError step_time_ns;  ///< against the median of the runs
  FigureError bubble_fraction;
  FigureError utilization;
  std::optional<FigureError> tokens_per_s;

  bool aligned = false;             ///< both ran the same compute actions on the same devices; U and V do not count
                                    ///< where one side has none (a runtime that leaves updates to the program)
  std::int64_t only_predicted = 0;  ///< compute actions that the other one does not have
  std::int64_t only_measured = 0;
  std::vector<KindError> kinds;     ///< compute and collective lanes, in order of op, then of partner
  std::vector<CauseError> causes;   ///< causes that occur in either
  std::vector<MemoryError> memory;  ///< devices and classes where either has bytes; empty unless both know memory
  std::optional<ErrorSplit> split;  ///< parts of the step time's error, against the run that stands for all; aligned
                                    ///< timelines with spans only
  std::vector<Offender> offenders;  ///< compute actions by difference of duration, largest first; aligned only

  /// Returns the model's part of the step time's relative error: without noise, where the error is split.
  double model_error() const;
  /// Returns the rest of it: by how much the run that stands for all differs from what is usual in the runs.
  double noise() const { return step_time_ns.error - model_error(); }
  /// Returns how noisy the runs are: the larger of `noise()`, without its sign, and their spread.
  double noise_level() const;

  Verdict verdict = Verdict::kNone;
  std::vector<std::string> findings;  ///< everything that is wrong
};

/// Compares `predicted` with `measured`. Actions are matched by device, lane, text and, where it repeats, number of
/// occurrence. Timelines without spans, of different schedules or of different device counts compare by their figures
/// alone. Devices of which one side knows nothing (a rank without a trace) are left out of everything but the step
/// time. One step of a traced run that tells of its other steps (`Timeline::traced`) is compared with their median.
Comparison compare(const Timeline& predicted, const Timeline& measured, const CompareOptions& options = {});

/// Compares `predicted` with several runs of one thing (at least one): the step time is compared with their median
/// (mean of the middle two), everything else with the run whose step time is the (lower) middle one.
Comparison compare(const Timeline& predicted, std::span<const Timeline> measured, const CompareOptions& options = {});

/// Returns the run whose step time is the (lower) middle one. Requires one.
std::size_t middle_run(std::span<const Timeline> runs);

/// Writes a document: {"format":"plumbline-comparison","version":1,...} (README.md).
std::string comparison_to_json(const Comparison& comparison);

}  // namespace plumb
