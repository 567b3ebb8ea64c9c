#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "models/part.hpp"

namespace plumb {

/// Byte-level language data: the tokens are the bytes of a text, the target of each is the next byte.
class TextData {
 public:
  static constexpr std::int64_t kVocabulary = 256;

  /// Tokens and targets of one microbatch, sample after sample.
  struct Microbatch {
    std::vector<std::int32_t> tokens;
    std::vector<std::int32_t> targets;
  };

  /// Tokens and targets of a part of `whole`.
  static Microbatch part_of(const Microbatch& whole, const PartPlace& place);

  explicit TextData(std::string text) : text_(std::move(text)) {}

  /// Any file. Throws Error when it cannot be read.
  static TextData from_file(const std::filesystem::path& path);

  std::int64_t size() const { return static_cast<std::int64_t>(text_.size()); }

  /// Microbatch number `k`: samples begin at places that follow from `seed`, `k` and the sample alone, so every
  /// schedule sees the same data. Throws Error when the text is shorter than a sample and its last target.
  Microbatch microbatch(std::int64_t k, const MicrobatchShape& shape, std::uint64_t seed) const;

 private:
  std::string text_;
};

}  // namespace plumb
