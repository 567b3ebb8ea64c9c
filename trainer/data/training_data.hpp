#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/costs/part.hpp"
#include "models/network/network.hpp"
#include "trainer/layers/layer.hpp"

namespace plumb {

/// The data of one microbatch: streams, sample after sample. A stream that the data do not have is empty.
struct Microbatch {
  std::vector<std::int32_t> tokens;         ///< ids, or the bytes of an image (a row of them per sample)
  std::vector<std::int32_t> target_tokens;  ///< ids that a decoder reads
  std::vector<std::int32_t> targets;        ///< ids or classes to be predicted; below 0: not counted
  std::vector<double> values;               ///< real numbers instead of tokens
  std::vector<double> target_values;        ///< real numbers to be predicted

  friend bool operator==(const Microbatch&, const Microbatch&) = default;
};

/// Points into `data`, which must stay. `loss_tokens`: rows that the loss is a mean over.
MicrobatchIds ids_of(const Microbatch& data, double loss_tokens);

/// Share of the targets that count; 1 where there are none. At least that of one target.
double counted_share(const Microbatch& data);

/// Returns the rows of `whole` that belong to a part of it.
Microbatch part_of(const Microbatch& whole, const PartPlace& place);

/// What a network must know about its data. Numbers are 0 where there is no such stream.
struct DataFacts {
  std::string name;                    ///< for messages: "bytes of text"
  std::int64_t features = 1;           ///< tokens (bytes, values) per row: more than 1 for images
  std::int64_t vocabulary = 0;         ///< tokens are below
  std::int64_t target_vocabulary = 0;  ///< target tokens are below
  std::int64_t classes = 0;            ///< targets are below
  std::int64_t target_features = 0;    ///< target values per row
  std::int64_t longest = 0;            ///< tokens of the longest sample; 0: cut to any length
  std::string identity;                ///< equal for equal data
};

/// A data set, from files or generated. The same arguments give the same microbatch on every machine.
class TrainingData {
 public:
  virtual ~TrainingData() = default;
  virtual DataFacts facts() const = 0;
  /// Microbatch `k` of the part to train on. It follows from `k`, `shape` and `seed` alone, so every schedule sees the
  /// same data. Throws Error when there is not enough.
  virtual Microbatch microbatch(std::int64_t k, const MicrobatchShape& shape, std::uint64_t seed) const = 0;
  /// Returns the samples of the part that is held out for evaluation, for samples of `sequence` tokens.
  virtual std::int64_t held_out_samples(std::int64_t sequence) const = 0;
  /// Held-out samples from `first` on, in a fixed order.
  virtual Microbatch held_out(std::int64_t first, const MicrobatchShape& shape) const = 0;
};

/// Throws `Error` unless `network` reads just what the data have, for samples of `sequence` tokens.
void check_data(const DataFacts& data, const Network& network, std::int64_t sequence);

}  // namespace plumb
