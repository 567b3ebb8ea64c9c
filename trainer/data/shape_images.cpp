#include "trainer/data/shape_images.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "models/ground/error.hpp"
#include "trainer/ground/random.hpp"

namespace plumb {
namespace {

constexpr std::int64_t kShapes = 5;
constexpr std::int64_t kColours = 3;
constexpr std::int64_t kLeastSide = 8;
constexpr double kBackground = 60;
constexpr double kBright = 190;
constexpr double kDim = 90;

/// Returns whether the point (x, y), in units of the shape's size from its middle, is part of shape number `shape`.
bool covers(std::int64_t shape, double x, double y) {
  const double radius = std::hypot(x, y);
  const double furthest = std::max(std::abs(x), std::abs(y));
  switch (shape) {
    case 0:
      return radius < 1;
    case 1:
      return furthest < 0.9;
    case 2:
      return furthest < 1 && std::min(std::abs(x), std::abs(y)) < 0.35;
    case 3:
      return y < 0.8 && y > 2 * std::abs(x) - 1;
    default:
      return radius < 1 && radius > 0.55;
  }
}

std::uint8_t byte_of(double value) { return static_cast<std::uint8_t>(std::clamp(std::lround(value), 0L, 255L)); }

void draw(const ShapeImageOptions& options, Random& random, LabelledImages& images) {
  const auto label = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(options.classes)));
  const ImageShape& image = options.image;
  const auto side = static_cast<double>(std::min(image.height, image.columns));
  const double size = side * (0.25 + 0.12 * random.uniform());
  const double middle_x = size + (static_cast<double>(image.columns) - 2 * size) * random.uniform();
  const double middle_y = size + (static_cast<double>(image.height) - 2 * size) * random.uniform();
  std::array<double, 3> colour{};
  for (std::size_t c = 0; c < colour.size(); ++c) {
    const bool bright = image.channels == 1 || static_cast<std::int64_t>(c) == label / kShapes;
    colour[c] = (bright ? kBright : kDim) + 20 * random.normal();
  }
  for (std::int64_t y = 0; y < image.height; ++y) {
    for (std::int64_t x = 0; x < image.columns; ++x) {
      const bool inside = covers(label % kShapes, (static_cast<double>(x) + 0.5 - middle_x) / size,
                                 (static_cast<double>(y) + 0.5 - middle_y) / size);
      for (std::int64_t c = 0; c < image.channels; ++c) {
        const double value = inside ? colour[static_cast<std::size_t>(c)] : kBackground;
        images.bytes.push_back(byte_of(value + options.noise * random.normal()));
      }
    }
  }
  images.labels.push_back(static_cast<std::uint8_t>(label));
}

LabelledImages drawn(const ShapeImageOptions& options, std::int64_t count, std::uint64_t stream) {
  Random random(seed_for(options.seed, stream));
  LabelledImages images;
  for (std::int64_t i = 0; i < count; ++i) draw(options, random, images);
  return images;
}

}  // namespace

ImageData shape_images(const ShapeImageOptions& options) {
  const ImageShape& image = options.image;
  const std::int64_t most = image.channels == 1 ? kShapes : kShapes * kColours;
  if ((image.channels != 1 && image.channels != 3) || std::min(image.height, image.columns) < kLeastSide) {
    throw Error("images of shapes: " + std::to_string(image.height) + " x " + std::to_string(image.columns) + " x " +
                std::to_string(image.channels) + ", expected sides of at least " + std::to_string(kLeastSide) +
                " and 1 or 3 channels");
  }
  if (options.classes < 2 || options.classes > most) {
    throw Error("images of shapes: " + std::to_string(options.classes) + " classes, expected 2 to " +
                std::to_string(most));
  }
  return ImageData("images of shapes", image, drawn(options, options.training, 0), drawn(options, options.held_out, 1));
}

}  // namespace plumb
