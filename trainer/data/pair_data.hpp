#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "trainer/data/training_data.hpp"

namespace plumb {

/// A sentence and its translation, word by word.
struct WordPair {
  std::vector<std::string> source;
  std::vector<std::string> target;
};

/// Pairs of sentences for an encoder-decoder. Ids: 0 padding, 1 begin, 2 end, then the words by frequency, for source
/// and target apart. Streams of a sample, padded to its length: tokens = source, end; target tokens = begin, target;
/// targets = target, end, and after it -1. Every epoch goes through all pairs, in an order that follows from the seed.
class PairData final : public TrainingData {
 public:
  static constexpr std::int32_t kPadding = 0;
  static constexpr std::int32_t kBegin = 1;
  static constexpr std::int32_t kEnd = 2;
  static constexpr std::int32_t kFirstWord = 3;

  /// The vocabulary is that of both parts. Throws Error when there is nothing to train on.
  PairData(std::string name, const std::vector<WordPair>& training, const std::vector<WordPair>& held_out);

  /// Lines of source, tabulator, target; words are separated by blanks. Every tenth pair is held out. Throws Error,
  /// naming the line.
  static PairData from_file(const std::filesystem::path& path);
  /// Reads the text of a file; `path` is for messages.
  static PairData from_text(std::string text, const std::filesystem::path& path);

  DataFacts facts() const override;
  Microbatch microbatch(std::int64_t k, const MicrobatchShape& shape, std::uint64_t seed) const override;
  std::int64_t held_out_samples(std::int64_t sequence) const override;
  Microbatch held_out(std::int64_t first, const MicrobatchShape& shape) const override;

 private:
  struct IdPair {
    std::vector<std::int32_t> source;
    std::vector<std::int32_t> target;
  };
  static void append(const IdPair& pair, std::int64_t sequence, Microbatch& batch);

  std::string name_;
  std::vector<IdPair> training_;
  std::vector<IdPair> held_out_;
  std::int64_t source_words_ = 0;
  std::int64_t target_words_ = 0;
};

}  // namespace plumb
