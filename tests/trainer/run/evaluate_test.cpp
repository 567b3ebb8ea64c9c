#include "trainer/run/evaluate.hpp"

#include <cmath>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "models/import/load_network.hpp"
#include "schedules/catalogue/registry.hpp"
#include "trainer/data/number_words.hpp"
#include "trainer/data/shape_images.hpp"
#include "trainer/run/bleu.hpp"
#include "trainer/run/translate.hpp"
#include "trainer/train.hpp"

TEST_SUITE_BEGIN("trainer");

namespace plumb {
namespace {

/// A run of two updates on one device, whose final weights are kept.
TrainOptions short_run(const std::string& network, const TrainingData& data, std::int64_t samples) {
  TrainOptions options;
  options.model.network = load_network(network);
  options.schedule = generate("gpipe", {.num_devices = 1, .num_microbatches = 2});
  options.model.partition = equal_partition(options.model.network, 1);
  options.model.shape = {samples, options.model.network.sequence};
  options.model.numbers = NumberType::kFloat64;
  options.optimization.steps = 2;
  options.data = &data;
  options.execution.executor = "serial";
  options.observation.keep_parameters = true;
  return options;
}

}  // namespace

TEST_CASE("an evaluation does not depend on the microbatches of the run, and counts every held-out sample") {
  const ImageData images = shape_images({.training = 64, .held_out = 37});
  const PairData pairs = number_pairs(3, 100, 37);
  for (const std::string network : {"resnet-20-tiny", "resnet-20-tiny-gn", "transformer-tiny"}) {
    CAPTURE(network);
    const bool translates = network == "transformer-tiny";
    const TrainingData& data = translates ? static_cast<const TrainingData&>(pairs) : images;
    TrainOptions options = short_run(network, data, 4);
    const NamedValues weights = train(options).parameters;
    const Evaluation by_four = evaluate(options, weights);
    if (!translates) CHECK(by_four.targets == 37);
    for (const std::int64_t samples : {1, 5, 64}) {
      CAPTURE(samples);
      options.model.shape.samples = samples;
      const Evaluation other = evaluate(options, weights);
      CHECK(other.targets == by_four.targets);
      CHECK(other.accuracy == by_four.accuracy);
      CHECK(other.loss == doctest::Approx(by_four.loss).epsilon(1e-12));
    }
  }
}

TEST_CASE("translations are those of the words one by one, and of a trained network they are right") {
  const PairData pairs = number_pairs(1, 8, 2);
  TrainOptions options = short_run("transformer-tiny", pairs, 4);
  const Translation before = translate(options, train(options).parameters, 2);
  CHECK(before.sentences == 2);
  CHECK(before.exact == 0);
  // Digits into words, learned by heart: what is held out is a digit that was never seen, so the training data are
  // tried as if they were held out.
  struct SeenPairs final : TrainingData {
    explicit SeenPairs(const TrainingData& of) : of_(of) {}
    DataFacts facts() const override { return of_.facts(); }
    Microbatch microbatch(std::int64_t k, const MicrobatchShape& shape, std::uint64_t seed) const override {
      return of_.microbatch(k, shape, seed);
    }
    std::int64_t held_out_samples(std::int64_t) const override { return 8; }
    Microbatch held_out(std::int64_t first, const MicrobatchShape& shape) const override {
      return of_.microbatch(first, shape, 0);
    }
    const TrainingData& of_;
  };
  const SeenPairs seen(pairs);
  options.data = &seen;
  options.optimization.steps = 150;
  options.optimization.learning_rate.base = 0.01;
  const Translation after = translate(options, train(options).parameters, 1);
  CHECK(after.sentences == 1);
  CHECK(after.exact == 1);
  CHECK(after.bleu == 1);
}

TEST_CASE("only pairs can be translated") {
  const ImageData images = shape_images({.training = 16, .held_out = 4});
  const TrainOptions options = short_run("resnet-20-tiny-gn", images, 4);
  CHECK_THROWS_WITH_AS(translate(options, {}, 4), doctest::Contains("expected pairs of sentences"), Error);
}

TEST_CASE("BLEU is that of its definition") {
  using Words = std::vector<std::int32_t>;
  const Words sentence{1, 2, 3, 4, 5, 6};
  CHECK(bleu({{sentence, sentence}}) == 1);
  CHECK(bleu({{{7, 8, 9}, sentence}}) == 0);
  // The last word is wrong: 5 of 6 words, 4 of 5 pairs, 3 of 4 triples, 2 of 3 of four.
  CHECK(bleu({{{1, 2, 3, 4, 5, 9}, sentence}}) ==
        doctest::Approx(std::pow(5.0 / 6 * 4 / 5 * 3 / 4 * 2 / 3, 0.25)).epsilon(1e-12));
  // A word too few: all that is there is right, and the brevity is punished.
  CHECK(bleu({{{1, 2, 3, 4, 5}, sentence}}) == doctest::Approx(std::exp(1 - 6.0 / 5)).epsilon(1e-12));
  // A word counts as often as the reference has it (the example of the paper: "the the the ...").
  CHECK(bleu({{{1, 1, 1}, {1, 2, 3}}}) == 0);
  CHECK(bleu({{{1, 1}, {1}}}) == doctest::Approx(0.5).epsilon(1e-12));
}

}  // namespace plumb

TEST_SUITE_END();
