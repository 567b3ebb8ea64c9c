#include "models/launches/shell_pattern.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <optional>
#include <random>
#include <string>

#include <doctest/doctest.h>

TEST_SUITE_BEGIN("models");

namespace {

using namespace plumb;

bool fits(std::string_view pattern, std::string_view text) {
  ShellWork work;
  return shell_pattern_fits(pattern, text, work);
}

}  // namespace

TEST_CASE("a pattern of the shell describes a text as bash says") {
  CHECK(fits("", ""));
  CHECK(fits("*", ""));
  CHECK_FALSE(fits("?", ""));
  CHECK_FALSE(fits("", "a"));
  CHECK(fits("gpt*-[0-9]b", "gpt-neox-7b"));
  CHECK_FALSE(fits("gpt*-[!0-9]b", "gpt-neox-7b"));
  CHECK(fits("*a*b*", "xxaxxb"));
  CHECK_FALSE(fits("*a*b*c", "xxaxxb"));
  CHECK(fits("a[b", "a[b"));
  CHECK(fits("[]a]x", "]x"));
  CHECK(fits("*[-x]", "a-"));
  CHECK(fits("[!]a]", "x"));
  CHECK_FALSE(fits("[!]", "-"));
}

TEST_CASE("the shortest and the longest part of a text that a pattern describes are found at both ends") {
  ShellWork work;
  const std::string path = "a/b.tar.gz";
  CHECK(shell_pattern_length("*/", path, ShellPart::kLongestBeginning, work) == 2);
  CHECK(shell_pattern_length(".*", path, ShellPart::kShortestEnd, work) == 3);
  CHECK(shell_pattern_length(".*", path, ShellPart::kLongestEnd, work) == 7);
  CHECK(shell_pattern_length("*", path, ShellPart::kShortestBeginning, work) == 0);
  CHECK(shell_pattern_length("*", path, ShellPart::kLongestEnd, work) == path.size());
  CHECK_FALSE(shell_pattern_length("b*", path, ShellPart::kLongestBeginning, work).has_value());
}

TEST_CASE("patterns fit what the C library says they fit, and their parts are the shortest and longest that it names") {
  std::mt19937 random(11);
  const auto drawn = [&](std::string_view letters, std::size_t most) {
    std::string text;
    for (std::size_t k = random() % (most + 1); k > 0; --k) text += letters[random() % letters.size()];
    return text;
  };
  for (int turn = 0; turn < 6000; ++turn) {
    const std::string pattern = drawn("aabbc**??[[]]!^-", 7);
    const std::string text = drawn("aabbc-[]!^", 5);
    const auto known = [&](const std::string& part) { return fnmatch(pattern.c_str(), part.c_str(), 0) == 0; };
    std::optional<std::size_t> first[2];
    std::optional<std::size_t> last[2];
    for (std::size_t k = 0; k <= text.size(); ++k) {
      const bool at_begin = known(text.substr(0, k));
      const bool at_end = known(text.substr(text.size() - k));
      if (at_begin) last[0] = k;
      if (at_begin && !first[0]) first[0] = k;
      if (at_end) last[1] = k;
      if (at_end && !first[1]) first[1] = k;
    }
    CAPTURE(pattern);
    CAPTURE(text);
    CHECK(fits(pattern, text) == known(text));
    ShellWork work;
    CHECK(shell_pattern_length(pattern, text, ShellPart::kShortestBeginning, work) == first[0]);
    CHECK(shell_pattern_length(pattern, text, ShellPart::kLongestBeginning, work) == last[0]);
    CHECK(shell_pattern_length(pattern, text, ShellPart::kShortestEnd, work) == first[1]);
    CHECK(shell_pattern_length(pattern, text, ShellPart::kLongestEnd, work) == last[1]);
  }
}

TEST_CASE("a pattern that takes too many steps fits nothing, and the work is spent") {
  std::string pattern;
  for (int k = 0; k < 2'000; ++k) pattern += "*a";
  ShellWork work;
  CHECK_FALSE(shell_pattern_fits(pattern, std::string(10'000, 'a'), work));
  CHECK(work.exhausted());
}

TEST_SUITE_END();
