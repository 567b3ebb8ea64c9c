#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "models/network/layer_shape.hpp"
#include "trainer/data/training_data.hpp"

namespace plumb {

/// Labelled images in memory: a row of bytes each, pixel after pixel from the top left, the channels of a pixel
/// together.
struct LabelledImages {
  std::vector<std::uint8_t> bytes;
  std::vector<std::uint8_t> labels;
};

/// Images and their classes. Every epoch goes through all of them, in an order that follows from the seed.
class ImageData final : public TrainingData {
 public:
  /// `name` is for messages: "images of shapes". Throws Error when bytes and labels do not fit `image`, or none is to
  /// train on.
  ImageData(std::string name, const ImageShape& image, LabelledImages training, LabelledImages held_out);

  /// Returns the binary version of CIFAR-10: records of a label byte, then 1024 bytes each of red, green and blue. A
  /// directory holds data_batch_1.bin to data_batch_5.bin (as many as there are) and test_batch.bin, which is held out;
  /// of a single file the last tenth is. Throws Error, naming file and record.
  static ImageData from_cifar10(const std::filesystem::path& path);
  /// Reads the content of a single file; `path` is for messages.
  static ImageData from_cifar10_records(std::string_view records, const std::filesystem::path& path);

  DataFacts facts() const override;
  Microbatch microbatch(std::int64_t k, const MicrobatchShape& shape, std::uint64_t seed) const override;
  std::int64_t held_out_samples(std::int64_t sequence) const override;
  Microbatch held_out(std::int64_t first, const MicrobatchShape& shape) const override;

 private:
  void append(const LabelledImages& from, std::int64_t sample, Microbatch& batch) const;

  std::string name_;
  ImageShape image_;
  LabelledImages training_;
  LabelledImages held_out_;
};

}  // namespace plumb
