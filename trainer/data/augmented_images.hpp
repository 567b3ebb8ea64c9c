#pragma once

#include <memory>

#include "models/network/layer_shape.hpp"
#include "trainer/data/training_data.hpp"

namespace plumb {

/// Random crops of images: `padding` black pixels are put on every side, a piece as large as the image is cut out at a
/// random place, and mirrored or not. (He et al., ResNet, CVPR 2016, section 4.2: padding 4.) What is done to an image
/// follows from the seed and its number in the run, so every executor sees the same bits, and every epoch other crops.
/// Held-out images are not changed.
class AugmentedImages final : public TrainingData {
 public:
  /// Throws `Error` when a row of `images` is not one of `image`, and for a padding below 0 or above the sides.
  AugmentedImages(std::unique_ptr<const TrainingData> images, const ImageShape& image, std::int64_t padding);

  DataFacts facts() const override;
  Microbatch microbatch(std::int64_t k, const MicrobatchShape& shape, std::uint64_t seed) const override;
  std::int64_t held_out_samples(std::int64_t sequence) const override { return images_->held_out_samples(sequence); }
  Microbatch held_out(std::int64_t first, const MicrobatchShape& shape) const override {
    return images_->held_out(first, shape);
  }

 private:
  std::unique_ptr<const TrainingData> images_;
  ImageShape image_;
  std::int64_t padding_;
};

}  // namespace plumb
