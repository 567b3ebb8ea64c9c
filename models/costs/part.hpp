#pragma once

#include <cstdint>

#include "models/network/network.hpp"

namespace plumb {

/// What an action works on: one microbatch, or one slice of it. All sizes are relative; the costs and the shape that a
/// user gives are those of the largest microbatch.
struct Part {
  std::int64_t size = 1;     ///< relative size of the microbatch (`microbatch_sizes`)
  std::int64_t largest = 1;  ///< relative size of the largest microbatch
  /// The slice [begin, end) of `whole` equal lengths of the microbatch.
  std::int64_t begin = 0;
  std::int64_t end = 1;
  std::int64_t whole = 1;
  bool along_sequence = false;  ///< slices follow each other in every sample; otherwise each has some of the samples

  bool is_whole() const { return size == largest && begin == 0 && end == whole; }
  /// Returns all of the microbatch that this is a part of.
  Part microbatch() const { return {size, largest, 0, 1, 1, along_sequence}; }

  friend auto operator<=>(const Part&, const Part&) = default;
};

/// Where a part lies in the usual microbatch.
struct PartPlace {
  MicrobatchShape shape;  ///< shape of the part
  std::int64_t first_sample = 0;
  std::int64_t first_token = 0;  ///< position of its first token in every sample
  MicrobatchShape microbatch;    ///< shape of all of its microbatch
};

/// A microbatch of size s has floor(sequence s / largest) tokens per sample; slices are cut at multiples of 1 / whole,
/// rounded down. Throws `Error` when something is empty (more slices than samples or tokens).
PartPlace place_of(const Part& part, const MicrobatchShape& usual);

/// Returns the share of the part in `amount`, which is that of the largest microbatch. The parts of a microbatch add up
/// to the amount of that microbatch.
std::int64_t share_of(const Part& part, std::int64_t amount);

}  // namespace plumb
