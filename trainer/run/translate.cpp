#include "trainer/run/translate.hpp"

#include <algorithm>
#include <vector>

#include "trainer/data/pair_data.hpp"
#include "trainer/run/bleu.hpp"
#include "trainer/run/evaluator.hpp"

namespace plumb {
namespace {

/// Sentences that are translated at once.
constexpr std::int64_t kTranslatedTogether = 64;

using WordIds = std::vector<std::int32_t>;

/// Returns the words of a row before its end.
WordIds before_end(const std::int32_t* row, std::int64_t length) {
  const std::int32_t* end =
      std::find_if(row, row + length, [](std::int32_t word) { return word == PairData::kEnd || word < 0; });
  return {row, end};
}

/// Puts what is predicted at place t of each sentence in as the input of place t + 1.
template <class T>
WordIds decoded(Evaluator<T>& evaluator, Microbatch data, std::int64_t samples, std::int64_t length) {
  const WordIds none(data.targets.size(), 0);
  WordIds made(none);
  std::fill(data.target_tokens.begin(), data.target_tokens.end(), PairData::kPadding);
  data.targets = none;
  for (std::int64_t s = 0; s < samples; ++s) {
    data.target_tokens[static_cast<std::size_t>(s * length)] = PairData::kBegin;
  }
  for (std::int64_t t = 0; t < length; ++t) {
    const WordIds largest = evaluator.predictions(ids_of(data, static_cast<double>(samples * length)));
    for (std::int64_t s = 0; s < samples; ++s) {
      const auto place = static_cast<std::size_t>(s * length + t);
      made[place] = largest[place];
      if (t + 1 < length) data.target_tokens[place + 1] = largest[place];
    }
  }
  return made;
}

template <class T>
Translation translated(const TrainOptions& options, const NamedValues& parameters, std::int64_t count) {
  const std::int64_t length = options.model.shape.sequence;
  Evaluators<T> evaluators(options, parameters);
  std::vector<TranslatedSentence> sentences;
  for_each_block(count, kTranslatedTogether, [&](std::int64_t first, std::int64_t size) {
    MicrobatchShape block = options.model.shape;
    block.samples = size;
    const Microbatch data = options.data->held_out(first, block);
    const WordIds made = decoded(evaluators.of(size), data, size, length);
    for (std::int64_t s = 0; s < size; ++s) {
      sentences.push_back(
          {before_end(made.data() + s * length, length), before_end(data.targets.data() + s * length, length)});
    }
  });
  const auto right = std::ranges::count_if(
      sentences, [](const TranslatedSentence& sentence) { return sentence.made == sentence.reference; });
  return {.bleu = bleu(sentences),
          .exact = static_cast<double>(right) / static_cast<double>(sentences.size()),
          .sentences = static_cast<std::int64_t>(sentences.size())};
}

}  // namespace

void check_pairs(const TrainingData& data) {
  const DataFacts facts = data.facts();
  if (facts.target_vocabulary == 0) {
    throw Error("translation: the data are " + facts.name + ", expected pairs of sentences");
  }
}

Translation translate(const TrainOptions& options, const NamedValues& parameters, std::int64_t sentences) {
  check_pairs(*options.data);
  const std::int64_t count = std::min(sentences, options.data->held_out_samples(options.model.shape.sequence));
  if (count < 1) throw Error("translation: no pairs are held out, expected at least one");
  return options.model.numbers == NumberType::kFloat64 ? translated<double>(options, parameters, count)
                                                       : translated<float>(options, parameters, count);
}

}  // namespace plumb
