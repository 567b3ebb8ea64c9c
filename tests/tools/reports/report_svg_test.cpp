#include "tools/reports/report_svg.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/support/golden.hpp"
#include "tests/support/synthetic_timeline.hpp"

TEST_SUITE_BEGIN("tools");

namespace plumb {
namespace {

using testing::golden;
using testing::synthetic_timeline;

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST_CASE("the picture of two devices and two microbatches is the reviewed one") {
  const std::string svg = svg_report(synthetic_timeline({.devices = 2, .microbatches = 2, .transfer_ns = 250'000}));
  CHECK(svg == golden("reports/two_by_two.svg", svg));
}

TEST_CASE("every action has its tooltip and every microbatch number stands where there is room") {
  const std::string svg = svg_report(synthetic_timeline({.devices = 3, .microbatches = 4}));
  CHECK(count(svg, ": forward, ") == 12);
  CHECK(count(svg, ": backward, ") == 12);
  CHECK(count(svg, "class=\"on-light\"") + count(svg, "class=\"on-dark\"") == 24);
}

TEST_CASE("the title says schedule, makespan and bubble") {
  const std::string svg = svg_report(synthetic_timeline({.devices = 4, .microbatches = 8, .update_ns = 0}));
  CHECK(svg.find("1f1b on 4 devices, 8 microbatches, simulated: makespan 33 ms, bubble 27.3 %") != std::string::npos);
}

TEST_CASE("a picture for paper has its width in cm, text of the same size, and its caption in lines") {
  const Timeline timeline = synthetic_timeline({.devices = 4, .microbatches = 8});
  const std::string narrow =
      svg_report(timeline, {.width_cm = 8.5, .caption = "One & two, " + std::string(60, 'x') + " end"});
  CHECK(narrow.find(" width=\"8.5cm\" viewBox=\"0 0 425 ") != std::string::npos);
  CHECK(narrow.find(">One &amp; two,<") != std::string::npos);
  CHECK(narrow.find("makespan 33.5 ms · bubble") != std::string::npos);
  CHECK(svg_report(timeline).find("cm\"") == std::string::npos);
}

TEST_CASE("a long subtitle goes on in further lines, and what is below it goes down") {
  Timeline timeline = synthetic_timeline({.devices = 2, .microbatches = 2});
  const std::string shorter = svg_report(timeline);
  timeline.machine =
      "a-network on a-cluster, tp 2, dp 4, zero 1, layers 13,13,12,12; rates fitted to fifty-one measured steps";
  const std::string longer = svg_report(timeline);
  CHECK(longer.find("…") == std::string::npos);
  CHECK(longer.find("measured steps</text>") != std::string::npos);
  CHECK(shorter.find("y=\"96\"") != std::string::npos);
  CHECK(longer.find("y=\"96\"") == std::string::npos);
  CHECK(longer.find("y=\"114\"") != std::string::npos);
}

TEST_CASE("text is broken at blanks, and a long word stays whole") {
  CHECK(wrapped_text("ab cd  ef\ngh", 5) == std::vector<std::string>{"ab cd", "ef gh"});
  CHECK(wrapped_text("abcdefgh ij", 4) == std::vector<std::string>{"abcdefgh", "ij"});
  CHECK(wrapped_text("µµ µµ", 5).size() == 1);
  CHECK(wrapped_text("", 5).empty());
}

TEST_CASE("a caption that is no UTF-8 is shown by its bytes, and what XML has no place for is replaced") {
  CHECK(wrapped_text("a\xff b", 9) == std::vector<std::string>{"a\\xff b"});
  const Timeline timeline = synthetic_timeline({.name = "n\xff\xEF\xBF\xBF", .devices = 1, .microbatches = 1});
  const std::string svg = svg_report(timeline, {.caption = "c\xfe"});
  CHECK(svg.find("c\\xfe") != std::string::npos);
  CHECK(svg.find("n\\xff\xEF\xBF\xBD") != std::string::npos);
  CHECK(svg.find_first_of("\xfe\xff") == std::string::npos);
}

TEST_CASE("a name with markup stays text") {
  const std::string svg = svg_report(synthetic_timeline({.name = "<script>&\"x\"", .devices = 1, .microbatches = 1}));
  CHECK(count(svg, "<script") == 0);
  CHECK(count(svg, "&lt;script&gt;&amp;&quot;x&quot;") > 0);
}

TEST_CASE("ten times the microbatches do not make a long picture larger than its pixels allow") {
  const std::string once = svg_report(synthetic_timeline({.devices = 2, .microbatches = 10'000}));
  const std::string ten_times = svg_report(synthetic_timeline({.devices = 2, .microbatches = 100'000}));
  CHECK(once.size() < 500'000);
  CHECK(ten_times.size() < once.size() * 11 / 10);
}

TEST_CASE("a summary without spans still gives a picture of its figures") {
  Timeline timeline = synthetic_timeline({});
  timeline.spans.clear();
  CHECK(svg_report(timeline).find("makespan") != std::string::npos);
}

}  // namespace
}  // namespace plumb

TEST_SUITE_END();
