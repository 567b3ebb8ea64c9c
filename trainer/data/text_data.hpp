#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "trainer/data/training_data.hpp"

namespace plumb {

/// Language data: the tokens are the bytes of a text, or ids that a tokenizer made of one. The target of each is the
/// next token.
class TextData final : public TrainingData {
 public:
  static constexpr std::int64_t kVocabulary = 256;

  /// The last `held_out` bytes of the text are kept for evaluation.
  explicit TextData(std::string text, std::int64_t held_out = 0);

  /// The contents of a file of token ids: unsigned numbers of 16 bits, the low byte first, as nanoGPT writes them, or
  /// after the header of llm.c (256 numbers of 32 bits). `name` is for messages. Throws `Error` for anything else.
  static TextData of_ids(std::string contents, const std::string& name);

  /// Keeps this many tokens at the end for evaluation.
  void hold_out(std::int64_t tokens) { training_tokens_ = size() - std::min(tokens, size()); }

  /// Returns the number of tokens.
  std::int64_t size() const {
    return (static_cast<std::int64_t>(text_.size()) - first_byte_) / static_cast<std::int64_t>(token_bytes_);
  }

  DataFacts facts() const override;
  /// Samples begin at places that follow from `seed`, `k` and the sample alone. Throws Error when the text is shorter
  /// than a sample and its last target.
  Microbatch microbatch(std::int64_t k, const MicrobatchShape& shape, std::uint64_t seed) const override;
  /// Returns one sample after the other.
  std::int64_t held_out_samples(std::int64_t sequence) const override;
  Microbatch held_out(std::int64_t first, const MicrobatchShape& shape) const override;

 private:
  void append(std::int64_t start, std::int64_t sequence, Microbatch& batch) const;

  std::int32_t token(std::int64_t at) const;

  std::string text_;
  std::int64_t first_byte_ = 0;  ///< after a header
  std::int32_t token_bytes_ = 1;
  std::int64_t vocabulary_ = kVocabulary;
  std::int64_t training_tokens_;  ///< at the beginning
};

}  // namespace plumb
