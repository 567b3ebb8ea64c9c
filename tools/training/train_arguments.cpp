#include "tools/training/train_arguments.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "models/ground/error.hpp"
#include "models/ground/text_file.hpp"
#include "models/import/load_network.hpp"
#include "models/network/layer_shape.hpp"
#include "tools/options/choice.hpp"
#include "tools/options/cost_arguments.hpp"
#include "tools/training/demo_text.hpp"
#include "trainer/backends/backends.hpp"
#include "trainer/data/augmented_images.hpp"
#include "trainer/data/image_data.hpp"
#include "trainer/data/number_words.hpp"
#include "trainer/data/pair_data.hpp"
#include "trainer/data/shape_images.hpp"
#include "trainer/data/text_data.hpp"
#include "trainer/executors/executor.hpp"

namespace plumb {
namespace {

/// Names on the command line, in the order of the enumerators.
constexpr std::array<std::string_view, 4> kOptimizers{"sgd", "adam", "adamw", "nadam"};
constexpr std::array<std::string_view, 4> kDecays{"constant", "cosine", "inverse-sqrt", "step"};
constexpr std::array<std::string_view, 3> kNumberNames{"float32", "float64", "bf16"};  // in the order of NumberType
constexpr std::array<std::string_view, 2> kClips{"stage", "global"};

/// Generated data.
constexpr std::string_view kShapes = "shapes";
constexpr std::string_view kNumbersInWords = "numbers";
/// Of a text, what is kept for evaluation.
constexpr std::int64_t kHeldOutPart = 10;

LearningRateOptions learning_rate_options(const TrainArguments& arguments, std::int64_t steps) {
  LearningRateOptions options;
  options.kind = choice<LearningRateKind>(kDecays, "learning-rate schedule", arguments.decay);
  options.base = arguments.learning_rate.value_or(options.base);
  options.warmup = arguments.warmup.value_or(options.warmup);
  options.total = steps;
  return options;
}

const LayerSpec* find_kind(const Network& network, LayerKind kind) {
  const auto found = std::ranges::find(network.layers, kind, &LayerSpec::kind);
  return found == network.layers.end() ? nullptr : &*found;
}

/// Images as large as the network reads them, of as many classes as it tells apart.
std::unique_ptr<TrainingData> load_images(const std::string& data, const LayerSpec& pixels,
                                          const LayerSpec& classifier) {
  if (!data.empty() && data != kShapes) return std::make_unique<ImageData>(ImageData::from_cifar10(data));
  ShapeImageOptions options;
  options.image = input_image(pixels);
  options.classes = classifier.vocabulary;
  return std::make_unique<ImageData>(shape_images(options));
}

/// Pairs from a file, or numbers of as many digits as fit: n digits are at most 2 n - 1 words and an end.
std::unique_ptr<TrainingData> load_pairs(const std::string& data, std::int64_t sequence) {
  if (!data.empty() && data != kNumbersInWords) return std::make_unique<PairData>(PairData::from_file(data));
  return std::make_unique<PairData>(number_pairs(std::clamp<std::int64_t>(sequence / 2, 1, 6)));
}

}  // namespace

void ModelArguments::add_to(ArgumentParser& parser) {
  parser.group("Model")
      .text("network", network, "NAME|FILE", "model, see `plumbline networks`")
      .text("data", data, "WHAT",
            "text: any file (default: the demo's); images: a CIFAR-10 file or directory, or shapes (default); "
            "translation: a file of tab-separated pairs, or numbers (default)")
      .whole("augment", augment, {0},
             "images: cut them out anew each time, moved by at most so many pixels, and mirror them at random "
             "(default: as they are)")
      .text("backend", backend, "NAME", "see `plumbline version` (default: cpu)")
      .text("partition", partition, "HOW",
            "equal, finest (a layer with weights per stage), or layers of each stage: 3,4,4,3 (default: equal)")
      .whole("samples", samples, {}, "samples per microbatch (default: the network's)")
      .whole("sequence", sequence, {}, "tokens per sample (default: the network's)")
      .text("numbers", numbers, "TYPE",
            "float32, float64, or bf16 with float32 weights, gradients and optimizer (default: float32)")
      .text("optimizer", optimizer, "NAME", "sgd, adam, adamw or nadam (default: adamw)")
      .real("momentum", momentum, {0, 1}, "of sgd (default: 0.9)")
      .real("weight-decay", weight_decay, {0}, "of matrices and tables (default: 0.01)");
}

Network ModelArguments::load_network() const {
  if (network.empty()) throw Error("the model is not known, expected --network NAME, such as gpt-tiny");
  return network_to_cut(partition, plumb::load_network(network));
}

MicrobatchShape ModelArguments::shape(const Network& of) const {
  return {samples.value_or(of.samples), sequence.value_or(of.sequence)};
}

OptimizerOptions ModelArguments::optimizer_options() const {
  OptimizerOptions options;
  options.kind = choice<OptimizerKind>(kOptimizers, "optimizer", optimizer);
  options.momentum = momentum.value_or(options.momentum);
  options.weight_decay = weight_decay.value_or(options.weight_decay);
  return options;
}

NumberType ModelArguments::number_type() const { return choice<NumberType>(kNumberNames, "type of numbers", numbers); }

std::unique_ptr<TrainingData> ModelArguments::load_data(const Network& of) const {
  if (const LayerSpec* pixels = find_kind(of, LayerKind::kPixels)) {
    std::unique_ptr<TrainingData> images = load_images(data, *pixels, of.layers.back());
    if (!augment) return images;
    return std::make_unique<AugmentedImages>(std::move(images), input_image(*pixels), *augment);
  }
  if (augment) throw Error("--augment: network '" + of.name + "' reads no images, expected one that does");
  const bool translates = std::ranges::any_of(of.layers, &LayerSpec::target);
  if (translates) return load_pairs(data, of.sequence);
  std::string text = data.empty() ? std::string(kDemoText) : read_text_file(data);
  const auto held_out = evaluate_every ? static_cast<std::int64_t>(text.size()) / kHeldOutPart : 0;
  return std::make_unique<TextData>(std::move(text), held_out);
}

void TrainArguments::add_to(ArgumentParser& parser) {
  model.add_to(parser);
  parser.group("Training")
      .text("executor", executor, "NAME",
            "threads (one per device), serial, or streams (default: that of the back end)")
      .whole("seed", seed, {0}, "of weights and data (default: 0)")
      .real("learning-rate", learning_rate, {0}, "(default: 0.001)")
      .text("decay", decay, "NAME", "of the learning rate: constant, cosine, inverse-sqrt or step (default: constant)")
      .whole("evaluate-every", model.evaluate_every, {1},
             "updates between evaluations on held-out data (default: never)")
      .whole("evaluate-samples", evaluate_samples, {1}, "held-out samples of an evaluation (default: all)")
      .whole("warmup", warmup, {0}, "updates over which the learning rate rises (default: 0)")
      .real("clip-norm", clip_norm, {0}, "largest norm of the gradient (default: not clipped)")
      .text("clip", clip, "SCOPE", "stage: every stage by itself, or global: all together (default: stage)");
  streams.add_to(parser);
}

TrainOptions TrainArguments::options(std::int32_t num_stages, std::int64_t steps) const {
  TrainOptions options;
  options.network = model.load_network();
  options.partition = load_partition(model.partition, options.network, num_stages, {});
  options.shape = model.shape(options.network);
  options.seed = static_cast<std::uint64_t>(seed.value_or(0));
  options.optimizer = model.optimizer_options();
  options.learning_rate = learning_rate_options(*this, steps);
  if (clip_norm && *clip_norm == 0) throw Error("--clip-norm: 0 leaves nothing of a gradient, expected a norm above 0");
  options.clip_norm = clip_norm.value_or(0);
  if (!clip.empty()) options.clip_scope = choice<ClipScope>(kClips, "scope of the clipping", clip);
  if (!clip.empty() && !clip_norm) throw Error("--clip: the largest norm is not known, expected --clip-norm X");
  options.steps = steps;
  options.evaluation = {
      .every = model.evaluate_every.value_or(0), .samples = evaluate_samples.value_or(0), .on_evaluation = {}};
  options.numbers = model.number_type();
  options.backend = model.backend;
  options.executor = executor.empty() ? std::string(usual_executor(backend(model.backend))) : executor;
  options.streams = streams.options(backend(options.backend), options.executor);
  return options;
}

}  // namespace plumb
