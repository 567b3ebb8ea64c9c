#include "tools/train_arguments.hpp"

#include <array>

#include "models/error.hpp"
#include "models/network_io.hpp"
#include "tools/choice.hpp"
#include "tools/cost_arguments.hpp"
#include "tools/demo_text.hpp"

namespace plumb {
namespace {

/// Names on the command line, in the order of the enumerators.
constexpr std::array<std::string_view, 4> kOptimizers{"sgd", "adam", "adamw", "nadam"};
constexpr std::array<std::string_view, 4> kDecays{"constant", "cosine", "inverse-sqrt", "step"};
constexpr std::array<std::string_view, 2> kNumbers{"float32", "float64"};
constexpr std::array<std::string_view, 2> kClips{"stage", "global"};

LearningRateOptions learning_rate_options(const TrainArguments& arguments, std::int64_t steps) {
  LearningRateOptions options;
  options.kind = choice<LearningRateKind>(kDecays, "learning-rate schedule", arguments.decay);
  options.base = arguments.learning_rate.value_or(options.base);
  options.warmup = arguments.warmup.value_or(options.warmup);
  options.total = steps;
  return options;
}

}  // namespace

void ModelArguments::add_to(ArgumentParser& parser) {
  parser.group("Model")
      .text("network", network, "NAME|FILE", "model, see `plumbline networks`; tokens are bytes")
      .text("data", data, "FILE", "any file, its bytes are the tokens (default: the demo's text)")
      .text("backend", backend, "NAME", "see `plumbline version` (default: cpu)")
      .text("partition", partition, "HOW", "equal, or layers of each stage: 3,4,4,3 (default: equal)")
      .whole("samples", samples, {}, "samples per microbatch (default: the network's)")
      .whole("sequence", sequence, {}, "tokens per sample (default: the network's)")
      .text("numbers", numbers, "TYPE", "float32 or float64 (default: float32)")
      .text("optimizer", optimizer, "NAME", "sgd, adam, adamw or nadam (default: adamw)")
      .real("momentum", momentum, "of sgd (default: 0.9)")
      .real("weight-decay", weight_decay, "of matrices and tables (default: 0.01)");
}

Network ModelArguments::load_network() const {
  if (network.empty()) throw Error("the model is not known, expected --network NAME, such as gpt-tiny");
  return plumb::load_network(network);
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

NumberType ModelArguments::number_type() const { return choice<NumberType>(kNumbers, "type of numbers", numbers); }

TextData ModelArguments::load_data() const {
  return data.empty() ? TextData(std::string(kDemoText)) : TextData::from_file(data);
}

void TrainArguments::add_to(ArgumentParser& parser) {
  model.add_to(parser);
  parser.group("Training")
      .text("executor", executor, "NAME", "threads (one per device) or serial (default: threads)")
      .whole("seed", seed, {0}, "of weights and data (default: 0)")
      .real("learning-rate", learning_rate, "(default: 0.001)")
      .text("decay", decay, "NAME", "of the learning rate: constant, cosine, inverse-sqrt or step (default: constant)")
      .whole("warmup", warmup, {0}, "updates over which the learning rate rises (default: 0)")
      .real("clip-norm", clip_norm, "largest norm of the gradient (default: not clipped)")
      .text("clip", clip, "SCOPE", "stage: every stage by itself, or global: all together (default: stage)");
}

TrainOptions TrainArguments::options(std::int32_t num_stages, std::int64_t steps) const {
  TrainOptions options;
  options.network = model.load_network();
  options.partition = load_partition(model.partition, options.network, num_stages, {});
  options.shape = model.shape(options.network);
  options.seed = static_cast<std::uint64_t>(seed.value_or(0));
  options.optimizer = model.optimizer_options();
  options.learning_rate = learning_rate_options(*this, steps);
  options.clip_norm = clip_norm.value_or(0);
  if (!clip.empty()) options.clip_scope = choice<ClipScope>(kClips, "scope of the clipping", clip);
  if (!clip.empty() && !clip_norm) throw Error("--clip: the largest norm is not known, expected --clip-norm X");
  options.steps = steps;
  options.numbers = model.number_type();
  options.backend = model.backend;
  options.executor = executor;
  return options;
}

}  // namespace plumb
