#include "tools/tables/card_text.hpp"

#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/synthetic_timeline.hpp"
#include "tools/ask/simulate_question.hpp"
#include "tools/terminal/text_table.hpp"

TEST_SUITE_BEGIN("tools");

namespace plumb {
namespace {

using testing::synthetic_timeline;

std::string drawn_card(int microbatches, const TextTimelineOptions& options) {
  const Timeline one = synthetic_timeline({.microbatches = microbatches});
  const Timeline other =
      synthetic_timeline({.name = "gpipe", .microbatches = microbatches, .all_forwards_first = true});
  const std::vector<CardRun> runs{{"1f1b", &one}, {"gpipe", &other}};
  return card_text(comparison_card(runs), options);
}

}  // namespace

TEST_CASE("a card is as wide as the terminal at most, with its figures at the right end") {
  for (const int columns : {50, 60, 80, 120}) {
    std::istringstream lines(drawn_card(8, {.columns = columns}));
    for (std::string line; std::getline(lines, line);) CHECK(display_width(line) <= static_cast<std::size_t>(columns));
  }
  const std::string text = drawn_card(8, {.columns = 120});
  CHECK(text.find("| 33.5 ms\n") != std::string::npos);
  CHECK(text.find("idle\n") != std::string::npos);
}

TEST_CASE("actions have their names on a card where nearly all have room, and else the letters of their ops") {
  CHECK(drawn_card(8, {.columns = 120}).find("B3====") != std::string::npos);
  const std::string dense = drawn_card(200, {.columns = 80});
  CHECK(dense.find("F1") == std::string::npos);
  CHECK(dense.find("BBB") != std::string::npos);
}

TEST_CASE("two actions at once are one sign on a card, and the last lines say what letters and signs mean") {
  SimulateQuestion question;
  question.names = {"dualpipe"};
  question.size.devices = 4;
  question.size.microbatches = 8;
  question.costs.cost = "F=1,I=1,W=1";
  PreparedJob job(question);
  job.predict({.spans = true, .reports = true});
  const std::vector<CardRun> runs{{"dualpipe", &job.timeline}};
  const std::string text = card_text(comparison_card(runs), {.columns = 50});
  CHECK(text.find("&&") != std::string::npos);
  CHECK(text.find("F: forward, B: backward") != std::string::npos);
  CHECK(text.find("&: two at once") != std::string::npos);
}

TEST_CASE("a card has colours where they are asked for, and only then") {
  CHECK(drawn_card(8, {.columns = 120}).find('\033') == std::string::npos);
  CHECK(drawn_card(8, {.columns = 120, .colour = true}).find("\033[30;46mF0") != std::string::npos);
}

}  // namespace plumb

TEST_SUITE_END();
