#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "trainer/data/training_data.hpp"

namespace plumb {

/// Byte-level language data: the tokens are the bytes of a text, the target of each is the next byte.
class TextData final : public TrainingData {
 public:
  static constexpr std::int64_t kVocabulary = 256;

  /// `held_out_bytes` at the end of the text are kept for evaluation.
  explicit TextData(std::string text, std::int64_t held_out_bytes = 0);

  /// Any file. Throws Error when it cannot be read.
  static TextData from_file(const std::filesystem::path& path);

  std::int64_t size() const { return static_cast<std::int64_t>(text_.size()); }

  DataFacts facts() const override;
  /// Samples begin at places that follow from `seed`, `k` and the sample alone. Throws Error when the text is shorter
  /// than a sample and its last target.
  Microbatch microbatch(std::int64_t k, const MicrobatchShape& shape, std::uint64_t seed) const override;
  /// Returns one sample after the other.
  std::int64_t held_out_samples(std::int64_t sequence) const override;
  Microbatch held_out(std::int64_t first, const MicrobatchShape& shape) const override;

 private:
  void append(std::int64_t start, std::int64_t sequence, Microbatch& batch) const;

  std::string text_;
  std::int64_t training_bytes_;  ///< at the beginning of the text
};

}  // namespace plumb
