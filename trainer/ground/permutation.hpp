#pragma once

#include <cstdint>

namespace plumb {

/// Returns the number at place `i` of a random order of 0, ..., count - 1 that follows from `seed`; nothing is stored
/// (a Feistel network of four rounds on the next power of four, walked until it is below `count`; Black and Rogaway
/// 2002). `i` < `count`.
std::uint64_t permuted(std::uint64_t i, std::uint64_t count, std::uint64_t seed);

/// Sample number `n` of a run over `count` samples: every epoch goes through all of them, in an order of its own.
std::int64_t epoch_sample(std::int64_t n, std::int64_t count, std::uint64_t seed);

}  // namespace plumb
