#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "models/graphs/node_set.hpp"
#include "models/import/tensor_variants.hpp"
#include "sim/planners/numbers.hpp"

namespace plumb {

/// Time, weights and communication of a stage at one tensor degree, before it is replicated.
struct StageSums {
  double seconds = kNever;  ///< kNever: does not fit
  double parameter_bytes = 0;
  double edge_bytes = 0;  ///< over cut edges, synchronisation included
  bool recompute = false;
};

/// What the stages of a Piper plan are judged by.
struct PiperRates {
  double memory_bytes = 0;  ///< of a device; 0: no limit
  double bytes_per_s = 0;
  std::int64_t microbatches = 0;
  std::int32_t most_copies = 0;  ///< of data-parallel replicas, over all stages together

  /// Seconds per microbatch of a stage on `d` replicas (Piper, section 3).
  double replicated(const StageSums& sums, std::int32_t d) const;
};

/// A set of layers as one stage of a Piper plan at one tensor degree.
///
/// A device that holds `copies` microbatches of it chooses variants by Piper's heuristic: the fastest everywhere; while
/// that does not fit, the switch with the least extra time per byte saved. What fits more copies fits fewer, so the
/// time for c copies is the least over all choices for c or more; it never falls as copies are added.
class PiperStage {
 public:
  PiperStage(const VariantGraph& graph, const PiperRates& rates, NodeSet own, std::int32_t degree);

  /// Seconds per microbatch on `d` replicas that hold `copies` each; kNever when these do not fit.
  double seconds(std::int32_t copies, std::int32_t d);

  /// Most copies with which `seconds` is at most `limit`; 0: none.
  std::int32_t copies_within(double limit, std::int32_t d);

  /// The choice behind `seconds`.
  StageSums chosen(std::int32_t copies, std::int32_t d);

 private:
  /// Switching a layer from its fastest variant to a leaner one.
  struct Switch {
    double ratio = 0;  ///< extra time per byte saved
    double bytes = 0;
    std::size_t layer = 0;
    std::size_t variant = 0;
  };

  bool find_fastest(std::int32_t degree);
  double leanest_bytes(std::int32_t copies) const;
  double fastest_bytes(std::int32_t copies) const;
  std::vector<Switch> switches(std::int32_t copies) const;
  bool keeps_order() const;
  StageSums sums_of(const std::vector<std::size_t>& variants) const;
  StageSums compute(std::int32_t copies) const;
  const StageSums& heuristic(std::int32_t copies);

  const VariantGraph* graph_;
  const PiperRates* rates_;
  NodeSet own_;
  std::int32_t degree_;
  std::vector<std::size_t> layers_;
  std::vector<std::size_t> fastest_;  ///< variant by layer
  std::int32_t most_ = 0;             ///< copies that fit with the leanest variants
  std::int32_t roomy_ = 0;            ///< ... with the fastest ones
  bool ordered_ = true;  ///< more copies only add switches, so the heuristic's time does not fall by itself
  std::vector<std::pair<std::int32_t, StageSums>> known_;  ///< what `heuristic` has computed, by copies
};

}  // namespace plumb
