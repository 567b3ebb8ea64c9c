#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plumb {

/// Which version of its weights a stage reads.
enum class WeightPolicy : std::uint8_t {
  kFlush,         ///< synchronous: the version of the current update everywhere
  kStash,         ///< backward reads what its forward read (PipeDream)
  kVerticalSync,  ///< every stage reads what the first stage's forward read
  kDoubleBuffer,  ///< version of the update minus 1 (PipeDream-2BW)
  kDelay,         ///< version of the update minus `d`
  kLatest,        ///< whatever is in memory (PipeMare)
  kPredicted,     ///< latest, corrected by a prediction
};

/// Names in documents, indexed by `WeightPolicy`.
inline constexpr std::array<std::string_view, 7> kWeightPolicyNames{"flush", "stash",  "vertical_sync", "double_buffer",
                                                                    "delay", "latest", "predicted"};

/// The next `updates` updates after the phase before, with a policy of their own (a synchronous warm-up).
struct WeightPhase {
  std::int64_t updates = 0;
  WeightPolicy policy = WeightPolicy::kFlush;

  friend bool operator==(const WeightPhase&, const WeightPhase&) = default;
};

/// How far ahead of the newest weights a stage predicts those that it reads, in updates, by stage; 0: the newest.
struct Prediction {
  std::vector<std::int32_t> forward;
  std::vector<std::int32_t> backward;  ///< empty: what the forward predicted
  bool once_per_update = false;        ///< made for the first microbatch of an update and kept for the others

  friend bool operator==(const Prediction&, const Prediction&) = default;
};

/// A correction of asynchronous training, by its name in the table of schedules/document/methods.hpp.
struct Method {
  std::string name;
  std::map<std::string, double> parameters;  ///< those given

  friend bool operator==(const Method&, const Method&) = default;
};

struct Weights {
  WeightPolicy policy = WeightPolicy::kFlush;
  std::int32_t delay = 1;                       ///< `d` of kDelay
  std::vector<WeightPolicy> per_stage;          ///< when stages differ; otherwise empty
  std::vector<WeightPhase> phases;              ///< they come first; `policy` (or `per_stage`) holds after them
  Prediction prediction;                        ///< of kPredicted; otherwise empty
  std::int32_t sync_distance = 0;               ///< a SYNC_WEIGHTS waits for the one this many before it
  std::vector<Method> methods;                  ///< composed in this order; each declares buffers of its own
  std::vector<std::string> correction_buffers;  ///< further ones, each one more copy of the stage's weights

  friend bool operator==(const Weights&, const Weights&) = default;

  /// The policy of the phase of `update`; nothing after all phases.
  std::optional<WeightPolicy> phase_policy(std::int64_t update) const {
    for (const WeightPhase& phase : phases) {
      if (update < phase.updates) return phase.policy;
      update -= phase.updates;
    }
    return std::nullopt;
  }
};

}  // namespace plumb
