#include "tools/training/train_arguments.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "models/ground/error.hpp"
#include "models/ground/text_file.hpp"
#include "models/network/layer_shape.hpp"
#include "models/network/lora.hpp"
#include "models/pricing/cut_network.hpp"
#include "models/stages/layer_work.hpp"
#include "schedules/document/teacher.hpp"
#include "tools/options/cost_arguments.hpp"
#include "tools/options/option_table.hpp"
#include "tools/terminal/words.hpp"
#include "tools/training/demo_text.hpp"
#include "trainer/backends/backends.hpp"
#include "trainer/data/augmented_images.hpp"
#include "trainer/data/image_data.hpp"
#include "trainer/data/number_words.hpp"
#include "trainer/data/pair_data.hpp"
#include "trainer/data/shape_images.hpp"
#include "trainer/data/text_data.hpp"
#include "trainer/executors/executor.hpp"
#include "trainer/run/evaluate.hpp"
#include "trainer/weights/weights_file.hpp"

namespace plumb {

TriedRun train_and_try(TrainOptions options, const FinalTrial& trial) {
  const bool tries = trial.held_out > 0 || trial.translated > 0;
  const std::int64_t there = tries ? options.data->held_out_samples(options.model.shape.sequence) : 0;
  if (trial.held_out > there) {
    throw Error("evaluation at the end: " + std::to_string(there) + " samples are held out, fewer than the " +
                std::to_string(trial.held_out) + " asked for");
  }
  if (trial.translated > 0) check_pairs(*options.data);
  const bool wanted = options.observation.keep_parameters;
  options.observation.keep_parameters = wanted || tries;
  TriedRun run{.result = train(options), .translation = {}};
  if (run.result.parameters.empty()) return run;  // another process has them
  if (trial.held_out > 0) {
    options.observation.evaluation.samples = trial.held_out;
    Evaluation last = evaluate(options, run.result.parameters);
    last.update = static_cast<std::int64_t>(run.result.losses.size());
    if (!run.result.evaluations.empty()) run.result.evaluations.pop_back();
    run.result.evaluations.push_back(last);
  }
  if (trial.translated > 0) run.translation = translate(options, run.result.parameters, trial.translated);
  if (!wanted) run.result.parameters.clear();
  return run;
}

namespace {

constexpr double kUsualWeight = 0.5;

}  // namespace

void TeacherArguments::add_to(OptionTable& parser) {
  parser.group("Teacher (schedule tspipe)")
      .real("teacher-weight", weight, {0, 1},
            "weight X of the teacher in the loss: (1 - X) cross-entropy + X T^2 KL(teacher || student) (default: 0.5)")
      .real("teacher-temperature", temperature, {0}, "T, by which the logits of both are divided (default: 2)")
      .real("teacher-decay", decay, {0, 1},
            "the teacher's weights become X teacher + (1 - X) student, one update late; 1: they stay (default: 0.999, "
            "with --teacher-checkpoint 1)")
      .text("teacher-checkpoint", weights, "FILE",
            "weights that the teacher starts from, as --weights takes them (default: those of its student)");
}

void TeacherArguments::apply(TrainOptions& options, bool adapters) const {
  if (!has_teacher(options.schedule)) {
    if (!weight && !temperature && !decay && weights.empty()) return;
    throw Error("--teacher-weight, --teacher-temperature, --teacher-decay, --teacher-checkpoint: schedule '" +
                options.schedule.name + "' has no teacher, expected one that has, such as tspipe");
  }
  if (temperature && *temperature == 0) throw Error("--teacher-temperature: expected a number above 0");
  if (!weights.empty() && adapters) {
    throw Error(
        "--teacher-checkpoint: student and teacher share what is frozen beside adapters, expected no --lora-rank");
  }
  TeacherOptions& teacher = options.optimization.teacher;
  teacher.weight = weight.value_or(kUsualWeight);
  teacher.temperature = temperature.value_or(teacher.temperature);
  teacher.decay = decay.value_or(weights.empty() ? teacher.decay : 1);
  if (!weights.empty()) options.model.teacher_parameters = read_weights(weights, options.model.network);
}

namespace {

constexpr std::array<std::string_view, 2> kModes{"accuracy", "throughput"};
constexpr std::array<std::string_view, 3> kComputedBy{"own", "cudnn", "fastest"};

/// Who computes `name`, kept in the file `table` where there is one.
ComputedBy computed_by(const std::string& given, const std::string& name, const std::string& table,
                       const std::string& table_name) {
  const auto by = enumerator<ComputedBy>(kComputedBy, name, given.empty() ? "own" : given);
  if (by == ComputedBy::kFastest && table.empty()) {
    throw Error("--" + name + " fastest: times differ from run to run, and so would the bits; expected --" +
                table_name + " with it");
  }
  if (by == ComputedBy::kOwn && !table.empty()) {
    throw Error("--" + table_name + ": nothing is chosen, expected --" + name + " cudnn or fastest with it");
  }
  return by;
}

}  // namespace

void StreamArguments::add_to(OptionTable& parser) {
  constexpr std::int64_t kMost = 4096;
  parser.group("GPUs (back end cuda)")
      .whole("gpus", gpus, {1, kMost},
             "number of GPUs that the devices of the schedule are distributed over (default: 1)")
      .whole("device-sms", sms, {2, kMost}, "multiprocessors per virtual device (default: see --device-mode)")
      .text("device-mode", mode, "MODE",
            "accuracy: 8 multiprocessors per virtual device; throughput: all (default: accuracy)")
      .words(kModes)
      .real("link-latency", link_latency_us, {0},
            "latency of links between virtual devices in microseconds (default: 0)")
      .text("link-bandwidth", link_bandwidth, "BYTES",
            "bandwidth of such links in bytes/s, such as 50GB (default: unlimited)")
      .text("product-table", product_table, "FILE",
            "keep the chosen matrix-product algorithms in FILE and reuse them (default: choose them in every run)")
      .whole("product-trials", product_trials, {1, 32},
             "time that many algorithms for each matrix product and take the fastest; needs --product-table, so that "
             "other runs take it, too (default: 1, the library's first one)")
      .text("attention", attention, "BY",
            "who computes attention in bf16: own kernels, cudnn where its results are the same, or fastest of the two, "
            "which needs --attention-table (default: own)")
      .words(kComputedBy)
      .text("attention-table", attention_table, "FILE",
            "keep the choices of --attention in FILE and reuse them (default: choose in every run)")
      .text("convolutions", convolutions, "BY",
            "who computes convolutions in bf16: own kernels, cudnn where its results are the same, or fastest of the "
            "two, which needs --convolution-table (default: own)")
      .words(kComputedBy)
      .text("convolution-table", convolution_table, "FILE",
            "keep the choices of --convolutions in FILE and reuse them (default: choose in every run)")
      .real("watchdog", watchdog_s, {0}, "end a run on streams after this many seconds without progress (default: 120)")
      .flag("no-graphs", no_graphs, "launch kernels one by one instead of one CUDA graph per action");
}

void StreamArguments::check(const Backend& backend, std::string_view executor) const {
  if (backend.only_streams) return;
  const std::string chosen = "the back end is " + std::string(backend.name);
  const std::array<std::pair<bool, std::string_view>, 11> of_gpus{{{gpus.has_value(), "gpus"},
                                                                   {sms.has_value(), "device-sms"},
                                                                   {!mode.empty(), "device-mode"},
                                                                   {link_latency_us.has_value(), "link-latency"},
                                                                   {!link_bandwidth.empty(), "link-bandwidth"},
                                                                   {!product_table.empty(), "product-table"},
                                                                   {product_trials.has_value(), "product-trials"},
                                                                   {!attention.empty(), "attention"},
                                                                   {!attention_table.empty(), "attention-table"},
                                                                   {!convolutions.empty(), "convolutions"},
                                                                   {!convolution_table.empty(), "convolution-table"}}};
  for (const auto& [given, name] : of_gpus) {
    if (given) throw Error("--" + std::string(name) + ": " + chosen + ", expected --backend cuda with it");
  }
  if (executor == "streams") return;
  const std::array<std::pair<bool, std::string_view>, 2> of_streams{
      {{watchdog_s.has_value(), "watchdog"}, {no_graphs, "no-graphs"}}};
  for (const auto& [given, name] : of_streams) {
    if (given) {
      throw Error("--" + std::string(name) + ": " + chosen + " with executor " + std::string(executor) +
                  ", expected --backend cuda or --executor streams with it");
    }
  }
}

StreamOptions StreamArguments::options(const Backend& backend, std::string_view executor) const {
  check(backend, executor);
  StreamOptions options;
  options.mode = enumerator<PartitionMode>(kModes, "mode", mode.empty() ? std::string(kModes.front()) : mode);
  options.sms = static_cast<std::int32_t>(sms.value_or(0));
  options.gpus = static_cast<std::int32_t>(gpus.value_or(1));
  options.link_latency_s = link_latency_us.value_or(0) * 1e-6;
  if (!link_bandwidth.empty()) {
    options.link_bytes_per_s = static_cast<double>(parse_bytes(link_bandwidth, "--link-bandwidth"));
  }
  options.product_table = product_table;
  options.product_trials = static_cast<std::int32_t>(product_trials.value_or(1));
  if (options.product_trials > 1 && product_table.empty()) {
    throw Error("--product-trials " + std::to_string(options.product_trials) +
                ": times differ from run to run, and so would the bits; expected --product-table with it");
  }
  options.attention = computed_by(attention, "attention", attention_table, "attention-table");
  options.attention_table = attention_table;
  options.convolutions = computed_by(convolutions, "convolutions", convolution_table, "convolution-table");
  options.convolution_table = convolution_table;
  options.watchdog_s = watchdog_s.value_or(options.watchdog_s);
  options.graphs = !no_graphs;
  return options;
}

namespace {

/// Names on the command line, in the order of the enumerators.
constexpr std::array<std::string_view, 4> kOptimizers{"sgd", "adam", "adamw", "nadam"};
constexpr std::array<std::string_view, 4> kDecays{"constant", "cosine", "inverse-sqrt", "step"};
constexpr std::array<std::string_view, 3> kNumberNames{"float32", "float64", "bf16"};  // in the order of NumberType
constexpr std::array<std::string_view, 2> kClips{"stage", "global"};

/// Generated data.
constexpr std::string_view kShapes = "shapes";
constexpr std::string_view kNumbersInWords = "numbers";
constexpr std::int64_t kTrainingNumbers = 8000;
/// What the names of files of token ids end with.
constexpr std::string_view kIdsEnding = ".bin";
/// Of a text, what is kept for evaluation.
constexpr std::int64_t kHeldOutPart = 10;

LearningRateOptions learning_rate_options(const TrainArguments& arguments, std::int64_t steps) {
  LearningRateOptions options;
  options.kind = enumerator<LearningRateKind>(kDecays, "learning-rate schedule", arguments.decay);
  options.base = arguments.learning_rate.value_or(options.base);
  options.warmup = arguments.warmup.value_or(options.warmup);
  options.total = steps;
  return options;
}

const LayerSpec* find_kind(const Network& network, LayerKind kind) {
  const auto found = std::ranges::find(network.layers, kind, &LayerSpec::kind);
  return found == network.layers.end() ? nullptr : &*found;
}

/// Images as large as the network reads them, of as many classes as it tells apart. `held_out`: drawn ones to keep
/// for evaluation.
std::unique_ptr<TrainingData> load_images(const std::string& data, const LayerSpec& pixels, const LayerSpec& classifier,
                                          std::optional<std::int64_t> held_out) {
  if (!data.empty() && data != kShapes) return std::make_unique<ImageData>(ImageData::from_cifar10(data));
  ShapeImageOptions options;
  options.image = input_image(pixels);
  options.classes = classifier.vocabulary;
  options.held_out = held_out.value_or(options.held_out);
  return std::make_unique<ImageData>(shape_images(options));
}

/// Pairs from a file, or numbers of as many digits as fit: n digits are at most 2 n - 1 words and an end.
std::unique_ptr<TrainingData> load_pairs(const std::string& data, std::int64_t sequence,
                                         std::optional<std::int64_t> held_out) {
  if (!data.empty() && data != kNumbersInWords) return std::make_unique<PairData>(PairData::from_file(data));
  const std::int64_t digits = std::clamp<std::int64_t>(sequence / 2, 1, 6);
  if (!held_out) return std::make_unique<PairData>(number_pairs(digits));
  return std::make_unique<PairData>(number_pairs(digits, kTrainingNumbers, *held_out));
}

}  // namespace

void ModelArguments::add_to(OptionTable& parser) {
  parser.group("Model")
      .text("network", network, "NAME|FILE", "model, see `plumbline networks`")
      .brief()
      .text(
          "data", data, "WHAT",
          "training data. Text models: any file (default: the demo's text), its bytes or, of FILE.bin, token ids of 16 "
          "bits as nanoGPT and llm.c write them; image models: a CIFAR-10 file or "
          "directory, "
          "or shapes (default); translation models: a file of tab-separated pairs, or numbers (default)")
      .brief()
      .whole("augment", augment, {0},
             "image models: shift each image by up to this many pixels and mirror it at random (default: off)")
      .text("backend", backend, "NAME", "back end, see `plumbline version` (default: cpu)")
      .brief()
      .text("clock", clock, "KIND",
            "wall: real time; processor: every device by the processor time that its thread uses, as if it had a "
            "processor of its own (default: wall)")
      .words(kClockNames)
      .text(
          "partition", partition, "HOW",
          "how layers are split into stages: balanced by their FLOPs and bytes, equal (as many blocks in each), finest "
          "(one layer with weights per stage), or the number of layers of each stage, 3,4,4,3 (default: balanced)")
      .whole("samples", samples, {}, "samples per microbatch (default: as in the network)")
      .whole("sequence", sequence, {}, "tokens per sample (default: as in the network)")
      .text("numbers", numbers, "TYPE",
            "number type: float32, float64, or bf16 with float32 weights, gradients and optimizer (default: float32)")
      .words(kNumberNames)
      .text("optimizer", optimizer, "NAME", "sgd, adam, adamw or nadam (default: adamw)")
      .words(kOptimizers)
      .real("momentum", momentum, {0, 1}, "momentum of sgd (default: 0.9)")
      .real("weight-decay", weight_decay, {0}, "weight decay of matrices and embedding tables (default: 0.01)");
}

Network ModelArguments::load_network() const {
  if (network.empty() && stand_in) return *stand_in;
  if (network.empty()) throw Error("the model is missing, expected --network NAME, such as gpt-tiny");
  return network_to_cut(partition, network_argument(network));
}

MicrobatchShape ModelArguments::shape(const Network& of) const {
  return {samples.value_or(of.samples), sequence.value_or(of.sequence)};
}

Partition ModelArguments::cut(const Network& of, std::int32_t num_stages) const {
  const LayerCut cut = partition.empty() ? LayerCut{} : parse_cut(partition);
  return cut_network(cut, {of, network}, num_stages, [&] { return relative_layer_times(of, shape(of)); });
}

OptimizerOptions ModelArguments::optimizer_options() const {
  OptimizerOptions options;
  options.kind = enumerator<OptimizerKind>(kOptimizers, "optimizer", optimizer);
  options.momentum = momentum.value_or(options.momentum);
  options.weight_decay = weight_decay.value_or(options.weight_decay);
  return options;
}

ClockKind ModelArguments::clock_kind() const { return enumerator<ClockKind>(kClockNames, "clock", clock); }

NumberType ModelArguments::number_type() const {
  return enumerator<NumberType>(kNumberNames, "type of numbers", numbers);
}

std::unique_ptr<TrainingData> ModelArguments::load_data(const Network& of) const {
  if (const LayerSpec* pixels = find_kind(of, LayerKind::kPixels)) {
    std::unique_ptr<TrainingData> images = load_images(data, *pixels, of.layers.back(), held_out);
    if (!augment) return images;
    return std::make_unique<AugmentedImages>(std::move(images), input_image(*pixels), *augment);
  }
  if (augment) throw Error("--augment: network '" + of.name + "' does not read images, expected one that does");
  const bool translates = std::ranges::any_of(of.layers, &LayerSpec::target);
  if (translates) return load_pairs(data, of.sequence, held_out);
  std::string text = data.empty() ? std::string(kDemoText) : read_text_file(data, kTrainingDataFile);
  auto tokens = std::make_unique<TextData>(data.ends_with(kIdsEnding) ? TextData::of_ids(std::move(text), data)
                                                                      : TextData(std::move(text)));
  if (evaluate_every || held_out) tokens->hold_out(tokens->size() / kHeldOutPart);
  return tokens;
}

void TrainArguments::add_to(OptionTable& parser) {
  model.add_to(parser);
  parser.group("Training")
      .text("executor", executor, "NAME",
            "threads (one per device), serial, or streams (default: depends on the back end)")
      .words(std::array<std::string_view, 3>{"threads", "serial", "streams"})
      .whole("seed", seed, {0}, "seed of the weights and the data (default: 0)")
      .text(
          "weights", weights, "FILE",
          "start from the weights in a safetensors file, an index of several or a folder with either, under our names "
          "or those of Hugging Face or torchvision (trainer/weights/WEIGHTS.md; default: drawn with the seed)")
      .brief()
      .real("learning-rate", learning_rate, {0}, "learning rate (default: 0.001)")
      .brief()
      .text("decay", decay, "NAME",
            "decay of the learning rate: constant, cosine, inverse-sqrt or step (default: constant)")
      .words(kDecays)
      .whole("evaluate-every", model.evaluate_every, {1},
             "updates between evaluations on held-out data (default: never)")
      .whole("evaluate-samples", evaluate_samples, {1}, "held-out samples per evaluation (default: all)")
      .whole("held-out", model.held_out, {1},
             "held-out samples for the evaluation at the end; generated data draw so many (default: as evaluated "
             "before, of 1024 images, 1000 numbers, a tenth of a text)")
      .whole("translate", translate, {1},
             "translation models: translate this many held-out pairs at the end, word by word, and tell their BLEU "
             "(default: none)")
      .whole("warmup", warmup, {0}, "updates of linear learning-rate warm-up (default: 0)")
      .real("clip-norm", clip_norm, {0}, "clip gradients to this norm (default: no clipping)")
      .text("clip", clip, "SCOPE",
            "stage: clip each stage by its own norm; global: by the norm over all stages (default: stage)")
      .words(kClips);
  lora.add_to(parser);
  lora.add_alpha_to(parser);
  teacher.add_to(parser);
  streams.add_to(parser);
}

TrainOptions TrainArguments::options(std::int32_t num_stages, std::int64_t steps) const {
  TrainOptions options;
  options.model.network = model.load_network();
  if (!weights.empty()) options.model.initial_parameters = read_weights(weights, options.model.network);
  if (const Lora adapters = lora.adapters(); adapters.rank > 0) {
    options.model.network = with_adapters(std::move(options.model.network), adapters);
  }
  options.model.shape = model.shape(options.model.network);
  options.model.partition = model.cut(options.model.network, num_stages);
  options.model.seed = static_cast<std::uint64_t>(seed.value_or(0));
  options.optimization.optimizer = model.optimizer_options();
  options.optimization.learning_rate = learning_rate_options(*this, steps);
  if (clip_norm && *clip_norm == 0) throw Error("--clip-norm: expected a norm above 0");
  options.optimization.clip_norm = clip_norm.value_or(0);
  if (!clip.empty()) options.optimization.clip_scope = enumerator<ClipScope>(kClips, "scope of the clipping", clip);
  if (!clip.empty() && !clip_norm) throw Error("--clip: the norm is missing, expected --clip-norm X with it");
  options.optimization.steps = steps;
  options.observation.evaluation = {
      .every = model.evaluate_every.value_or(0), .samples = evaluate_samples.value_or(0), .on_evaluation = {}};
  options.model.numbers = model.number_type();
  options.execution.backend = model.backend;
  options.execution.clock = model.clock_kind();
  options.execution.executor = executor.empty() ? std::string(usual_executor(backend(model.backend))) : executor;
  options.execution.streams = streams.options(backend(options.execution.backend), options.execution.executor);
  return options;
}

}  // namespace plumb
