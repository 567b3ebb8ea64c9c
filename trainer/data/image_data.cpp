#include "trainer/data/image_data.hpp"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "models/ground/error.hpp"
#include "models/ground/text_file.hpp"
#include "trainer/ground/permutation.hpp"

namespace plumb {
namespace {

constexpr const char* kCifarName = "images of CIFAR-10";
constexpr ImageShape kCifarImage{32, 32, 3};
constexpr std::size_t kCifarClasses = 10;
constexpr std::size_t kCifarRecord = 1 + 3 * 32 * 32;

/// Appends the records of a file; its planes of colours become pixels.
void read_cifar_records(std::string_view text, const std::filesystem::path& path, LabelledImages& images) {
  if (text.empty() || text.size() % kCifarRecord != 0) {
    throw Error(path.string() + ": " + std::to_string(text.size()) + " bytes, expected records of " +
                std::to_string(kCifarRecord) + " bytes (CIFAR-10, binary version)");
  }
  const auto pixels = static_cast<std::size_t>(kCifarImage.pixels());
  for (std::size_t record = 0; record < text.size() / kCifarRecord; ++record) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data()) + record * kCifarRecord;
    if (bytes[0] >= kCifarClasses) {
      throw Error(path.string() + ": record " + std::to_string(record) + ": label " + std::to_string(bytes[0]) +
                  ", expected 0 to 9");
    }
    images.labels.push_back(bytes[0]);
    for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
      for (std::size_t channel = 0; channel < 3; ++channel) images.bytes.push_back(bytes[1 + channel * pixels + pixel]);
    }
  }
}

void read_cifar_file(const std::filesystem::path& path, LabelledImages& images) {
  read_cifar_records(read_text_file(path, kTrainingDataFile), path, images);
}

LabelledImages split_off_from(LabelledImages& images, std::size_t count, std::size_t features) {
  LabelledImages rest;
  rest.labels.assign(images.labels.begin() + static_cast<std::ptrdiff_t>(count), images.labels.end());
  rest.bytes.assign(images.bytes.begin() + static_cast<std::ptrdiff_t>(count * features), images.bytes.end());
  images.labels.resize(count);
  images.bytes.resize(count * features);
  return rest;
}

std::uint64_t hash_of(const LabelledImages& images, std::uint64_t hash) {
  for (const auto* bytes : {&images.bytes, &images.labels}) {
    for (const std::uint8_t byte : *bytes) hash = (hash ^ byte) * 0x100000001b3U;
  }
  return hash;
}

}  // namespace

ImageData::ImageData(std::string name, const ImageShape& image, LabelledImages training, LabelledImages held_out)
    : name_(std::move(name)), image_(image), training_(std::move(training)), held_out_(std::move(held_out)) {
  for (const LabelledImages* images : {&training_, &held_out_}) {
    if (images->bytes.size() == images->labels.size() * static_cast<std::size_t>(image.features())) continue;
    throw Error(name_ + ": " + std::to_string(images->bytes.size()) + " bytes for " +
                std::to_string(images->labels.size()) + " images, expected " + std::to_string(image.features()) +
                " each");
  }
  if (training_.labels.empty()) throw Error(name_ + ": expected at least one image to train on");
}

ImageData ImageData::from_cifar10(const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path)) return from_cifar10_records(read_text_file(path, kTrainingDataFile), path);
  LabelledImages training;
  LabelledImages held_out;
  for (int number = 1; number <= 5; ++number) {
    const auto file = path / ("data_batch_" + std::to_string(number) + ".bin");
    if (number == 1 || std::filesystem::exists(file)) read_cifar_file(file, training);
  }
  read_cifar_file(path / "test_batch.bin", held_out);
  return ImageData(kCifarName, kCifarImage, std::move(training), std::move(held_out));
}

ImageData ImageData::from_cifar10_records(std::string_view records, const std::filesystem::path& path) {
  LabelledImages training;
  read_cifar_records(records, path, training);
  const std::size_t count = training.labels.size();
  LabelledImages held_out =
      split_off_from(training, count - count / 10, static_cast<std::size_t>(kCifarImage.features()));
  return ImageData(kCifarName, kCifarImage, std::move(training), std::move(held_out));
}

DataFacts ImageData::facts() const {
  DataFacts facts;
  facts.name = name_;
  facts.features = image_.features();
  facts.vocabulary = 256;
  for (const LabelledImages* images : {&training_, &held_out_}) {
    for (const std::uint8_t label : images->labels) facts.classes = std::max<std::int64_t>(facts.classes, label + 1);
  }
  facts.identity = std::to_string(training_.labels.size()) + " + " + std::to_string(held_out_.labels.size()) + " " +
                   name_ + ", hash " + std::to_string(hash_of(held_out_, hash_of(training_, 0xcbf29ce484222325U)));
  return facts;
}

void ImageData::append(const LabelledImages& from, std::int64_t sample, Microbatch& batch) const {
  const auto first = from.bytes.begin() + sample * image_.features();
  batch.tokens.insert(batch.tokens.end(), first, first + image_.features());
  batch.targets.push_back(from.labels[static_cast<std::size_t>(sample)]);
}

Microbatch ImageData::microbatch(std::int64_t k, const MicrobatchShape& shape, std::uint64_t seed) const {
  Microbatch batch;
  batch.tokens.reserve(static_cast<std::size_t>(shape.tokens() * image_.features()));
  const auto count = static_cast<std::int64_t>(training_.labels.size());
  for (std::int64_t i = 0; i < shape.tokens(); ++i) {
    append(training_, epoch_sample(k * shape.tokens() + i, count, seed), batch);
  }
  return batch;
}

std::int64_t ImageData::held_out_samples(std::int64_t sequence) const {
  return static_cast<std::int64_t>(held_out_.labels.size()) / sequence;
}

Microbatch ImageData::held_out(std::int64_t first, const MicrobatchShape& shape) const {
  Microbatch batch;
  for (std::int64_t i = 0; i < shape.tokens(); ++i) append(held_out_, first * shape.sequence + i, batch);
  return batch;
}

}  // namespace plumb
