#include "tools/reports/card.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "tests/support/synthetic_timeline.hpp"
#include "tools/ask/simulate_question.hpp"
#include "tools/reports/paper_picture.hpp"
#include "tools/reports/report_svg.hpp"

TEST_SUITE_BEGIN("tools");

namespace plumb {
namespace {

using testing::synthetic_timeline;

Timeline simulated_for_card(const std::string& name, std::int64_t devices, std::int64_t microbatches) {
  SimulateQuestion question;
  question.names = {name};
  question.size.devices = devices;
  question.size.microbatches = microbatches;
  question.costs.cost = "F=1,I=1,W=1";
  PreparedJob job(question);
  job.predict({.spans = true, .reports = true});
  return job.timeline;
}

/// The runs of these schedules; both vectors outlive a card of them.
struct RunsForCard {
  RunsForCard(const std::vector<std::string>& names, std::int64_t devices, std::int64_t microbatches) {
    timelines.reserve(names.size());
    for (const std::string& name : names) {
      timelines.push_back(simulated_for_card(name, devices, microbatches));
      runs.push_back({name, &timelines.back()});
    }
  }

  std::vector<Timeline> timelines;
  std::vector<CardRun> runs;
};

/// Keeps the boxes of texts, and how far everything reaches.
class MeasuringCanvas final : public PaperCanvas {
 public:
  void fill(const PaperBox& box, std::string_view) override { boxes.push_back(box); }
  void hatch(const PaperBox& box, std::size_t) override { boxes.push_back(box); }
  void text(const PaperText& text) override {
    if (text.words.empty()) return;
    const double width = paper_width(text.words, text.size);
    texts.push_back(
        {text.at.x - share_before(text.anchor) * width, text.at.y - 0.2 * text.size, width, 0.9 * text.size});
    boxes.push_back(texts.back());
    smallest = std::min(smallest, text.words.find_first_not_of("0123456789") == std::string::npos ? 7.0 : text.size);
  }

  std::vector<PaperBox> boxes;
  std::vector<PaperBox> texts;
  double smallest = 100;
};

bool overlap(const PaperBox& a, const PaperBox& b) {
  return a.x + a.width > b.x && b.x + b.width > a.x && a.y + a.height > b.y && b.y + b.height > a.y;
}

}  // namespace

TEST_CASE("a card has its runs by step time, whatever order they are given in") {
  const RunsForCard given({"1f1b", "zb-v", "zb-h1"}, 4, 8);
  const Card card = comparison_card(given.runs);
  REQUIRE(card.blocks.size() == 3);
  CHECK(card.blocks[0].title == "zb-v");
  CHECK(card.blocks[1].title == "zb-h1");
  CHECK(card.blocks[2].title == "1f1b");
  CHECK(card.blocks[0].remark.empty());
  CHECK(card.longest == card.blocks[2].end);
  CHECK(card.blocks[0].figures == std::vector<std::string>{"25.5 ms", "5.9 % idle", "peak 4 stashes"});
  CHECK(card.about == "4 devices, 8 microbatches; F=1,I=1,W=1");
}

TEST_CASE("the difference of two runs is named by how long they take, what they hold and where they lose time") {
  const Timeline fast = simulated_for_card("zb-v", 4, 8);
  CHECK(difference_words(fast, simulated_for_card("1f1b", 4, 8)).starts_with("1.29 times as long: "));
  CHECK(difference_words(fast, fast) == "as long");
  const Timeline gpipe = simulated_for_card("gpipe", 4, 8);
  CHECK(difference_words(simulated_for_card("1f1b", 4, 8), gpipe) == "as long, 2.00 times the memory");
  const Timeline slow = synthetic_timeline({.forward_ns = 2'000'000});
  CHECK(difference_words(synthetic_timeline({}), slow).find("more work") != std::string::npos);
  CHECK(difference_words(fast, simulated_for_card("zb-v", 4, 16)).find("with 4 devices, 16 microbatches") !=
        std::string::npos);
}

TEST_CASE("the idle time of a row and its actions add up to the run on a card") {
  const RunsForCard given({"1f1b", "zb-h1"}, 4, 8);
  for (const CardBlock& block : comparison_card(given.runs).blocks) {
    for (const CardRow& row : block.rows) {
      double covered = 0;
      for (const CardSpan& span : row.spans) covered += span.end - span.start;
      for (const CardGap& gap : row.gaps) covered += gap.end - gap.start;
      CHECK(covered == doctest::Approx(block.end));
    }
  }
}

TEST_CASE("the memory on a card is that of the fullest device, and ends where all is given back") {
  const RunsForCard given({"1f1b", "gpipe"}, 4, 8);
  const Card card = comparison_card(given.runs);
  CHECK(card.most_memory == 8);
  CHECK_FALSE(card.in_bytes);
  for (const CardBlock& block : card.blocks) {
    REQUIRE_FALSE(block.memory.empty());
    CHECK(block.memory.back().amount == 0);
  }
}

TEST_CASE("nothing leaves a picture, and no two texts lie on each other, in a column and on a page") {
  for (const double width : {8.5, 17.0}) {
    for (const RunsForCard& given :
         {RunsForCard({"1f1b", "zb-h1", "zb-v"}, 4, 8),
          RunsForCard({"gpipe", "interleaved", "dualpipe", "zb-v"}, 8, 32),
          RunsForCard({"1f1b", "gpipe", "zb-h1", "zb-h2", "zb-v", "v-half", "v-min"}, 16, 64)}) {
      MeasuringCanvas canvas;
      const PaperBox all = draw_on_paper(comparison_card(given.runs), {.width_cm = width}, canvas);
      CHECK(canvas.smallest >= 7);
      for (const PaperBox& box : canvas.boxes) {
        CAPTURE(box.x);
        CAPTURE(box.y);
        CHECK(box.x >= -0.5);
        CHECK(box.x + box.width <= all.width + 0.5);
        CHECK(box.y >= all.y - 0.5);
        CHECK(box.y + box.height <= 0.5);
      }
      int overlaps = 0;
      for (std::size_t a = 0; a < canvas.texts.size(); ++a) {
        for (std::size_t b = a + 1; b < canvas.texts.size(); ++b) overlaps += overlap(canvas.texts[a], canvas.texts[b]);
      }
      CHECK(overlaps == 0);
    }
  }
}

TEST_CASE("a run without actions cannot be drawn beside others") {
  Timeline summary = synthetic_timeline({});
  summary.spans.clear();
  const std::vector<CardRun> runs{{"summary", &summary}};
  CHECK_THROWS_WITH_AS(comparison_card(runs), doctest::Contains("expected a timeline written without --summary"),
                       Error);
}

TEST_CASE("the SVG of a card has a width of its own only where one is asked for, and says its figures") {
  const RunsForCard given({"1f1b", "zb-v"}, 4, 8);
  const Card card = comparison_card(given.runs);
  CHECK(svg_picture(card, {.width_cm = 8.5}).find("width=\"8.5cm\"") != std::string::npos);
  const std::string svg = svg_picture(card);
  CHECK(svg.find("cm\"") == std::string::npos);
  CHECK(svg.find("<title>zb-v: 25.5 ms, 5.9 % idle, peak 4 stashes; 1f1b: 33 ms") != std::string::npos);
}

}  // namespace plumb

TEST_SUITE_END();
