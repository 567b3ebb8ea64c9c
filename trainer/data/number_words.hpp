#pragma once

#include <cstdint>

#include "trainer/data/pair_data.hpp"

namespace plumb {

/// `number` < 1 000 000 in English words: 327 is "three hundred twenty seven".
std::vector<std::string> number_words(std::int64_t number);

/// Returns a small task for an encoder-decoder: the digits of all numbers of up to `digits` (1 to 6) into words. At
/// most `training` numbers to learn from and `held_out` others, drawn by `seed`. Throws Error for other digits.
PairData number_pairs(std::int64_t digits, std::int64_t training = 8000, std::int64_t held_out = 1000,
                      std::uint64_t seed = 1);

}  // namespace plumb
