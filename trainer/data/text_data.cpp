#include "trainer/data/text_data.hpp"

#include <algorithm>
#include <utility>

#include "models/ground/error.hpp"
#include "trainer/ground/random.hpp"

namespace plumb {

namespace {

constexpr std::int64_t kIdBytes = 2;

/// The header of llm.c: magic number, version, number of tokens, and zeros.
constexpr std::int64_t kHeaderNumbers = 256;
constexpr std::uint32_t kHeaderMagic = 20240520;
constexpr std::uint32_t kHeaderVersion = 1;

/// Returns the number of `bytes` bytes at a place of a text, the low byte first.
std::uint32_t number_at(const std::string& text, std::int64_t at, std::int64_t bytes) {
  std::uint32_t number = 0;
  for (std::int64_t i = bytes; i-- > 0;)
    number = number << 8U | static_cast<unsigned char>(text[static_cast<std::size_t>(at + i)]);
  return number;
}

}  // namespace

TextData::TextData(std::string text, std::int64_t held_out) : text_(std::move(text)), training_tokens_(0) {
  hold_out(held_out);
}

TextData TextData::of_ids(std::string contents, const std::string& name) {
  constexpr std::int64_t kWord = 4;
  TextData data(std::move(contents));
  const auto size = static_cast<std::int64_t>(data.text_.size());
  data.token_bytes_ = kIdBytes;
  if (size >= kHeaderNumbers * kWord && number_at(data.text_, 0, kWord) == kHeaderMagic) {
    const std::uint32_t version = number_at(data.text_, kWord, kWord);
    const std::uint32_t tokens = number_at(data.text_, 2 * kWord, kWord);
    data.first_byte_ = kHeaderNumbers * kWord;
    if (version != kHeaderVersion || size - data.first_byte_ != kIdBytes * static_cast<std::int64_t>(tokens)) {
      throw Error(name + ": a header of version " + std::to_string(version) + " with " + std::to_string(tokens) +
                  " tokens before " + std::to_string(size - data.first_byte_) +
                  " bytes; expected version 1 and two bytes per token");
    }
  }
  if (size % kIdBytes != 0) {
    throw Error(name + ": " + std::to_string(size) + " bytes of token ids; expected two bytes per token");
  }
  data.vocabulary_ = 1;
  for (std::int64_t at = 0; at < data.size(); ++at)
    data.vocabulary_ = std::max<std::int64_t>(data.vocabulary_, data.token(at) + 1);
  data.hold_out(0);
  return data;
}

std::int32_t TextData::token(std::int64_t at) const {
  return static_cast<std::int32_t>(number_at(text_, first_byte_ + at * token_bytes_, token_bytes_));
}

DataFacts TextData::facts() const {
  DataFacts facts;
  facts.name = token_bytes_ == 1 ? "bytes of text" : "token ids";
  facts.vocabulary = facts.classes = vocabulary_;
  facts.identity = std::to_string(size()) + " " + facts.name;
  if (training_tokens_ < size()) facts.identity += ", " + std::to_string(size() - training_tokens_) + " held out";
  return facts;
}

void TextData::append(std::int64_t start, std::int64_t sequence, Microbatch& batch) const {
  for (std::int64_t t = 0; t < sequence; ++t) {
    batch.tokens.push_back(token(start + t));
    batch.targets.push_back(token(start + t + 1));
  }
}

Microbatch TextData::microbatch(std::int64_t k, const MicrobatchShape& shape, std::uint64_t seed) const {
  if (training_tokens_ < shape.sequence + 1) {
    const std::string token = token_bytes_ == 1 ? "byte" : "token";
    throw Error("training text: " + std::to_string(training_tokens_) + " " + token + "s, expected at least " +
                std::to_string(shape.sequence + 1) + " (one sequence and the " + token + " after it)");
  }
  Microbatch batch;
  const std::uint64_t stream = seed_for(seed, static_cast<std::uint64_t>(k));
  for (std::int64_t sample = 0; sample < shape.samples; ++sample) {
    Random random(seed_for(stream, static_cast<std::uint64_t>(sample)));
    const std::uint64_t start = random.below(static_cast<std::uint64_t>(training_tokens_ - shape.sequence));
    append(static_cast<std::int64_t>(start), shape.sequence, batch);
  }
  return batch;
}

std::int64_t TextData::held_out_samples(std::int64_t sequence) const {
  return std::max<std::int64_t>(0, size() - training_tokens_ - 1) / sequence;
}

Microbatch TextData::held_out(std::int64_t first, const MicrobatchShape& shape) const {
  Microbatch batch;
  for (std::int64_t sample = first; sample < first + shape.samples; ++sample) {
    append(training_tokens_ + sample * shape.sequence, shape.sequence, batch);
  }
  return batch;
}

}  // namespace plumb
