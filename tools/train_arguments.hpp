#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tools/arguments.hpp"
#include "trainer/text_data.hpp"
#include "trainer/train.hpp"

namespace plumb {

/// Options that say which model is trained, on what: shared by `train` and `profile`.
struct ModelArguments {
  std::string network;
  std::string data;
  std::string backend = "cpu";
  std::string partition;
  std::optional<std::int64_t> samples;
  std::optional<std::int64_t> sequence;
  std::string optimizer = "adamw";
  std::string numbers = "float32";
  std::optional<double> momentum;
  std::optional<double> weight_decay;

  /// Declares the options; this object must outlive the parsing.
  void add_to(ArgumentParser& parser);

  /// Throws `Error` when none is named.
  Network load_network() const;
  MicrobatchShape shape(const Network& of) const;
  /// Throw `Error` for unknown names, with the nearest one.
  OptimizerOptions optimizer_options() const;
  NumberType number_type() const;
  /// The text to train on: the named file, or the demo's.
  TextData load_data() const;
};

/// Options that say how it is trained.
struct TrainArguments {
  ModelArguments model;
  std::string executor = "threads";
  std::optional<std::int64_t> seed;
  std::optional<double> learning_rate;
  std::string decay = "constant";
  std::optional<std::int64_t> warmup;
  std::optional<double> clip_norm;
  std::string clip;

  /// Declares the options; this object must outlive the parsing.
  void add_to(ArgumentParser& parser);

  /// Everything but schedule, data and steps. `steps` is the length of the learning-rate schedule.
  /// Throws `Error` for unknown names (with the nearest one) and a missing network.
  TrainOptions options(std::int32_t num_stages, std::int64_t steps) const;
};

}  // namespace plumb
