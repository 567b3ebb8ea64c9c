#include "models/stages/stage_moves.hpp"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

namespace plumb {
namespace {

class MoveBuilder {
 public:
  MoveBuilder(const StageFlow& stage, StageLayout& layout)
      : stage_(stage), layout_(layout), done_(stage.values.size(), false) {}

  void build() {
    keep_inputs();
    for (const StageSum& sum : stage_.sums) {
      layout_.forward_moves.push_back(
          {sum.at, {.f = layout_.values[sum.to].f}, {.f = layout_.values[sum.from].f}, bytes(sum.to), sum.adds});
    }
    keep_received_gradients();
    place_step_gradients();
    for (std::size_t value = 0; value < stage_.values.size(); ++value) complete(value);
    std::ranges::stable_sort(layout_.backward_moves, std::greater<>(), &ValueMove::at);
  }

 private:
  std::int64_t bytes(std::size_t value) const { return layout_.value_bytes[value]; }
  bool has_gradient(std::size_t value) const { return stage_.values[value].needs_gradient && bytes(value) > 0; }

  /// Of a message that does not live until the backward, what is read there; a stage that reverses makes it again.
  void keep_inputs() {
    if (!layout_.reversed.empty()) return;
    for (std::size_t value = 0; value < stage_.inputs; ++value) {
      const TensorPlaces& places = layout_.values[value];
      if (places.i.block == StageBlock::kNone || places.i == places.f) continue;
      layout_.forward_moves.push_back({0, {.f = places.i}, {.f = places.f}, bytes(value), false});
    }
  }

  void keep_received_gradients() {
    for (const std::size_t value : layout_.copied_grads) {
      const TensorPlaces& places = layout_.gradients[value];
      layout_.backward_moves.push_back({stage_.steps.size(), {.i = places.w}, {.i = places.i}, bytes(value), false});
    }
  }

  /// The last reader of a value writes the gradient; of the others it is added.
  void place_step_gradients() {
    std::vector<bool> written(stage_.values.size(), false);
    for (std::size_t k = stage_.steps.size(); k-- > 0;) {
      LayoutStep& step = layout_.steps[k];
      for (const auto& [value, place] :
           {std::pair{step.input, &step.input_grad}, std::pair{step.from, &step.from_grad}}) {
        if (value == kNoValue || !has_gradient(value)) continue;
        if (written[value]) {
          layout_.backward_moves.push_back({k, layout_.gradients[value], *place, bytes(value), true});
        } else {
          *place = layout_.gradients[value];
        }
        written[value] = true;
      }
    }
  }

  /// What sums hand on to `value`, after they are complete themselves.
  void complete(std::size_t number) {
    if (done_[number]) return;
    done_[number] = true;
    const StageValue& value = stage_.values[number];
    for (const std::size_t sum : value.sums) complete(stage_.sums[sum].to);
    if (!has_gradient(number)) return;
    bool written = !value.steps.empty();
    std::vector<std::size_t> sums = value.sums;
    if (!written) std::ranges::reverse(sums);  // the backward meets the last one first
    for (const std::size_t sum : sums) {
      const std::size_t to = stage_.sums[sum].to;
      if (!has_gradient(to)) continue;
      layout_.backward_moves.push_back({stage_.handed_on_at(value, sum), backward_places(layout_.gradients[number]),
                                        backward_places(layout_.gradients[to]), bytes(number), written});
      written = true;
    }
  }

  /// W moves nothing.
  static TensorPlaces backward_places(const TensorPlaces& places) { return {.i = places.i, .b = places.b}; }

  const StageFlow& stage_;
  StageLayout& layout_;
  std::vector<bool> done_;
};

}  // namespace

void add_moves(const StageFlow& stage, StageLayout& layout) { MoveBuilder(stage, layout).build(); }

}  // namespace plumb
