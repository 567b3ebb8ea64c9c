#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "models/import/load_network.hpp"
#include "tools/options/job_arguments.hpp"
#include "tools/options/option_table.hpp"
#include "trainer/ground/device_clock.hpp"
#include "trainer/plan/train_options.hpp"
#include "trainer/run/translate.hpp"
#include "trainer/stages/backend.hpp"
#include "trainer/streams/stream_options.hpp"
#include "trainer/train.hpp"

namespace plumb {

/// What the final weights of a run are tried on; 0: nothing besides what `observation.evaluation` says.
struct FinalTrial {
  std::int64_t held_out = 0;    ///< held-out samples for the last evaluation
  std::int64_t translated = 0;  ///< held-out pairs to be translated word by word
};

/// A run, and how well its final weights translate where that was asked.
struct TriedRun {
  TrainResult result;
  std::optional<Translation> translation;
};

/// Trains; the last evaluation of the result is then on `trial.held_out` samples. Throws `Error` when fewer are held
/// out, and what training throws.
TriedRun train_and_try(TrainOptions options, const FinalTrial& trial);

/// How a student learns from its teacher, in schedules that have one (tspipe).
struct TeacherArguments {
  std::optional<double> weight;
  std::optional<double> temperature;
  std::optional<double> decay;
  std::string weights;  ///< that the teacher starts from; empty: those of its student

  /// Declares the options, a group of their own; this object must outlive the parsing.
  void add_to(OptionTable& parser);

  /// Fills in the teacher of `options`, whose schedule and network (perhaps with adapters) are known. Throws `Error`
  /// for options of a teacher where the schedule has none.
  void apply(TrainOptions& options, bool adapters) const;
};

/// Options for the distribution of devices over GPUs, shared by `train` and `profile`.
struct StreamArguments {
  std::string mode;  ///< empty: accuracy
  std::optional<std::int64_t> sms;
  std::optional<std::int64_t> gpus;
  std::optional<double> link_latency_us;
  std::string link_bandwidth;
  std::string product_table;
  std::optional<std::int64_t> product_trials;
  std::string attention;  ///< empty: own
  std::string attention_table;
  std::string convolutions;  ///< empty: own
  std::string convolution_table;
  std::optional<double> watchdog_s;
  bool no_graphs = false;

  /// Declares the options; this object must outlive the parsing.
  void add_to(OptionTable& parser);

  /// Throws `Error` for impossible values, and for options that do not apply to `backend` and this executor.
  StreamOptions options(const Backend& backend, std::string_view executor) const;

 private:
  void check(const Backend& backend, std::string_view executor) const;
};

/// What `--clock` takes, in the order of ClockKind.
inline constexpr std::array<std::string_view, 2> kClockNames{"wall", "processor"};

/// Options for the model and the data to train on, shared by `train` and `profile`.
struct ModelArguments {
  std::string network;
  std::string data;
  std::string backend = "cpu";
  std::string clock = "wall";
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
  ClockKind clock_kind() const;
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
