#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "models/import/load_network.hpp"
#include "tools/options/jobs/lora_arguments.hpp"
#include "tools/options/option_table.hpp"
#include "tools/training/final_evaluation.hpp"
#include "tools/training/stream_arguments.hpp"
#include "tools/training/teacher_arguments.hpp"
#include "trainer/train.hpp"

namespace plumb {

/// Options for the model and the data to train on, shared by `train` and `profile`.
struct ModelArguments {
  std::string network;
  std::string data;
  std::string backend = "cpu";
  std::string partition;
  std::optional<std::int64_t> samples;
  std::optional<std::int64_t> evaluate_every;  ///< a tenth of a text is then held out
  std::optional<std::int64_t> held_out;        ///< samples; likewise, and generated data draw so many
  std::optional<std::int64_t> sequence;
  std::optional<std::int64_t> augment;  ///< pixels
  std::string optimizer = "adamw";
  std::string numbers = "float32";
  std::optional<double> momentum;
  std::optional<double> weight_decay;
  std::optional<Network> stand_in;  ///< where no network is named

  /// Declares the options; this object must outlive the parsing.
  void add_to(OptionTable& parser);

  /// Throws `Error` without `--network`.
  Network load_network() const;
  MicrobatchShape shape(const Network& of) const;
  /// The stages that `--partition` asks for, by default with equal work. Throws `Error` for more than there are layers.
  Partition cut(const Network& of, std::int32_t num_stages) const;
  /// Throw `Error` for unknown names, with the nearest one.
  OptimizerOptions optimizer_options() const;
  NumberType number_type() const;
  /// The data to train on: a file or a generator, of the kind that the network reads. Generated images are as large as
  /// the network expects, with as many classes; generated numbers are as long as its sequences allow.
  std::unique_ptr<TrainingData> load_data(const Network& of) const;
};

/// Options for training.
struct TrainArguments {
  ModelArguments model;
  std::string executor;  ///< empty: that of the back end
  StreamArguments streams;
  std::optional<std::int64_t> seed;
  std::string weights;  ///< file or folder to start from; empty: drawn with the seed
  std::optional<double> learning_rate;
  std::string decay = "constant";
  std::optional<std::int64_t> warmup;
  std::optional<std::int64_t> evaluate_samples;
  std::optional<std::int64_t> translate;
  std::optional<double> clip_norm;
  std::string clip;
  LoraArguments lora;
  TeacherArguments teacher;

  /// Declares the options; this object must outlive the parsing.
  void add_to(OptionTable& parser);

  /// Everything but schedule, data and steps. `steps` is the length of the learning-rate schedule.
  /// Throws `Error` for unknown names (with the nearest one) and a missing network.
  TrainOptions options(std::int32_t num_stages, std::int64_t steps) const;

  FinalTrial final_trial() const { return {model.held_out.value_or(0), translate.value_or(0)}; }
};

}  // namespace plumb
