#include "sim/order_search/shapes.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "models/ground/error.hpp"

namespace plumb {
namespace {

/// Writes forwards in order; their backwards follow in reverse.
class ShapeWriter {
 public:
  ShapeWriter(std::int32_t num_devices, std::int64_t limit, const ShapeCosts& costs) : costs_(costs) {
    problem_.num_devices = num_devices;
    problem_.limits.assign(static_cast<std::size_t>(num_devices), limit);
  }

  /// A forward on one device, after `inputs`; its number.
  std::int32_t on_device(std::int32_t device, std::vector<std::int32_t> inputs) {
    return add({.name = "f" + std::to_string(problem_.size()),
                .devices = {device},
                .time = costs_.forward,
                .stash = 1,
                .inputs = {},
                .action = action_of(problem_.size(), Op::kF, 0)},
               std::move(inputs));
  }

  /// A forward of all devices together.
  std::int32_t shared(std::vector<std::int32_t> inputs) {
    std::vector<std::int32_t> all(static_cast<std::size_t>(problem_.num_devices));
    std::iota(all.begin(), all.end(), 0);
    return add({.name = "s" + std::to_string(problem_.size()),
                .devices = std::move(all),
                .time = costs_.shared_forward,
                .stash = costs_.shared_stash,
                .inputs = {},
                .action = action_of(problem_.size(), Op::kX, 0)},
               std::move(inputs));
  }

  std::int32_t chain(std::int32_t from, std::int32_t to, std::vector<std::int32_t> inputs) {
    const std::int32_t step = from <= to ? 1 : -1;
    std::int32_t last = on_device(from, std::move(inputs));
    for (std::int32_t d = from; d != to;) {
      d += step;
      last = on_device(d, {last});
    }
    return last;
  }

  /// Adds the backwards: that of a block waits for those of the blocks that took its result, or for the block itself.
  BlockProblem with_backwards() {
    const std::int32_t forwards = problem_.size();
    std::vector<std::int32_t> backward_of(static_cast<std::size_t>(forwards), -1);
    for (std::int32_t b = forwards; b-- > 0;) {
      WorkBlock block = problem_.block(b);
      std::vector<std::int32_t> inputs;
      for (std::int32_t taker = b + 1; taker < forwards; ++taker) {
        const auto takes = [b](const WorkBlock::Input& input) { return input.block == b; };
        if (std::ranges::any_of(problem_.block(taker).inputs, takes)) {
          inputs.push_back(backward_of[static_cast<std::size_t>(taker)]);
        }
      }
      if (inputs.empty()) inputs.push_back(b);
      block.name[0] = block.name[0] == 's' ? 't' : 'b';
      block.time = block.devices.size() > 1 ? costs_.shared_backward : costs_.backward;
      block.stash = -block.stash;
      if (block.action.op == Op::kF) block.action.op = Op::kB;
      backward_of[static_cast<std::size_t>(b)] = add(std::move(block), std::move(inputs));
    }
    return std::move(problem_);
  }

 private:
  std::int32_t add(WorkBlock block, std::vector<std::int32_t> inputs) {
    block.inputs.clear();
    for (const std::int32_t input : inputs) block.inputs.push_back({.block = input, .delay = 0});
    problem_.blocks.push_back(std::move(block));
    return problem_.size() - 1;
  }

  ShapeCosts costs_;
  BlockProblem problem_;
};

}  // namespace

BlockProblem shape_blocks(std::string_view shape, std::int32_t num_devices, std::int64_t limit,
                          const ShapeCosts& costs) {
  constexpr std::array<std::string_view, 6> kShapes{"v", "x", "m", "nn", "k", "interlaced"};
  if (std::ranges::find(kShapes, shape) == kShapes.end()) throw_unknown("shape", shape, kShapes);
  ShapeWriter writer(num_devices, limit, costs);
  const std::int32_t last = num_devices - 1;
  const std::int32_t half = num_devices / 2;
  if ((shape == "nn" || shape == "k") && (num_devices < 2 || num_devices % 2 != 0)) {
    throw Error("shape " + std::string(shape) + ": " + std::to_string(num_devices) +
                " devices, expected an even number of at least 2");
  }
  if (shape == "v") {
    writer.chain(0, last, {});
  } else if (shape == "x") {
    writer.chain(0, last, {});
    writer.chain(last, 0, {});
  } else if (shape == "m") {
    writer.chain(0, last, {writer.shared({})});
    return writer.with_backwards();
  } else if (shape == "interlaced") {
    writer.shared({writer.chain(0, last, {writer.shared({})})});
  } else if (shape == "nn") {
    const std::int32_t encoded = writer.chain(0, half - 1, {writer.shared({})});
    writer.chain(half, last, {writer.shared({encoded})});
  } else {
    const std::int32_t one = writer.chain(0, half - 1, {});
    const std::int32_t other = writer.chain(half, last, {});
    writer.shared({one, other});
  }
  return writer.with_backwards();
}

}  // namespace plumb
