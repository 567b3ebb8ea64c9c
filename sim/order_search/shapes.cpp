#include "sim/order_search/shapes.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "models/ground/error.hpp"

namespace plumb {
namespace {

/// Writes the stages of forwards in order.
class ShapeWriter {
 public:
  /// A stage, or a share on every device.
  using Part = std::vector<StageId>;

  ShapeWriter(std::string_view shape, std::int32_t num_devices, std::int64_t num_microbatches) {
    frame_.name = shape;
    frame_.num_devices = num_devices;
    frame_.num_microbatches = num_microbatches;
    frame_.microbatches_per_update = {num_microbatches};
    frame_.placement.emplace_back();
    frame_.stage_edges.emplace();
    frame_.devices.resize(static_cast<std::size_t>(num_devices));
  }

  /// A block of all devices together.
  Part shared(const std::vector<Part>& inputs) {
    Part shares;
    for (std::int32_t device = 0; device < frame_.num_devices; ++device) shares.push_back(stage_on(device, inputs));
    frame_.start_together.push_back(shares);
    return shares;
  }

  /// A stage on each of these devices, one after the other; the last one.
  Part chain(std::int32_t from, std::int32_t to, const std::vector<Part>& inputs) {
    const std::int32_t step = from <= to ? 1 : -1;
    Part last{stage_on(from, inputs)};
    for (std::int32_t device = from; device != to;) {
      device += step;
      last = {stage_on(device, {last})};
    }
    return last;
  }

  Schedule take() { return std::move(frame_); }

 private:
  StageId stage_on(std::int32_t device, const std::vector<Part>& inputs) {
    const StageId stage{frame_.num_stages++};
    frame_.placement[0].push_back({DeviceId{device}});
    for (const Part& input : inputs) {
      const StageId from = input.size() == 1 ? input.front() : input[static_cast<std::size_t>(device)];
      frame_.stage_edges->emplace_back(from, stage);
    }
    return stage;
  }

  Schedule frame_;
};

void check_devices(std::string_view shape, std::int32_t num_devices) {
  const bool halves = shape == "nn" || shape == "k";
  const bool fits = shape == "v" || (num_devices >= 2 && (!halves || num_devices % 2 == 0));
  if (fits) return;
  throw Error("shape " + std::string(shape) + ": " + std::to_string(num_devices) + " devices, expected " +
              (halves ? "an even number of at least 2" : "at least 2"));
}

}  // namespace

Schedule shape_frame(std::string_view shape, std::int32_t num_devices, std::int64_t num_microbatches) {
  if (std::ranges::find(kBlockShapes, shape) == kBlockShapes.end()) throw_unknown("shape", shape, kBlockShapes);
  check_devices(shape, num_devices);
  ShapeWriter writer(shape, num_devices, num_microbatches);
  const std::int32_t last = num_devices - 1;
  const std::int32_t half = num_devices / 2;
  if (shape == "v") {
    writer.chain(0, last, {});
  } else if (shape == "x") {
    writer.chain(0, last, {});
    writer.chain(last, 0, {});
  } else if (shape == "m") {
    writer.chain(0, last, {writer.shared({})});
  } else if (shape == "interlaced") {
    writer.shared({writer.chain(0, last, {writer.shared({})})});
  } else if (shape == "nn") {
    const auto encoded = writer.chain(0, half - 1, {writer.shared({})});
    writer.chain(half, last, {writer.shared({encoded})});
  } else {
    const auto one = writer.chain(0, half - 1, {});
    const auto other = writer.chain(half, last, {});
    writer.shared({one, other});
  }
  return writer.take();
}

}  // namespace plumb
