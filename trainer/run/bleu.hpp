#pragma once

#include <cstdint>
#include <vector>

namespace plumb {

/// Words that the same sentence has by a translator and by the data, as numbers.
struct TranslatedSentence {
  std::vector<std::int32_t> made;
  std::vector<std::int32_t> reference;
};

/// BLEU of a corpus, 0 to 1: the geometric mean of the shares of runs of 1 to 4 words of what was made that the
/// references have, too (each as often as the reference has it), times exp(1 - reference words / made words) where less
/// was made. Lengths of runs that no sentence reaches do not count; no smoothing. (Papineni et al., ACL 2002)
double bleu(const std::vector<TranslatedSentence>& sentences);

}  // namespace plumb
