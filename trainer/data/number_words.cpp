#include "trainer/data/number_words.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "models/ground/error.hpp"
#include "trainer/ground/permutation.hpp"

namespace plumb {
namespace {

constexpr std::array<std::string_view, 20> kSmall{
    "zero", "one",    "two",    "three",    "four",     "five",    "six",     "seven",     "eight",    "nine",
    "ten",  "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
constexpr std::array<std::string_view, 10> kTens{"",      "",      "twenty",  "thirty", "forty",
                                                 "fifty", "sixty", "seventy", "eighty", "ninety"};

void append_words(std::int64_t number, std::vector<std::string>& words) {
  if (number >= 1000) {
    append_words(number / 1000, words);
    words.emplace_back("thousand");
    number %= 1000;
  } else if (number >= 100) {
    words.emplace_back(kSmall[static_cast<std::size_t>(number / 100)]);
    words.emplace_back("hundred");
    number %= 100;
  } else if (number >= 20) {
    words.emplace_back(kTens[static_cast<std::size_t>(number / 10)]);
    number %= 10;
  } else {
    words.emplace_back(kSmall[static_cast<std::size_t>(number)]);
    return;
  }
  if (number > 0) append_words(number, words);
}

WordPair pair_of(std::int64_t number) {
  WordPair pair;
  for (const char digit : std::to_string(number)) pair.source.emplace_back(1, digit);
  pair.target = number_words(number);
  return pair;
}

}  // namespace

std::vector<std::string> number_words(std::int64_t number) {
  std::vector<std::string> words;
  append_words(number, words);
  return words;
}

PairData number_pairs(std::int64_t digits, std::int64_t training, std::int64_t held_out, std::uint64_t seed) {
  if (digits < 1 || digits > 6) {
    throw Error("numbers in words: " + std::to_string(digits) + " digits, expected 1 to 6");
  }
  std::int64_t all = 1;
  for (std::int64_t i = 0; i < digits; ++i) all *= 10;
  held_out = std::min(held_out, all / 5);
  training = std::min(training, all - held_out);
  std::vector<WordPair> to_train;
  std::vector<WordPair> to_try;
  for (std::int64_t i = 0; i < training + held_out; ++i) {
    const std::uint64_t number = permuted(static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(all), seed);
    (i < held_out ? to_try : to_train).push_back(pair_of(static_cast<std::int64_t>(number)));
  }
  return PairData("numbers in words", to_train, to_try);
}

}  // namespace plumb
