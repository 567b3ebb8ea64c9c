#include "trainer/data/augmented_images.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "models/ground/error.hpp"
#include "trainer/ground/random.hpp"

namespace plumb {
namespace {

/// What becomes of one image: pixel (y, x) is that of (y + down, x + right), counted from the right when mirrored.
struct Crop {
  std::int64_t down = 0;
  std::int64_t right = 0;
  bool mirrored = false;
};

Crop random_cut(std::int64_t padding, Random random) {
  const auto places = static_cast<std::uint64_t>(2 * padding + 1);
  const auto down = static_cast<std::int64_t>(random.below(places)) - padding;
  const auto right = static_cast<std::int64_t>(random.below(places)) - padding;
  return {down, right, random.below(2) == 1};
}

void apply(const Crop& cut, const ImageShape& image, std::span<std::int32_t> bytes) {
  const std::vector<std::int32_t> whole(bytes.begin(), bytes.end());
  std::size_t to = 0;
  for (std::int64_t y = 0; y < image.height; ++y) {
    for (std::int64_t x = 0; x < image.columns; ++x) {
      const std::int64_t row = y + cut.down;
      const std::int64_t column = (cut.mirrored ? image.columns - 1 - x : x) + cut.right;
      const bool inside = row >= 0 && row < image.height && column >= 0 && column < image.columns;
      const auto from = static_cast<std::size_t>((row * image.columns + column) * image.channels);
      for (std::int64_t c = 0; c < image.channels; ++c) {
        bytes[to++] = inside ? whole[from + static_cast<std::size_t>(c)] : 0;
      }
    }
  }
}

}  // namespace

AugmentedImages::AugmentedImages(std::unique_ptr<const TrainingData> images, const ImageShape& image,
                                 std::int64_t padding)
    : images_(std::move(images)), image_(image), padding_(padding) {
  const DataFacts facts = images_->facts();
  if (facts.features != image.features()) {
    throw Error(facts.name + ": " + std::to_string(facts.features) + " numbers each, expected images of " +
                std::to_string(image.features()));
  }
  const std::int64_t most = std::min(image.height, image.columns);
  if (padding < 0 || padding > most) {
    throw Error("augmentation by " + std::to_string(padding) + " pixels, expected 0 to " + std::to_string(most));
  }
}

DataFacts AugmentedImages::facts() const {
  DataFacts facts = images_->facts();
  facts.identity += ", augmented by " + std::to_string(padding_);
  return facts;
}

Microbatch AugmentedImages::microbatch(std::int64_t k, const MicrobatchShape& shape, std::uint64_t seed) const {
  Microbatch batch = images_->microbatch(k, shape, seed);
  const auto features = static_cast<std::size_t>(image_.features());
  const std::uint64_t own_seed = seed_for(seed, "augmentation");
  for (std::int64_t i = 0; i < shape.tokens(); ++i) {
    const Crop cut =
        random_cut(padding_, Random(seed_for(own_seed, static_cast<std::uint64_t>(k * shape.tokens() + i))));
    apply(cut, image_, std::span(batch.tokens).subspan(static_cast<std::size_t>(i) * features, features));
  }
  return batch;
}

}  // namespace plumb
