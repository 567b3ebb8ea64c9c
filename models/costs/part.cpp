#include "models/costs/part.hpp"

#include <string>

#include "models/ground/error.hpp"

namespace plumb {
namespace {

/// amount x numerator / denominator rounded to the nearest, without overflow for what a clock can hold.
std::int64_t scaled(std::int64_t amount, std::int64_t numerator, std::int64_t denominator) {
  __extension__ using Wide = __int128;
  return static_cast<std::int64_t>((Wide{amount} * numerator * 2 + denominator) / (Wide{denominator} * 2));
}

}  // namespace

PartPlace place_of(const Part& part, const MicrobatchShape& usual) {
  PartPlace place;
  place.microbatch = {usual.samples, usual.sequence * part.size / part.largest};
  const std::int64_t length = part.along_sequence ? place.microbatch.sequence : usual.samples;
  const std::int64_t begin = length * part.begin / part.whole;
  const std::int64_t end = length * part.end / part.whole;
  if (place.microbatch.sequence < 1 || begin == end) {
    throw Error("a microbatch of " + std::to_string(place.microbatch.samples) + " samples of " +
                std::to_string(place.microbatch.sequence) + " tokens cannot be cut as the schedule says: slice " +
                std::to_string(part.begin) + " to " + std::to_string(part.end) + " of " + std::to_string(part.whole) +
                " along the " + (part.along_sequence ? "sequence" : "batch") +
                " is empty; expected larger microbatches");
  }
  if (part.along_sequence) {
    place.first_token = begin;
    place.shape = {usual.samples, end - begin, begin, length - end};
  } else {
    place.first_sample = begin;
    place.shape = {end - begin, place.microbatch.sequence};
  }
  return place;
}

std::int64_t share_of(const Part& part, std::int64_t amount) {
  const std::int64_t whole = part.largest * part.whole;
  return scaled(amount, part.size * part.end, whole) - scaled(amount, part.size * part.begin, whole);
}

}  // namespace plumb
