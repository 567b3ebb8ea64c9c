#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/document/schedule_io.hpp"
#include "tests/support/catalogue_walk.hpp"
#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

/// The same schedule with its repeats written out.
Schedule unfolded(Schedule schedule) {
  for (DeviceList& list : schedule.devices) list = {expand(list), {}};
  return schedule;
}

/// Checks that what is written is read back; whether it could be written.
bool comes_back(const Schedule& schedule) {
  if (schedule.policy) {
    CHECK(error_message([&] { schedule_to_text(schedule); }) ==
          "schedule '" + schedule.name +
              "' cannot be written as text: it has a run-time policy instead of lists; expected json, or the lists of "
              "one run");
    return false;
  }
  const std::string text = schedule_to_text(schedule);
  CAPTURE(text.substr(0, 400));
  const bool same = schedule_from_text(text, "x.txt") == unfolded(schedule);
  CHECK(same);
  return true;
}

std::string read_error(const std::string& text) {
  return error_message([&] { schedule_from_text(text, "x.txt"); });
}

}  // namespace

TEST_CASE("every schedule of the catalogue comes back from its text with every option, or the text is refused") {
  int written = 0;
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    CAPTURE(spec.name);
    for (const std::int64_t updates : {0, 1, 3}) {
      ScheduleParams params{.num_devices = 4, .num_microbatches = 8, .updates = updates};
      if (const auto plain = smallest(spec, params)) written += comes_back(*plain) ? 1 : 0;
      for (const NamedOption& option : spec.options) {
        CAPTURE(option.name);
        std::istringstream words{values_text(option)};
        for (std::string word; std::getline(words, word, '|');) {
          CAPTURE(word);
          params.options = {{std::string(option.name), word == "N" || word.size() == 1 ? "2" : word}};
          if (const auto schedule = generated(spec, params)) written += comes_back(*schedule) ? 1 : 0;
        }
      }
    }
  }
  CHECK(written > 250);
}

TEST_CASE("what the lists of a plain schedule tell is not written again") {
  CHECK(schedule_to_text(generate("1f1b", {.num_devices = 2, .num_microbatches = 2})) ==
        "name: \"1f1b\"\nd0: 0F0 0F1 0B0 0B1 0U0\nd1: 1F0 1B0 1F1 1B1 1U0\n");
}

TEST_CASE("everything that a document can hold goes through its text") {
  Schedule schedule = generate("chimera", {.num_devices = 4, .num_microbatches = 4});
  schedule.weights.policy = WeightPolicy::kDelay;
  schedule.weights.delay = 3;
  schedule.weights.correction_buffers = {"velocity # 2"};
  schedule.recompute = {{.first_stage = 0, .last_stage = 2, .microbatches = {1, 3}}};
  schedule.microbatch_sizes = {1, 2, 3, 4};
  schedule.reduce_groups = {{DeviceId{0}, DeviceId{3}}, {DeviceId{1}, DeviceId{2}}};
  schedule.extra_edges = {{parse_action("0F0", ""), parse_action("1:0F2", "")}};
  schedule.extras["X2"].units = 0.5;
  schedule.parameters["note"] = std::string("a \"b\"\n# c");
  schedule.slices = Slices{Slices::Axis::kBatch, {{1, 1}}};
  schedule.forward_only = true;
  schedule.stage_edges = {{StageId{0}, StageId{1}}, {StageId{0}, StageId{2}}};
  schedule.start_together = {{StageId{1}, StageId{2}}};
  CHECK(comes_back(schedule));
}

TEST_CASE("the lists tell who holds a stage in turn; where they do not, a line must") {
  const Schedule turns = schedule_from_text("d0: 0F0 0B0\nd1: 0F1 0B1\n", "x.txt");
  CHECK(turns.placement == std::vector<std::vector<std::vector<DeviceId>>>{{{DeviceId{0}, DeviceId{1}}}});
  CHECK(read_error("d0: 0F0 0F1 0F2 0B0\nd1: 0F3 0B1\n") ==
        "x.txt:2: the lists do not tell which devices hold which stage; expected a line 'placement: [[[0], [1]]]'");
  CHECK(schedule_from_text("placement: [[[1, 0]]]\nd0: 0F1 0F3\nd1: 0F0 0F2\n", "x.txt").placement[0][0][0] ==
        DeviceId{1});
}

TEST_CASE("a text may have comments, empty lines and CR LF") {
  const Schedule schedule =
      schedule_from_text("# by hand\r\n\r\nname: \"mine\"\r\n  d0: 0F0  0B0 0U0 # the end\r\n", "x.txt");
  CHECK(schedule.name == "mine");
  CHECK(schedule.devices[0].actions.size() == 3);
  CHECK(schedule.microbatches_per_update == std::vector<std::int64_t>{1});
  CHECK(schedule_from_text("d0: 0F0 0B0 0U0 0F1 0B1 0U1\n", "later.txt").microbatches_per_update ==
        std::vector<std::int64_t>{1});
}

TEST_CASE("a text that cannot be read is refused with its line") {
  CHECK(read_error("d0: 0F0\nd2: 1F0\n") == "x.txt:2:1: expected 'd1:'");
  CHECK(read_error("d0: 0F0\nhello\n") ==
        "x.txt:2:1: expected 'd1:' with the actions of the device, 'key: value' of the document, or a comment");
  CHECK(read_error("d0: 0F0 0Q0\n") == "x.txt:1:9: '0Q0': expected an op such as F, B, I, W or U after the stage");
  CHECK(read_error("weights: {\"policy\": \"flush\"}\nweights: {}\nd0: 0F0\n") ==
        "x.txt:2:1: 'weights' is given twice");
  CHECK(read_error("d0: 0F0\n\nweights: {\"policy\": \"brush\"}\n").starts_with("x.txt:3:"));
  CHECK(read_error("name: \"a\", \"num_stages\": 3\nd0: 0F0\n").starts_with("x.txt:1:"));
  CHECK(read_error("num_devices: 1\nd0: 0F0\n").starts_with("x.txt:1:1: expected 'd0:' with the actions"));
  CHECK(read_error("d0: 9999999F0\n") == "x.txt:1:5: '9999999F0': expected a stage below 1048576");
  CHECK(read_error("# nothing\n") == "x.txt:1: has no line of a device; expected 'd0: 0F0 0B0'");
}

TEST_CASE("all mistakes of a text are told at once, each with its line and column") {
  std::vector<std::string> told;
  try {
    schedule_from_text("d0: 0F0 0Q1 0B\nweights: {\n  d1: 1F0 1F0x # 1Q1\nd3: 3Z0\n", "x.txt");
  } catch (const Errors& errors) {
    told = errors.messages();
  }
  REQUIRE(told.size() == 6);
  CHECK(told[0] == "x.txt:1:9: '0Q1': expected an op such as F, B, I, W or U after the stage");
  CHECK(told[1] == "x.txt:1:13: '0B': expected a number after the op, as in 0F1");
  CHECK(told[2].starts_with("x.txt:2:"));
  CHECK(told[3] == "x.txt:3:11: '1F0x': expected the end of the action");
  CHECK(told[4] == "x.txt:4:1: expected 'd2:'");
  CHECK(told[5] == "x.txt:4:5: '3Z0': expected an op such as F, B, I, W or U after the stage");
}

TEST_CASE("an action without a stage is of the stage of its device's number, and & joins an overlapped pair") {
  const Schedule schedule = schedule_from_text("d0: F0 F1 B0 B1\nd1: F0 F1&B0 1B1\n", "x.txt");
  CHECK(lists_to_text(schedule) == "d0: 0F0 0F1 0B0 0B1\nd1: 1F0 (1F1;1B0)OVERLAP_F_B 1B1\n");
  for (const std::string letter : {"A", "Q", "Z"}) {
    CHECK(read_error("d0: F0 " + letter + "0\n") ==
          "x.txt:1:8: '" + letter + "0': expected an op such as F, B, I, W or U after the stage");
  }
}

TEST_CASE("rows of a drawing are read as lists, and a drawing that was cut is refused") {
  const Schedule schedule = schedule_from_text(
      "d0 | F0 F1       B0 ==    B1=== |\n"
      "d1 |    F0 B0 == F1 B1 ==       |\n"
      "     0                      9 ms\n",
      "x.txt");
  CHECK(lists_to_text(schedule) == "d0: 0F0 0F1 0B0 0B1\nd1: 1F0 1B0 1F1 1B1\n");
  CHECK(read_error("d0 | F0 F1...\n") == "x.txt:1:9: the drawing is cut; expected one that shows all columns");
  CHECK(read_error("d0 | F0 |\n... and 3 more devices\n") ==
        "x.txt:2:1: the drawing does not show all devices; expected a line 'd1: ...'");
}

}  // namespace plumb::testing

TEST_SUITE_END();
