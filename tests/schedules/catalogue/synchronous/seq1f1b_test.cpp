#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

#include "schedules/catalogue/registry.hpp"
#include "schedules/checks/validate.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/replay.hpp"
#include "tests/support/unrolled.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

Schedule seq1f1b(std::int64_t p, std::int64_t m, std::int64_t k, std::int32_t v = 1) {
  return generate("seq1f1b", {.num_devices = static_cast<std::int32_t>(p),
                              .num_microbatches = m,
                              .chunks = v,
                              .options = {{"slices", std::to_string(k)}}});
}

Schedule seq1f1b_split(std::int64_t p, std::int64_t m, std::int64_t k) {
  return generate("seq1f1b", {.num_devices = static_cast<std::int32_t>(p),
                              .num_microbatches = m,
                              .options = {{"slices", std::to_string(k)}, {"backward", "split"}}});
}

/// "F0a.1 B0b" on device d of p as an action of ours: "3F0.0 1B0.1".
std::string our_text(const std::string& published, std::int64_t device, std::int64_t p) {
  std::istringstream words(published);
  std::string text;
  for (std::string word; words >> word;) {
    const std::size_t letter = word.find_first_of("abcd");
    const std::int64_t chunk = letter + 1 < word.size() ? word[letter + 2] - '0' : 0;
    text += (text.empty() ? "" : " ") + std::to_string(chunk * p + device) + word.substr(0, letter) + "." +
            std::to_string(word[letter] - 'a');
  }
  return text;
}

std::string compute_text(const Schedule& schedule, std::int64_t device) {
  const std::string text = list_text(schedule, device);
  return text.substr(0, text.find("U") - 2);
}

}  // namespace

TEST_CASE("seq1f1b lists are the published ones for four devices") {
  const char* const published[] = {
      "F0a F0b F1a F1b F2a B0b F2b B0a B1b B1a B2b B2a", "F0a F0b F1a F1b B0b F2a B0a F2b B1b B1a B2b B2a",
      "F0a F0b F1a B0b F1b B0a F2a B1b F2b B1a B2b B2a", "F0a F0b B0b F1a B0a F1b B1b F2a B1a F2b B2b B2a"};
  for (std::int64_t d = 0; d < 4; ++d) CHECK(compute_text(seq1f1b(4, 3, 2), d) == our_text(published[d], d, 4));
}

TEST_CASE("seq1f1b lists over two chunks are those of the released code") {
  const char* const published[] = {
      "F0a.0 F0b.0 F0a.1 F0b.1 F1a.0 F1b.0 B0b.1 F1a.1 B0a.1 F1b.1 B0b.0 F2a.0 B0a.0 F2b.0 B1b.1 F2a.1 B1a.1 F2b.1 "
      "B1b.0 F3a.0 B1a.0 F3b.0 B2b.1 F3a.1 B2a.1 F3b.1 B2b.0 B2a.0 B3b.1 B3a.1 B3b.0 B3a.0",
      "F0a.0 F0b.0 F0a.1 F0b.1 B0b.1 F1a.0 B0a.1 F1b.0 B0b.0 F1a.1 B0a.0 F1b.1 B1b.1 F2a.0 B1a.1 F2b.0 B1b.0 F2a.1 "
      "B1a.0 F2b.1 B2b.1 F3a.0 B2a.1 F3b.0 B2b.0 F3a.1 B2a.0 F3b.1 B3b.1 B3a.1 B3b.0 B3a.0"};
  for (std::int64_t d = 0; d < 2; ++d) CHECK(compute_text(seq1f1b(2, 4, 2, 2), d) == our_text(published[d], d, 2));
}

TEST_CASE("a step of seq1f1b takes m (F + B) + (p - 1)(F + B) / (k v)") {
  for (const std::int64_t p : {1, 2, 3, 4, 8}) {
    for (const std::int64_t m : {p, 2 * p, 3 * p + 1}) {
      for (const std::int64_t k : {1, 2, 3, 4}) {
        CAPTURE(p);
        CAPTURE(m);
        CAPTURE(k);
        // A slice takes F = 1, B = 2.
        CHECK(replay(seq1f1b(p, m, k), {.f = 1, .b = 2}).makespan == 3 * m * k + 3 * (p - 1));
      }
    }
  }
  // A slice of a chunk takes F = 1, B = 2, a microbatch k v times that; the published 14.25, 26.25, 25.125 and 12.75.
  CHECK(replay(seq1f1b(4, 4, 2, 2), {.f = 1, .b = 2}).makespan == 57);
  CHECK(replay(seq1f1b(4, 8, 2, 2), {.f = 1, .b = 2}).makespan == 105);
  CHECK(replay(seq1f1b(4, 8, 4, 2), {.f = 1, .b = 2}).makespan == 201);
  CHECK(replay(seq1f1b(2, 4, 2, 2), {.f = 1, .b = 2}).makespan == 51);
}

TEST_CASE("device d of seq1f1b keeps min(p - 1 - d + k, m k) slices") {
  for (const std::int64_t p : {1, 3, 4, 8}) {
    for (const std::int64_t m : {1, 2, 7}) {
      for (const std::int64_t k : {1, 2, 4}) {
        std::vector<std::int64_t> expected;
        for (std::int64_t d = 0; d < p; ++d) expected.push_back(std::min(p - 1 - d + k, m * k));
        CHECK(peak_stashes(seq1f1b(p, m, k)) == expected);
      }
    }
  }
  CHECK(peak_stashes(seq1f1b(4, 8, 2, 2)) == std::vector<std::int64_t>{12, 10, 8, 6});  // the published 3, 2.5, 2, 1.5
}

TEST_CASE("split backwards of seq1f1b put at most d weight halves off on device d, in the order of 1f1b") {
  for (const std::int64_t p : {1, 2, 3, 4, 7}) {
    for (const std::int64_t m : {1, 2, 5, 9}) {
      for (const std::int64_t k : {1, 2, 3}) {
        const Schedule split = seq1f1b_split(p, m, k);
        CHECK(validate(split).empty());
        const Schedule whole = seq1f1b(p, m, k);
        for (std::int64_t d = 0; d < p; ++d) {
          std::string expected;
          for (const Action& action : expand(whole.devices[static_cast<std::size_t>(d)])) {
            expected += to_string(action) + " ";
          }
          std::replace(expected.begin(), expected.end(), 'B', 'I');
          std::string ours;
          std::int64_t outstanding = 0;
          for (const Action& action : expand(split.devices[static_cast<std::size_t>(d)])) {
            if (action.op != Op::kW) ours += to_string(action) + " ";
            outstanding += action.op == Op::kI ? 1 : action.op == Op::kW ? -1 : 0;
            CHECK(outstanding <= d + 1);
          }
          CHECK(ours == expected);
          CHECK(outstanding == 0);
        }
      }
    }
  }
}

TEST_CASE("split backwards of seq1f1b leave 3 m + (p - 1)(F + I - W) / k between start and end of a device") {
  for (const std::int64_t p : {2, 3, 4, 8}) {
    for (const std::int64_t m : {p, 2 * p + 1}) {
      for (const std::int64_t k : {1, 2, 4}) {
        std::int64_t longest = 0;
        for (const auto& placed : replay(seq1f1b_split(p, m, k), {.f = 1, .i = 1, .w = 1}).devices) {
          longest = std::max(longest, placed.back().end - placed.front().start);
        }
        CAPTURE(p);
        CAPTURE(m);
        CAPTURE(k);
        CHECK(longest == 3 * m * k + p - 1);
      }
    }
  }
  CHECK(list_text(seq1f1b_split(2, 2, 1), 1) == "1F0.0 1I0.0 1F1.0 1I1.0 1W0.0 1W1.0 1U0");
}

TEST_CASE("seq1f1b over chunks runs for every number of slices, also those that do not divide p") {
  for (const std::int64_t p : {1, 2, 3, 4, 6}) {
    for (const std::int64_t k : {1, 2, 3, 4, 5, 8}) {
      const std::int64_t group = (p + k - 1) / k * k;
      for (const std::int64_t m : {group / k, 2 * group / k, 5 * group / k}) {
        for (const std::int32_t v : {2, 3}) {
          CAPTURE(p);
          CAPTURE(k);
          CAPTURE(m);
          CAPTURE(v);
          CHECK(validate(seq1f1b(p, m, k, v)).empty());
        }
      }
    }
  }
}

TEST_CASE("seq1f1b names the rule that a request breaks") {
  CHECK(error_message([] { seq1f1b(4, 3, 2, 2); }) ==
        "seq1f1b: microbatches times slices (6) must be a multiple of 4 (num_devices rounded up to whole "
        "microbatches) with several chunks per device");
  CHECK(
      error_message([] {
        generate("seq1f1b", {.num_devices = 2, .num_microbatches = 2, .chunks = 2, .options = {{"backward", "split"}}});
      }) == "seq1f1b: option backward=split needs one chunk per device");
  CHECK(error_message([] { seq1f1b(4, 3, 40000, 1); }) ==
        "seq1f1b: option slices (40000) must be at most 32767 and at most one for each token");
  CHECK(error_message([] { seq1f1b(5000, 3, 2, 1); }) == "seq1f1b: stages (5000) must be at most 4096");
}

TEST_CASE("the picture of seq1f1b is the one in tests/golden") {
  const std::string actual = picture(seq1f1b(4, 3, 2), {});
  CHECK(actual == golden("schedules/seq1f1b.txt", actual));
}

}  // namespace plumb::testing

TEST_SUITE_END();
