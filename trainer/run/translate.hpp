#pragma once

#include <cstdint>

#include "trainer/plan/train_options.hpp"

namespace plumb {

/// How well held-out sentences are translated word by word, each word read back as the next input.
struct Translation {
  double bleu = 0;   ///< 0 to 1 (trainer/run/bleu.hpp)
  double exact = 0;  ///< share of sentences that are translated without a mistake
  std::int64_t sentences = 0;

  friend bool operator==(const Translation&, const Translation&) = default;
};

/// Throws `Error` unless the data are pairs of sentences.
void check_pairs(const TrainingData& data);

/// Translates the first `sentences` held-out pairs (fewer where fewer are held out), at every place the word with the
/// largest logit, until the end or the longest sentence. Throws `Error` unless the network reads pairs.
Translation translate(const TrainOptions& options, const NamedValues& parameters, std::int64_t sentences);

}  // namespace plumb
