#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "models/network/flow.hpp"

namespace plumb {

inline constexpr std::size_t kNoValue = std::numeric_limits<std::size_t>::max();

/// A layer of a stage and the values that it computes with.
struct StageStep {
  std::int32_t node = 0;
  std::size_t input = kNoValue;  ///< values
  std::size_t from = kNoValue;
  std::size_t output = kNoValue;
};

/// `to` becomes a copy of `from`, or grows by it, before step `at` (the number of steps: after all).
struct StageSum {
  std::size_t at = 0;
  std::size_t to = 0;
  std::size_t from = 0;
  bool adds = true;
};

/// Something that a stage computes with: what it receives, what its layers make, sums that no layer's output can take
/// up, and copies for the next stage. A sum is a value of its own only where it must be: otherwise what is added goes
/// to the output of the layer before.
struct StageValue {
  enum class Origin : std::uint8_t { kInput, kStep, kSum, kCarried };

  std::int32_t node = FlowNode::kOutside;  ///< node that makes it
  Origin origin = Origin::kInput;
  std::size_t made_at = 0;              ///< step that makes it, or `StageSum::at`
  std::vector<std::size_t> steps = {};  ///< steps that read it, ascending; twice where a step reads it twice
  std::vector<std::size_t> sums = {};   ///< `StageFlow::sums` that read it, ascending
  bool needs_gradient = true;
  bool is_output = false;  ///< lies in the message to the next stage
};

/// How values flow through one stage: nodes [begin, end) of a flow. All values that are made before the end and read
/// after it go to the next stage in one message, in the order of the nodes that make them.
struct StageFlow {
  std::vector<StageStep> steps;
  std::vector<StageValue> values;  ///< inputs first, in order of their nodes
  std::vector<StageSum> sums;
  std::size_t inputs = 0;
  std::vector<std::size_t> outputs;  ///< values

  /// Returns the place in the backward (after the backward of that step; the number of steps: before all) at which a
  /// sum that reads `value` hands its gradient on. The last layer that reads the value writes first; everything is
  /// added in the order in which the backward meets it, so that cuts do not change the bits of three and more layers
  /// that read one value.
  std::size_t handed_on_at(const StageValue& value, std::size_t sum) const;
};

/// `ends`: nothing leaves the last node.
StageFlow stage_flow(const Flow& flow, std::size_t begin, std::size_t end, bool ends);

}  // namespace plumb
