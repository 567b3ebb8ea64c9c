// What the readers of schedules make of the texts of their corpora and of every small edit of them: a line for each
// text in tests/golden/readers. Where a format or a message is changed on purpose, the lines say which texts it
// concerns.
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "schedules/catalogue/registry.hpp"
#include "schedules/document/action_text.hpp"
#include "schedules/document/methods.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/formats/megatron.hpp"
#include "schedules/formats/zero_bubble_table.hpp"
#include "schedules/phases/phase_rules.hpp"
#include "tests/support/read_corpus.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

std::string written(const Schedule& schedule) {
  for (const DeviceList& list : schedule.devices) {
    if (expanded_size(list) > 1000) return schedule_to_json(schedule);
  }
  return schedule_to_json(schedule) + schedule_to_text(schedule);
}

/// Numbers and loops in which expanding would take long.
bool is_long(std::string_view text) {
  int digits = 0;
  int loops = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    digits = text[i] >= '0' && text[i] <= '9' ? digits + 1 : 0;
    loops += text.substr(i).starts_with("for") ? 1 : 0;
    if (digits > 2 || loops > 2) return true;
  }
  return false;
}

std::string item_read(const std::string& text) {
  std::vector<Action> actions;
  const std::string_view expected = read_item(text, actions);
  if (!expected.empty()) return std::string(expected);
  std::string again;
  append_item(again, actions, 0);
  return again;
}

std::string rules_read(const std::string& text) {
  if (is_long(text)) return "";
  std::string both = written(schedule_from_rules(text, "x.rules", {.num_devices = 2, .num_microbatches = 3}));
  return both += written(schedule_from_rules(text, "x.rules", {.num_devices = 3, .num_microbatches = 5}));
}

}  // namespace

TEST_CASE("documents, lists and actions are read, or refused, as they were, with every edit of a letter") {
  check_corpus_lines(
      corpus_lines("schedule_json",
                   [](const std::string& text) { return written(schedule_from_json(text, "x.json")); }) +
          corpus_lines("schedule_text",
                       [](const std::string& text) { return written(schedule_from_text(text, "x.txt")); }) +
          corpus_lines("action_text", item_read) +
          corpus_lines("methods_text", [](const std::string& text) { return to_string(parse_methods(text)); }),
      "readers/documents.txt");
}

TEST_CASE("the formats of other systems are read, or refused, as they were, with every edit of a letter") {
  check_corpus_lines(
      corpus_lines("torch_csv",
                   [](const std::string& text) { return written(schedule_from_torch_csv(text, "x.csv")); }) +
          corpus_lines("deepspeed_text",
                       [](const std::string& text) { return written(schedule_from_deepspeed(text, "x.txt")); }) +
          corpus_lines("megatron_options",
                       [](const std::string& text) { return written(schedule_from_megatron_options(text, "x.txt")); }) +
          corpus_lines("zero_bubble_table",
                       [](const std::string& text) { return written(schedule_from_zero_bubble_table(text, "x.txt")); }),
      "readers/formats.txt");
}

TEST_CASE("rules of phases are read, or refused, as they were, with every edit of a letter") {
  check_corpus_lines(corpus_lines("phase_rules", rules_read), "readers/phases.txt");
}

TEST_CASE("documents and lists of the catalogue are read, or refused, as they were, with every edit of a letter") {
  std::string lines;
  for (const char* name : {"tspipe", "seq1f1b", "pipemare", "chimera", "pipeoffload", "tawpipe", "1f1b-vocab",
                           "hetpipe", "1f1b-overlap", "diffusionpipe"}) {
    const Schedule schedule = generate(name, {.num_devices = 2, .num_microbatches = 4});
    for (const bool json : {true, false}) {
      TextSum sum;
      int good = 0;
      for_each_edit_of(
          json ? schedule_to_json(schedule) : schedule_to_text(schedule), 240, [&](const std::string& text) {
            try {
              const Schedule read = json ? schedule_from_json(text, "x.json") : schedule_from_text(text, "x.txt");
              sum.add(written(read));
              ++good;
            } catch (const Error& error) {
              sum.add(error.what());
            }
          });
      lines += std::string(name) + (json ? " as JSON: " : " as text: ") + std::to_string(good) + " read, " +
               sum.text() + "\n";
    }
  }
  CHECK(lines == golden("readers/catalogue.txt", lines));
}

}  // namespace plumb::testing

TEST_SUITE_END();
