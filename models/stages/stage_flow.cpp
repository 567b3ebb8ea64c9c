#include "models/stages/stage_flow.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace plumb {
namespace {

class StageFlowBuilder {
 public:
  StageFlowBuilder(const Flow& flow, std::size_t begin, std::size_t end, bool ends)
      : flow_(flow), begin_(static_cast<std::int32_t>(begin)), end_(static_cast<std::int32_t>(end)), ends_(ends) {}

  StageFlow build() {
    receive();
    for (std::int32_t k = begin_; k < end_; ++k) {
      if (flow_.node(k).is_sum()) {
        add_sum(k);
      } else {
        add_step(k);
      }
    }
    hand_over();
    return std::move(stage_);
  }

 private:
  /// What is made before the stage and read in it or after it.
  void receive() {
    bool reads_outside = begin_ == 0;
    for (std::int32_t k = 0; k < begin_; ++k) {
      if (flow_.node(k).last_reader >= begin_) receive(k, flow_.node(k).needs_gradient);
    }
    if (reads_outside) receive(FlowNode::kOutside, true);
    stage_.inputs = stage_.values.size();
  }

  void receive(std::int32_t node, bool needs_gradient) {
    value_of_[node] = add_value({.node = node, .needs_gradient = needs_gradient});
  }

  std::size_t add_value(StageValue value) {
    stage_.values.push_back(std::move(value));
    return stage_.values.size() - 1;
  }

  std::size_t read_by_step(std::int32_t node) {
    if (node == FlowNode::kNothing) return kNoValue;
    const std::size_t value = value_of_.at(node);
    stage_.values[value].steps.push_back(stage_.steps.size());
    return value;
  }

  void add_step(std::int32_t k) {
    const FlowNode& node = flow_.node(k);
    StageStep step{.node = k, .input = read_by_step(node.input), .from = read_by_step(node.from)};
    step.output = add_value({.node = k,
                             .origin = StageValue::Origin::kStep,
                             .made_at = stage_.steps.size(),
                             .needs_gradient = node.needs_gradient});
    value_of_[k] = step.output;
    stage_.steps.push_back(step);
  }

  void push_sum(std::size_t to, std::size_t from, bool adds) {
    stage_.values[from].sums.push_back(stage_.sums.size());
    stage_.sums.push_back({stage_.steps.size(), to, from, adds});
  }

  /// Returns whether what is added to the output of `node` can be added in its place.
  bool can_grow(std::int32_t node) const {
    return node >= begin_ && flow_.node(node).readers == 1 && flow_.node(node).needs_gradient;
  }

  void add_sum(std::int32_t k) {
    const FlowNode& node = flow_.node(k);
    std::pair operands{node.input, node.from};
    if (!can_grow(operands.first)) std::swap(operands.first, operands.second);
    if (can_grow(operands.first)) {
      value_of_[k] = value_of_.at(operands.first);
      push_sum(value_of_[k], value_of_.at(operands.second), true);
      stage_.values[value_of_[k]].node = k;
      return;
    }
    const std::size_t value = add_value({.node = k,
                                         .origin = StageValue::Origin::kSum,
                                         .made_at = stage_.steps.size(),
                                         .needs_gradient = node.needs_gradient});
    value_of_[k] = value;
    push_sum(value, value_of_.at(node.input), false);
    push_sum(value, value_of_.at(node.from), true);
  }

  /// What is made before the end of the stage and read after it.
  void hand_over() {
    const bool is_chain_end = static_cast<std::size_t>(end_) == flow_.nodes.size();
    for (std::int32_t k = 0; k < end_; ++k) {
      const bool is_result = is_chain_end && !ends_ && k == end_ - 1;
      if (flow_.node(k).last_reader >= end_ || is_result) hand_over(value_of_.at(k));
    }
  }

  void hand_over(std::size_t value) {
    const StageValue& made = stage_.values[value];
    const bool in_place = made.origin != StageValue::Origin::kInput && made.steps.empty() && made.sums.empty();
    if (!in_place) {
      const std::size_t copy = add_value({.node = made.node,
                                          .origin = StageValue::Origin::kCarried,
                                          .made_at = stage_.steps.size(),
                                          .needs_gradient = made.needs_gradient});
      push_sum(copy, value, false);
      value = copy;
    }
    stage_.values[value].is_output = true;
    stage_.outputs.push_back(value);
  }

  const Flow& flow_;
  std::int32_t begin_;
  std::int32_t end_;
  bool ends_;
  StageFlow stage_;
  std::map<std::int32_t, std::size_t> value_of_;  ///< by node
};

}  // namespace

std::size_t StageFlow::handed_on_at(const StageValue& value, std::size_t sum) const {
  return value.steps.empty() ? sums[sum].at : std::min(sums[sum].at, value.steps.back());
}

StageFlow stage_flow(const Flow& flow, std::size_t begin, std::size_t end, bool ends) {
  return StageFlowBuilder(flow, begin, end, ends).build();
}

}  // namespace plumb
