#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plumb::cuda {

/// Which multiprocessors the blocks of a stream have run on, as a start-up kernel has counted them.
struct SeenMultiprocessors {
  std::string name;                  ///< "device 3", "copies"
  std::vector<unsigned int> blocks;  ///< by multiprocessor
  int sms = 0;                       ///< multiprocessors that the part has
  /// Streams of one group share their multiprocessors; those of different groups must not.
  int group = 0;
};

/// Returns on how many multiprocessors some block of the part has run.
std::int64_t used_multiprocessors(const SeenMultiprocessors& part);

/// Returns what is wrong with a partition: a part that runs elsewhere than on its own multiprocessors, or shares them.
/// Empty when nothing is.
std::vector<std::string> find_overlaps(const std::vector<SeenMultiprocessors>& parts);

/// How long kernels took that each keep a stream busy for `spin_ns`, all started together.
struct SpinTimes {
  std::int64_t spin_ns = 0;
  std::int64_t together_ns = 0;  ///< time of all streams
  int streams = 0;
};

/// Returns whether streams wait for each other that should not (they share a hardware queue). Empty when they do not.
std::vector<std::string> find_false_waits(const SpinTimes& times);

/// "0-7, 16, 18".
std::string text_of_multiprocessors(const std::vector<unsigned int>& blocks);

}  // namespace plumb::cuda
