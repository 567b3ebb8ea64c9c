#include "schedules/phases/phase_rules.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "models/ground/error.hpp"
#include "models/ground/text_file.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/document/schedule_io.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/source_directory.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

/// A file of rules, and the schedule of the catalogue that it writes again.
struct WrittenAgain {
  const char* file;
  const char* name;
  std::map<std::string, std::string> options = {};
  std::vector<std::int32_t> chunks = {0};
  std::map<std::string, std::string> rule_options = {};
};

const std::vector<WrittenAgain>& all_written_again() {
  static const std::vector<WrittenAgain> all{
      {"breadth_first", "breadth-first", {}, {2, 3}},
      {"chimera", "chimera"},
      {"chimera", "chimera", {{"pipelines", "2"}}, {0}, {{"pipelines", "2"}}},
      {"gis", "gis", {}, {2, 3}},
      {"gis", "gis", {{"group", "3"}}, {2}, {{"group", "3"}}},
  };
  return all;
}

/// Nothing where the sizes are refused.
std::optional<Schedule> schedule_or_refusal(const std::function<Schedule()>& make) {
  try {
    return make();
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// All that a document says, but its name and parameters, with loops written out.
std::string said_by(Schedule schedule) {
  schedule.name = "same";
  schedule.parameters = {};
  return schedule_to_text(schedule);
}

/// Whether a line of rules says how often a pattern comes.
bool is_phase(const std::string& line) {
  const std::string word = line.substr(0, line.find(' '));
  const bool said_once =
      std::set<std::string>{"need", "schedule", "share", "option", "same", "chunks", "source", "needs"}.contains(word);
  return !said_once && line.find(": ") != std::string::npos && line.find("  at ") == std::string::npos;
}

/// The same rules with every pattern in a loop that is not folded.
std::string turn_by_turn(const std::string& rules) {
  std::string out;
  std::istringstream lines{rules};
  for (std::string line; std::getline(lines, line);) {
    const std::string said = line.substr(0, line.find('#'));
    const std::size_t colon = said.find(": ");
    out += is_phase(said) ? "for turn_ in " + said.substr(0, std::min(colon, said.find(" in "))) + " {\n1" +
                                said.substr(colon) + "\n}\n"
                          : line + "\n";
  }
  return out;
}

/// Sizes of p, m and chunks, and one or several updates, with every word of the options of a row.
void for_each_size(const ScheduleSpec& spec, const std::function<void(const ScheduleParams&)>& visit) {
  std::vector<std::map<std::string, std::string>> options{{}};
  for (const NamedOption& option : spec.options) {
    for (const OptionForm& form : option.values) {
      const bool word = form.kind == OptionForm::Kind::kWord;
      options.push_back({{std::string(option.name), word ? std::string(form.text) : "2"}});
    }
  }
  for (const auto& given : options) {
    for (const std::int32_t p : {1, 2, 3, 4, 8}) {
      for (const std::int64_t m : {1, 2, 3, 5, 8, 12, 24}) {
        for (const std::int32_t v : {0, 1, 3}) {
          if (v == 0 || spec.placement == "looped") {
            visit({.num_devices = p, .num_microbatches = m, .chunks = v, .updates = p % 3, .options = given});
          }
        }
      }
    }
  }
}

/// How many sizes gave the same document; checks that the rules refuse no size that the catalogue takes, but those of
/// whole groups.
int same_for_all_sizes(const WrittenAgain& one) {
  int same = 0;
  const std::string path = in_source(std::string("schedules/phases/examples/") + one.file + ".rules");
  const std::string rules = read_text_file(path);
  const bool whole_groups = rules.find("need m % ") != std::string::npos;
  for (const std::int32_t p : {1, 2, 3, 4, 5, 8}) {
    for (const std::int64_t m : {1, 2, 3, 4, 7, 8, 12, 24, 30}) {
      for (const std::int32_t v : one.chunks) {
        for (const std::int64_t updates : {0, 3}) {
          CAPTURE(p);
          CAPTURE(m);
          CAPTURE(v);
          ScheduleParams sizes{.num_devices = p, .num_microbatches = m, .chunks = v, .updates = updates};
          sizes.options = one.options;
          const auto theirs = schedule_or_refusal([&] { return generate(one.name, sizes); });
          if (!theirs) continue;
          sizes.options = one.rule_options;
          if (whole_groups && !schedule_or_refusal([&] { return schedule_from_rules(rules, path, sizes); })) continue;
          const Schedule ours = schedule_from_rules(rules, path, sizes);
          const bool equal = said_by(ours) == said_by(*theirs);
          CHECK_MESSAGE(equal, said_by(ours), "\nexpected\n", said_by(*theirs));
          if (!equal) return same;
          ++same;
        }
      }
    }
  }
  return same;
}

}  // namespace

TEST_CASE("rules say what generators that choose or search make where nothing is chosen") {
  std::set<std::string> files;
  for (const WrittenAgain& one : all_written_again()) {
    CAPTURE(one.file);
    CAPTURE(one.name);
    CHECK(same_for_all_sizes(one) >= 10);
    files.insert(one.file);
  }
  for (const auto& entry : std::filesystem::directory_iterator(in_source("schedules/phases/examples"))) {
    CHECK_MESSAGE(files.contains(entry.path().stem().string()), entry.path().string(), " is compared with nothing");
  }
}

TEST_CASE("folded turns of patterns are the turns that are written one by one") {
  int same = 0;
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    if (spec.rules == nullptr || !spec.alias_of.empty()) continue;
    CAPTURE(spec.name);
    const std::string rules(spec.rules_text);
    const std::string turns = turn_by_turn(rules);
    CHECK(turns != rules);
    for_each_size(spec, [&](const ScheduleParams& params) {
      const auto folded = schedule_or_refusal([&] { return schedule_from_rules(rules, "a.rules", params); });
      if (!folded) return;
      const Schedule apart = schedule_from_rules(turns, "a.rules", params);
      REQUIRE(said_by(*folded) == said_by(apart));
      ++same;
    });
  }
  CHECK(same > 3000);
}

TEST_CASE("the rules of a schedule make it from a file, too") {
  int same = 0;
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    if (spec.rules_text.empty()) continue;
    CAPTURE(spec.name);
    const ScheduleParams params{.num_devices = 4, .num_microbatches = 12};
    Schedule copy = schedule_from_rules(spec.rules_text, "copy.rules", params);
    copy.name = spec.name;
    CHECK(copy == generate(spec.name, params));
    ++same;
  }
  CHECK(same > 30);
}

TEST_CASE("a count of a pattern is one block, however long") {
  const ScheduleParams sizes{.num_devices = 2, .num_microbatches = 1'000'000'000};
  const Schedule folded = schedule_from_rules("1: F0\nm-1: F0 I0 W0\n1: B0\n", "a.rules", sizes);
  CHECK(folded.devices[1].actions.size() == 6);
  REQUIRE(folded.devices[1].repeats.size() == 1);
  CHECK(folded.devices[1].repeats[0].count == 999'999'999);
}

TEST_CASE("rules for several updates repeat the step") {
  const std::string rules = "m: F0\nm: B0\n";
  const Schedule twice = schedule_from_rules(rules, "a.rules", {.num_devices = 2, .num_microbatches = 2, .updates = 2});
  CHECK(lists_to_text(twice) ==
        "d0: 0F0 0F1 0B0 0B1 0U0 0F2 0F3 0B2 0B3 0U1\nd1: 1F0 1F1 1B0 1B1 1U0 1F2 1F3 1B2 1B3 1U1\n");
}

TEST_CASE("options of rules have the values that are given, else their own") {
  const std::string rules = "option k = min(2, m)\nneed m % k == 0\nm/k: k*F0 k*B0\n";
  ScheduleParams sizes{.num_devices = 1, .num_microbatches = 4};
  CHECK(lists_to_text(schedule_from_rules(rules, "a.rules", sizes)) == "d0: 0F0 0F1 0B0 0B1 0F2 0F3 0B2 0B3 0U0\n");
  sizes.options = {{"k", "4"}};
  const Schedule four = schedule_from_rules(rules, "a.rules", sizes);
  CHECK(lists_to_text(four) == "d0: 0F0 0F1 0F2 0F3 0B0 0B1 0B2 0B3 0U0\n");
  CHECK(std::get<std::int64_t>(four.parameters.at("k")) == 4);
  sizes.options = {{"size", "4"}};
  CHECK(error_message([&] { schedule_from_rules(rules, "a.rules", sizes); }) ==
        "a.rules: option 'size', expected one of k");
}

TEST_CASE("what is padded is not written, and the other half of its pair stands alone") {
  const Schedule padded = schedule_from_rules("padded m+1\nm: F0\n1: (F0;B0)\nm: B0\n", "a.rules",
                                              {.num_devices = 1, .num_microbatches = 2});
  CHECK(lists_to_text(padded) == "d0: 0F0 0F1 0B0 0B1 0U0\n");
}

TEST_CASE("recomputes take the oldest forward that still waits for one") {
  const Schedule schedule =
      schedule_from_rules("m: F0\n2: R0\nm: B0\n", "a.rules", {.num_devices = 1, .num_microbatches = 3});
  CHECK(lists_to_text(schedule) == "d0: 0F0 0F1 0F2 0R0 0R1 0B0 0B1 0B2 0U0\n");
}

TEST_CASE("rules that are wrong are refused with their line, and what was expected") {
  const auto message = [](const std::string& rules) {
    return error_message([&] { schedule_from_rules(rules, "a.rules", {.num_devices = 2, .num_microbatches = 4}); });
  };
  CHECK(message("m: F0\nm-1: B0\n") == "a.rules:2: device 0: chunk 0 lacks 0 forwards and 1 backwards at the end");
  CHECK(message("updates 3\n3*m: F0 B0\n") ==
        "a.rules:1: lists cover 3 updates and say nothing of them, expected U where each ends");
  CHECK(message("m+1: F0\n") == "a.rules:1: device 0: chunk 0 has all its forwards already");
  CHECK(message("1: B0\n") == "a.rules:1: device 0: a backward of chunk 0 has no forward before it");
  CHECK(message("m: F0\nm: I0\n") == "a.rules:2: device 0: 4 weight gradients are missing at the end");
  CHECK(message("m: F0\nm: W\n") == "a.rules:2: device 0: no input gradient waits for its weight gradient");
  CHECK(message("m: F1\n") == "a.rules:1: chunk 1, expected one below 1");
  CHECK(message("m: F\n") == "a.rules:1: 'F' has no chunk, expected one, such as F0 or F@stream");
  CHECK(message("m: G0\n") == "a.rules:1: 'G0', expected F, B, I or W of a chunk, such as F0 or F@stream");
  CHECK(message("m: F@x\n") == "a.rules:1: there is no stream 'x'");
  CHECK(message("p-m: F0\n") == "a.rules:1: p-m is -2, expected at least 0");
  CHECK(message("need m > 4\nm: F0\n") == "a.rules:1: needs m > 4");
  CHECK(message("let w = warm\nm: F0\n") ==
        "a.rules:1: expression 'warm': unknown name 'warm', expected one of d, m, p, u, v");
  CHECK(message("m/(p-2): F0\n") == "a.rules:1: expression 'm/(p-2)': divided by 0, expected at least 1");
  CHECK(message("m + : F0\n") == "a.rules:1: expression 'm +': expected a number or a name at its character 4");
  CHECK(message("placement w\n") == "a.rules:1: placement 'w', expected linear, looped, v or bidirectional");
  CHECK(
      message("repeat m\n") ==
      "a.rules:1: 'repeat', expected chunks, placement, need, let, stream, COUNT: PASSES or another line of RULES.md");
  CHECK(message("for i in m {\n1: F0\n") == "a.rules:1: expected a line } behind this block");
  CHECK(message("1: F0\n}\n") == "a.rules:2: '}' closes nothing, expected for, repeat, if or sorted before it");
  CHECK(message("sorted {\n1: F0\n}\n") == "a.rules:2: expected at SLOT: PASSES inside sorted");
  CHECK(message("at 1: F0\n") == "a.rules:1: expected at only inside sorted { }");
  CHECK(message("copies 2\nm: F0\n") ==
        "a.rules:1: which copy takes which microbatches is missing, expected share COUNT: ITEM");
  CHECK(message("copies 2\nshare m: i\nm: F0\n") == "a.rules:2: copies take 8 microbatches, expected 4");
  CHECK(message("stage 0\nm: F0\n") == "a.rules:1: stage 0 of copy 0 is on 2 devices, expected one");
  CHECK(message("stage 2*d\nm: F0\n") == "a.rules:1: 2*d is 2, expected -1 to 1");
  CHECK(message("m: [2]:F0\n") == "a.rules:1: copy 2, expected one below 1");
  CHECK(message("1: LOAD0@7 F0\n") == "a.rules:1: device 7, expected host or one below 2");
  CHECK(message("1: LOAD0\n") == "a.rules:1: 'LOAD0', expected where it moves, such as LOAD0@host");
  CHECK(message("padded m-1\nm: F0\n") == "a.rules:1: m-1 is 3, expected 4 to 2147483647");
  CHECK(message("weights fresh\nm: F0\n") ==
        "a.rules:1: weights 'fresh', expected one of flush, stash, vertical_sync, double_buffer, delay, latest, "
        "predicted");
  CHECK(message("option p = 1\nm: F0\n") == "a.rules:1: 'p' is taken, expected another name of an option");
  CHECK(message("for i in 1000000000 {\n}\nm: F0\n") == "a.rules:1: expected at most 20000000 passes");
  CHECK(error_message([] {
          schedule_from_rules("copies 1024\nm: F0\n", "a.rules", {.num_devices = 1025, .num_microbatches = 4});
        }) == "a.rules: 1025 stages of 1024 copies, expected at most 1048576 in all");
  CHECK(message("# nothing\n") == "a.rules: expected at least one line COUNT: PASSES");
}

TEST_CASE("words of options choose lines, and what is needed is told in words") {
  const std::string rules =
      "option order = up|down-up: which way\noption k = p [K from 0, p]: how many\nneed k <= m: k ({k}) is more than "
      "{m-1+1}\nif order is up {\nm: F0\n} else {\nm: F0 B0\n}\nm*(order is up): B0-\n";
  ScheduleParams sizes{.num_devices = 1, .num_microbatches = 2};
  CHECK(lists_to_text(schedule_from_rules(rules, "a.rules", sizes)) == "d0: 0F0 0F1 0B1 0B0 0U0\n");
  sizes.options = {{"order", "down-up"}, {"k", "0"}};
  const Schedule other = schedule_from_rules(rules, "a.rules", sizes);
  CHECK(lists_to_text(other) == "d0: 0F0 0B0 0F1 0B1 0U0\n");
  CHECK(std::get<std::string>(other.parameters.at("order")) == "down-up");
  sizes.options = {{"k", "3"}};
  CHECK(error_message([&] { schedule_from_rules(rules, "a.rules", sizes); }) == "a.rules: k (3) is more than 2");
  sizes.options = {{"order", "left"}};
  CHECK(error_message([&] { schedule_from_rules(rules, "a.rules", sizes); }) ==
        "a.rules: option order: expected up or down-up, found 'left'");
}

TEST_CASE("an update every m backwards stands behind the turn of each m-th one") {
  const Schedule schedule = schedule_from_rules("updates 3\nupdate every m\n1: F0\nm*u-1: F0 B0\n1: B0\n", "a.rules",
                                                {.num_devices = 1, .num_microbatches = 2});
  CHECK(lists_to_text(schedule) == "d0: 0F0 0F1 0B0 0F2 0B1 0U0 0F3 0B2 0F4 0B3 0U1 0F5 0B4 0B5 0U2\n");
}

TEST_CASE("blocks in each other are refused beyond 64, with the line") {
  const auto nested = [](int depth) {
    std::string text;
    for (int k = 0; k < depth; ++k) text += "for a" + std::to_string(k) + " in 1 {\n";
    text += "m: F0 B0\n";
    for (int k = 0; k < depth; ++k) text += "}\n";
    return text;
  };
  const auto refusal = [](const std::string& text) {
    return error_message([&] { schedule_from_rules(text, "x.rules", {.num_devices = 2, .num_microbatches = 4}); });
  };
  CHECK(refusal(nested(64)).empty());
  CHECK(refusal(nested(65)) == "x.rules:65: nested too deeply, expected at most 64 blocks in each other");
  CHECK(refusal(nested(30'000)) == "x.rules:65: nested too deeply, expected at most 64 blocks in each other");
  CHECK(refusal(std::string(5'000'000, '#')) == "x.rules: expected rules of at most 4 MiB");
}

}  // namespace plumb::testing

TEST_SUITE_END();
