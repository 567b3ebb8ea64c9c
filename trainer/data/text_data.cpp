#include "trainer/data/text_data.hpp"

#include <algorithm>
#include <utility>

#include "models/ground/error.hpp"
#include "models/ground/text_file.hpp"
#include "trainer/ground/random.hpp"

namespace plumb {

TextData::TextData(std::string text, std::int64_t held_out_bytes)
    : text_(std::move(text)), training_bytes_(size() - std::min(held_out_bytes, size())) {}

TextData TextData::from_file(const std::filesystem::path& path) {
  return TextData(read_text_file(path, kTrainingDataFile));
}

DataFacts TextData::facts() const {
  DataFacts facts;
  facts.name = "bytes of text";
  facts.vocabulary = facts.classes = kVocabulary;
  facts.identity = std::to_string(size()) + " bytes of text";
  if (training_bytes_ < size()) facts.identity += ", " + std::to_string(size() - training_bytes_) + " held out";
  return facts;
}

void TextData::append(std::int64_t start, std::int64_t sequence, Microbatch& batch) const {
  for (std::int64_t t = 0; t < sequence; ++t) {
    const auto at = static_cast<std::size_t>(start + t);
    batch.tokens.push_back(static_cast<unsigned char>(text_[at]));
    batch.targets.push_back(static_cast<unsigned char>(text_[at + 1]));
  }
}

Microbatch TextData::microbatch(std::int64_t k, const MicrobatchShape& shape, std::uint64_t seed) const {
  if (training_bytes_ < shape.sequence + 1) {
    throw Error("training text: " + std::to_string(training_bytes_) + " bytes, expected at least " +
                std::to_string(shape.sequence + 1) + " (one sequence and the byte after it)");
  }
  Microbatch batch;
  const std::uint64_t stream = seed_for(seed, static_cast<std::uint64_t>(k));
  for (std::int64_t sample = 0; sample < shape.samples; ++sample) {
    Random random(seed_for(stream, static_cast<std::uint64_t>(sample)));
    const std::uint64_t start = random.below(static_cast<std::uint64_t>(training_bytes_ - shape.sequence));
    append(static_cast<std::int64_t>(start), shape.sequence, batch);
  }
  return batch;
}

std::int64_t TextData::held_out_samples(std::int64_t sequence) const {
  return std::max<std::int64_t>(0, size() - training_bytes_ - 1) / sequence;
}

Microbatch TextData::held_out(std::int64_t first, const MicrobatchShape& shape) const {
  Microbatch batch;
  for (std::int64_t sample = first; sample < first + shape.samples; ++sample) {
    append(training_bytes_ + sample * shape.sequence, shape.sequence, batch);
  }
  return batch;
}

}  // namespace plumb
