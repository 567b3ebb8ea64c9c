#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <tuple>

#include "sim/traces/readers/rank_run.hpp"

namespace plumb {

/// A place in the work of a traced run.
struct WorkPlace {
  std::size_t rank = 0;
  std::size_t at = 0;  ///< into `RankRun::work`
};

/// Which work made the value that another work needs: F takes the output of the stage before, B and I the gradient of
/// the stage after.
class TracedProducers {
 public:
  /// Requires `runs` to keep its order of work.
  explicit TracedProducers(std::span<const RankRun> runs);

  /// Returns where the input of `work` is made; nothing for the first stage's F, the last stage's B and I, and for W.
  std::optional<WorkPlace> of(const TracedAction& work) const;

  /// Returns whether `work` takes a value of a stage that no trace holds.
  bool is_missing(const TracedAction& work) const;

  /// Returns the number of stages, as far as work and messages tell.
  std::int32_t stages() const { return stages_; }

 private:
  using Key = std::tuple<std::int32_t, bool, std::int32_t, std::int32_t>;  ///< stage, backward, microbatch, step

  std::optional<Key> key_of(const TracedAction& work) const;

  std::int32_t stages_ = 0;
  std::map<Key, WorkPlace> places_;
};

}  // namespace plumb
