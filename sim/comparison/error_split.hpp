#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "sim/timeline/timeline.hpp"

namespace plumb {

/// What a prediction got wrong. Every part but the last one is a kind of time that a replay takes (`ReplayKind`).
enum class ErrorPart : std::uint8_t {
  kDurations,  ///< durations of actions
  kHost,       ///< the runtime between actions
  kMessages,   ///< what they take beside others
  kWaits,      ///< for collectives and copies
  kOrder,      ///< another order on a device, and actions that only one of both has
  kMissing,    ///< order where ranks have no trace: what they did is in it, too
};

inline constexpr std::size_t kErrorPartCount = 6;
inline constexpr std::array<std::string_view, kErrorPartCount> kErrorPartNames{"durations", "host",  "messages",
                                                                               "waits",     "order", "missing"};
/// For people.
inline constexpr std::array<std::string_view, kErrorPartCount> kErrorPartTitles{
    "durations of actions",   "host time",           "messages",
    "collectives and copies", "order and structure", "order, and ranks without a trace"};

/// An action that takes part in an error: its own duration, or the time before it. Of the order: the moment when it
/// begins, with the times of the run in the predicted order, and in the run.
struct ErrorAction {
  DeviceId device{};
  Action action;
  std::int64_t predicted_ns = 0;
  std::int64_t measured_ns = 0;
  std::int64_t error_ns = 0;  ///< what it contributes to its part

  friend bool operator==(const ErrorAction&, const ErrorAction&) = default;
};

/// One part of prediction less measurement, in nanoseconds of the step time.
struct PartOfError {
  ErrorPart part{};
  std::int64_t model_ns = 0;  ///< prediction less what is usual in the run
  std::int64_t noise_ns = 0;  ///< what is usual in the run less what was
  std::vector<ErrorAction> largest;

  friend bool operator==(const PartOfError&, const PartOfError&) = default;
};

/// Prediction less measurement, in parts that add up to it.
struct ErrorSplit {
  std::int64_t predicted_ns = 0;   ///< step time
  std::int64_t measured_ns = 0;    ///< step time of the run that was split
  std::int64_t model_ns = 0;       ///< sum over the parts
  std::int64_t noise_ns = 0;       ///< sum over the parts
  std::vector<PartOfError> parts;  ///< in order of `ErrorPart`; those that are not 0

  friend bool operator==(const ErrorSplit&, const ErrorSplit&) = default;
};

/// Splits the error of `predicted` against `runs[shown]`. All runs are of the same configuration.
///
/// The order of the prediction is replayed with its own times, then with those of the run: first durations of
/// actions, then host time, messages and other waits, each first as it is usual in the runs (between median and mean of
/// what is alike) and then as it was. What the step time changes by is a part, of the model and of noise. What the last
/// replay still differs from the run is its order. Devices that the run does not know (ranks without a trace) keep
/// their predicted times, and a wait for them is none of the run's times: what they did otherwise is in the last part,
/// `kMissing`.
///
/// Nothing where a timeline has no spans, or both did not do the same work (`run_work`).
std::optional<ErrorSplit> split_error(const Timeline& predicted, std::span<const Timeline> runs, std::size_t shown,
                                      std::size_t most_actions);

}  // namespace plumb
