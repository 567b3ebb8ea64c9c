#include "trainer/run/bleu.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>

namespace plumb {
namespace {

constexpr std::size_t kLongestRun = 4;

using Runs = std::map<std::vector<std::int32_t>, std::int64_t>;

Runs runs_of(const std::vector<std::int32_t>& words, std::size_t length) {
  Runs runs;
  for (std::size_t i = 0; i + length <= words.size(); ++i) {
    const auto begin = words.begin() + static_cast<std::ptrdiff_t>(i);
    ++runs[{begin, begin + static_cast<std::ptrdiff_t>(length)}];
  }
  return runs;
}

}  // namespace

double bleu(const std::vector<TranslatedSentence>& sentences) {
  double made_words = 0;
  double reference_words = 0;
  for (const TranslatedSentence& sentence : sentences) {
    made_words += static_cast<double>(sentence.made.size());
    reference_words += static_cast<double>(sentence.reference.size());
  }
  double logarithms = 0;
  int lengths = 0;
  for (std::size_t length = 1; length <= kLongestRun; ++length) {
    double made = 0;
    double found = 0;
    bool reached = false;
    for (const TranslatedSentence& sentence : sentences) {
      const Runs reference = runs_of(sentence.reference, length);
      reached = reached || !reference.empty();
      for (const auto& [run, times] : runs_of(sentence.made, length)) {
        made += static_cast<double>(times);
        const auto same = reference.find(run);
        if (same != reference.end()) found += static_cast<double>(std::min(times, same->second));
      }
    }
    if (!reached) continue;
    if (found == 0) return 0;
    logarithms += std::log(found / made);
    ++lengths;
  }
  if (lengths == 0) return 0;
  const double brevity = made_words < reference_words ? std::exp(1 - reference_words / made_words) : 1;
  return brevity * std::exp(logarithms / lengths);
}

}  // namespace plumb
