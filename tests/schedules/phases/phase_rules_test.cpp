#include "schedules/phases/phase_rules.hpp"

#include <doctest/doctest.h>

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
  bool multiples = false;         ///< m is a multiple of p
  std::int64_t least_factor = 0;  ///< m is at least so often p
};

}  // namespace

TEST_CASE("seventeen schedules of the catalogue, written as rules, are the same action by action for every size") {
  const WrittenAgain all[] = {
      {"gpipe", "gpipe"},
      {"gpipe_fifo", "gpipe", {{"order", "fifo"}}},
      {"gpipe_fifo", "torch-gpipe"},
      {"1f1b", "1f1b"},
      {"1f1b", "dapple"},
      {"1f1b", "torch-1f1b", {}, {0}, false, 1},
      {"dapple_b", "dapple", {{"policy", "b"}}},
      {"dapple_b", "eager-1f1b"},
      {"1f1b_overlap", "1f1b-overlap"},
      {"interleaved", "interleaved", {}, {1, 2, 3}, true},
      {"interleaved", "depth-first", {}, {2, 4}, true},
      {"interleaved_overlap", "interleaved-overlap", {}, {1, 2, 3}, true},
      {"breadth_first", "breadth-first", {}, {2, 3}},
      {"zb_h1", "zb-h1"},
      {"interleaved_zb", "interleaved-zb", {}, {1, 2, 3}, true},
      {"stp", "stp", {}, {2}, false, 3},
      {"dualpipev", "dualpipev", {}, {2}, false, 2},
  };
  int compared = 0;
  for (const WrittenAgain& one : all) {
    const std::string path = in_source(std::string("schedules/phases/examples/") + one.file + ".rules");
    const std::string rules = read_text_file(path);
    for (const std::int32_t p : {1, 2, 3, 4, 8}) {
      for (const std::int64_t m : {1, 2, 3, 4, 8, 12, 24, 30}) {
        for (const std::int32_t v : one.chunks) {
          if ((one.multiples && m % p != 0) || m < one.least_factor * p) continue;
          CAPTURE(one.name);
          CAPTURE(p);
          CAPTURE(m);
          CAPTURE(v);
          const ScheduleParams sizes{.num_devices = p, .num_microbatches = m, .chunks = v};
          ScheduleParams named = sizes;
          named.options = one.options;
          const Schedule theirs = generate(one.name, named);
          const Schedule ours = schedule_from_rules(rules, path, sizes);
          CHECK(lists_to_text(ours) == lists_to_text(theirs));
          CHECK(ours.placement == theirs.placement);
          ++compared;
        }
      }
    }
  }
  CHECK(compared > 500);
}

TEST_CASE("rules for several updates repeat the step") {
  const std::string rules = "m: F0\nm: B0\n";
  const Schedule twice = schedule_from_rules(rules, "a.rules", {.num_devices = 2, .num_microbatches = 2, .updates = 2});
  CHECK(lists_to_text(twice) ==
        "d0: 0F0 0F1 0B0 0B1 0U0 0F2 0F3 0B2 0B3 0U1\nd1: 1F0 1F1 1B0 1B1 1U0 1F2 1F3 1B2 1B3 1U1\n");
}

TEST_CASE("rules that are wrong are refused with their line, and what was expected") {
  const auto message = [](const std::string& rules) {
    return error_message([&] { schedule_from_rules(rules, "a.rules", {.num_devices = 2, .num_microbatches = 4}); });
  };
  CHECK(message("m: F0\nm-1: B0\n") == "a.rules:2: device 0: chunk 0 lacks 0 forwards and 1 backwards at the end");
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
        "a.rules:1: expression 'warm': unknown name 'warm', expected one of d, m, p, v");
  CHECK(message("m/(p-2): F0\n") == "a.rules:1: expression 'm/(p-2)': divided by 0, expected at least 1");
  CHECK(message("m + : F0\n") == "a.rules:1: expression 'm +': expected a number or a name at its character 4");
  CHECK(message("placement w\n") == "a.rules:1: placement 'w', expected looped or v");
  CHECK(message("repeat m\n") ==
        "a.rules:1: 'repeat', expected chunks, placement, need, let, stream, or COUNT: PASSES");
  CHECK(message("# nothing\n") == "a.rules: expected at least one line COUNT: PASSES");
}

}  // namespace plumb::testing

TEST_SUITE_END();
