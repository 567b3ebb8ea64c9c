#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "trainer/data/training_data.hpp"

namespace plumb {

/// A microbatch as all stages that read data see it.
struct LoadedMicrobatch {
  Microbatch data;
  double counted = 1;  ///< share of its targets that count
};

/// The data of one part of a microbatch.
struct PartData {
  std::shared_ptr<const LoadedMicrobatch> whole;
  Microbatch part;    ///< empty where the part is all of it
  MicrobatchIds ids;  ///< point into one of the two
};

/// Keeps the newest microbatches, so that one which many stages read is made once. Thread-safe.
class MicrobatchCache {
 public:
  /// Remembers the newest `capacity` ones. `data` must outlive this.
  MicrobatchCache(const TrainingData& data, std::uint64_t seed, std::size_t capacity)
      : data_(data), seed_(seed), capacity_(capacity) {}

  /// Microbatch `k` of the run.
  std::shared_ptr<const LoadedMicrobatch> get(std::int64_t k, const MicrobatchShape& shape);
  /// Returns a part of it. `rows`: those that the loss is a mean over, if all of them count.
  PartData part(std::int64_t k, const PartPlace& place, double rows);

 private:
  const TrainingData& data_;
  std::uint64_t seed_;
  std::size_t capacity_;
  std::mutex mutex_;
  std::map<std::int64_t, std::shared_ptr<const LoadedMicrobatch>> loaded_;
};

}  // namespace plumb
