#include "models/launches/shell_pattern.hpp"

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

TEST_CASE("a pattern that takes too many steps fits nothing, and the work is spent") {
  std::string pattern;
  for (int k = 0; k < 2'000; ++k) pattern += "*a";
  ShellWork work;
  CHECK_FALSE(shell_pattern_fits(pattern, std::string(10'000, 'a'), work));
  CHECK(work.exhausted());
}

TEST_SUITE_END();
