#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "models/ground/named_option.hpp"
#include "schedules/catalogue/schedule_params.hpp"

// How a sequence is cut into slices, for schedules whose unit is a slice.

namespace plumb {

/// A decoder-only transformer, as far as the work of a slice of its tokens depends on it.
struct TransformerShape {
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t feed_forward = 0;
  std::int64_t heads = 0;
  std::int64_t head_size = 0;
  std::int64_t vocabulary = 0;
};

/// Forward FLOPs of `length` tokens, the last of which is token number `end` (counted from 1) of its sequence; causal
/// attention, every slice together costs what the whole sequence does. (Seq1F1B, arXiv 2406.03488, released code)
double slice_flops(const TransformerShape& shape, std::int64_t length, std::int64_t end);

/// Lengths of `slices` slices of `tokens` tokens with (nearly) equal FLOPs, all but the first rounded down to a
/// multiple of `multiple`. Throws `Error` when a slice would be empty. (Seq1F1B's computation-wise partition)
std::vector<std::int64_t> equal_work_lengths(const TransformerShape& shape, std::int64_t tokens, std::int64_t slices,
                                             std::int64_t multiple);

/// Time of a slice of `length` tokens after `context` tokens, forward and backward through one stage; any unit.
using SliceTime = std::function<double(std::int64_t length, std::int64_t context)>;

/// The input of TeraPipe's dynamic programme.
struct SliceSearch {
  std::int64_t tokens = 0;
  std::int64_t step = 8;  ///< lengths are multiples of it; divides `tokens`
  std::int64_t devices = 1;
  std::int64_t microbatches = 1;
};

/// The lengths for which microbatches * sum(t) + (devices - 1) * max(t) is least, the fewest slices of those.
/// Every time of a slice is tried as the bound of the longest one, shortest first. Takes (tokens / step)^4 / 4 steps at
/// worst. (TeraPipe, Li et al., arXiv 2102.07988, section 3.3, over tokens)
std::vector<std::int64_t> fastest_slice_lengths(const SliceTime& time, const SliceSearch& search);

/// Time of a slice of `length` tokens of `samples` samples together after `context` tokens; as `SliceTime`.
using BatchSliceTime = std::function<double(std::int64_t samples, std::int64_t length, std::int64_t context)>;

/// Samples that go through together, and the lengths of their slices.
struct BatchSlice {
  std::int64_t samples = 0;
  std::vector<std::int64_t> lengths;

  friend bool operator==(const BatchSlice&, const BatchSlice&) = default;
};

/// As `fastest_slice_lengths`, with samples cut into batches, too: `search.microbatches` is the number of samples, and
/// sum(t) is over the slices of all batches. (TeraPipe's joint programme over batch and tokens)
std::vector<BatchSlice> fastest_batch_slices(const BatchSliceTime& time, const SliceSearch& search);

/// The options of `slice_lengths` with so many slices by default, followed by `more`: for catalogue rows.
std::vector<NamedOption> slice_options(OptionDefault slices, std::initializer_list<NamedOption> more = {});

/// One row of lengths as the options ask for: by default `otherwise` slices of length 1 (lengths are relative).
/// Throws `Error` for what the options do not allow.
std::vector<std::int64_t> slice_lengths(std::string_view name, const ScheduleParams& params, std::int64_t otherwise);

/// The batches of `params.num_microbatches` samples for `lengths=joint`, with the other options of `slice_lengths`.
std::vector<BatchSlice> joint_slices(std::string_view name, const ScheduleParams& params);

}  // namespace plumb
