#include "schedules/formats/zero_bubble_table.hpp"

#include <doctest/doctest.h>

#include <string>

#include "schedules/catalogue/registry.hpp"
#include "schedules/document/schedule_io.hpp"
#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

std::string table_refusal(const std::string& text) {
  return error_message([&] { schedule_from_zero_bubble_table(text, "t.py"); });
}

}  // namespace

TEST_CASE("a table written for the zero-bubble fork reads as the same order in the same places") {
  for (const char* name : {"1f1b", "zb-h2", "zb-v", "v-min", "1f1b-v", "interleaved-zb"}) {
    for (const std::int32_t p : {1, 2, 3}) {
      CAPTURE(name);
      CAPTURE(p);
      const Schedule schedule = generate(name, {.num_devices = p, .num_microbatches = 6});
      const Schedule read = schedule_from_zero_bubble_table(schedule_to_zero_bubble_table(schedule), "t.py");
      CHECK(schedule_to_torch_csv(read) == schedule_to_torch_csv(schedule));
      CHECK(read.placement == schedule.placement);
    }
  }
}

TEST_CASE("without stages the chunks of a table lie where it can run") {
  const auto rank = [](const std::string& order) {  // "F00" is the F of microbatch 0 in chunk 0, B the whole backward
    std::string text = "[";
    for (std::size_t at = 0; at < order.size(); at += 4) {
      const std::string type = order[at] == 'F' ? "'F'" : "'BW'";
      text += "(" + type + "," + order[at + 1] + "," + order[at + 2] + "),";
    }
    return text + "],\n";
  };
  const auto holder_of_stage_2 = [&](const std::string& first, const std::string& second) {
    const std::string text = "# two ranks\nSCHEDULE = [" + rank(first) + rank(second) + "]";
    return index(schedule_from_zero_bubble_table(text, "t.py").placement[0][2].front());
  };
  const std::string gathering = "F00 F10 F01 F11 B01 B11 B00 B10";
  const std::string turning = "F00 F10 F01 B01 F11 B11 B00 B10";  // only where the last stage is
  CHECK(holder_of_stage_2(gathering, turning) == 0);
  CHECK(holder_of_stage_2(turning, gathering) == 1);
  CHECK(table_refusal("SCHEDULE = [" + rank(gathering) + rank(gathering) + "]") ==
        "t.py: chunks may go round the ranks or down and up; expected the stages of every rank's chunks too, STAGES = "
        "[[0, ...], ...]");
  for (const char* name : {"v-half", "zb-v", "interleaved-zb", "interleaved"}) {
    CAPTURE(name);
    const Schedule schedule = generate(name, {.num_devices = 4, .num_microbatches = 8});
    const std::string text = schedule_to_zero_bubble_table(schedule);
    const Schedule read = schedule_from_zero_bubble_table(text.substr(0, text.find("STAGES")), "t.py");
    CHECK(read.placement == schedule.placement);
  }
}

TEST_CASE("a table that is none is refused with line, rank and cell") {
  CHECK(table_refusal("") == "t.py: expected SCHEDULE = [...] with one list per rank");
  CHECK(table_refusal("import os\n") == "t.py:1: expected SCHEDULE = [...] or STAGES = [...], each once");
  CHECK(table_refusal("SCHEDULE = [\n  [(\"F\", 0, 0), (\"X\", 0, 0)]]") ==
        "t.py:2: rank 0, cell 2: expected the type F, B, W or BW");
  CHECK(table_refusal("SCHEDULE = [[(\"F\", 0, 0)],\n[(\"F\", 0)]]") ==
        "t.py:2: rank 1, cell 1: expected (type, microbatch, chunk), such as (\"F\", 0, 0)");
  CHECK(table_refusal("SCHEDULE = [[(\"F\", -1, 0)]]") ==
        "t.py:1: expected a microbatch, a number from 0 to 2147483646");
  CHECK(table_refusal("SCHEDULE = [[(\"F\", 0, 0)]]\nSTAGES = [[1]]") ==
        "t.py: STAGES: expected 1 for each of 1 ranks, all from 0 to 0 once");
  CHECK(table_refusal("SCHEDULE = [[(\"F\", 0, 2)]]") == "t.py: rank 0 names 1 chunks; expected all of 0 to 2");
  CHECK(table_refusal("SCHEDULE = [[(\"F\", 0, 0)]") == "t.py:1: expected ']' of the table");
}

}  // namespace plumb::testing

TEST_SUITE_END();
