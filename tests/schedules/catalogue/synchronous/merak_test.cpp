#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "schedules/catalogue/registry.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/replay.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

Schedule merak(std::int64_t p, std::int64_t m, const char* level) {
  return generate("merak",
                  {.num_devices = static_cast<std::int32_t>(p), .num_microbatches = m, .options = {{"level", level}}});
}

bool recomputed(const Schedule& schedule, std::int64_t stage, std::int32_t microbatch) {
  return std::any_of(schedule.recompute.begin(), schedule.recompute.end(), [&](const Recompute& rule) {
    const auto& listed = rule.microbatches;
    return rule.first_stage <= stage && stage <= rule.last_stage &&
           (listed.empty() || std::find(listed.begin(), listed.end(), microbatch) != listed.end());
  });
}

/// As the reference writes it: X for a backward that recomputes inside, B for one that does not.
std::string with_x(const Schedule& schedule, std::int64_t stage) {
  std::string text;
  bool early = false;
  for (const Action& action : expand(schedule.devices[static_cast<std::size_t>(stage)])) {
    if (action.op == Op::kU) continue;
    const auto microbatch = static_cast<std::int32_t>(action.microbatch);
    const bool inside = action.op == Op::kB && !early && recomputed(schedule, stage, microbatch);
    early = action.op == Op::kR;
    text += (text.empty() ? "" : " ") +
            (inside ? std::string("X") : std::string(kOpNames[static_cast<std::size_t>(action.op)])) +
            std::to_string(microbatch);
  }
  return text;
}

void check_lists(const char* level, const std::vector<std::string>& published) {
  const Schedule schedule = merak(4, 6, level);
  CAPTURE(level);
  for (std::size_t d = 0; d < 4; ++d) CHECK(with_x(schedule, static_cast<std::int64_t>(d)) == published[d]);
}

}  // namespace

TEST_CASE("merak lists are those of the released code, level by level") {
  check_lists("prerecompute",
              {"F0 F1 F2 F3 X0 F4 X1 F5 X2 R3 B3 R4 B4 R5 B5", "F0 F1 F2 X0 F3 X1 F4 X2 F5 X3 R4 B4 R5 B5",
               "F0 F1 X0 F2 X1 F3 X2 F4 X3 F5 X4 R5 B5", "F0 X0 F1 X1 F2 X2 F3 X3 F4 X4 F5 X5"});
  check_lists("lastnorecompute",
              {"F0 F1 F2 F3 X0 F4 X1 F5 X2 R3 B3 R4 B4 R5 B5", "F0 F1 F2 X0 F3 X1 F4 X2 F5 X3 R4 B4 R5 B5",
               "F0 F1 B0 F2 X1 F3 X2 F4 X3 F5 X4 R5 B5", "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5"});
  check_lists("shifted", {"F0 F1 F2 F3 X0 F4 X1 F5 X2 R3 B3 R4 B4 R5 B5", "F0 F1 F2 B0 F3 X1 F4 X2 F5 X3 R4 B4 R5 B5",
                          "F0 F1 F2 B0 B1 F3 X2 F4 X3 F5 X4 R5 B5", "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5"});
}

TEST_CASE("each level of merak takes the published time off") {
  for (const auto& [p, m] :
       {std::pair{4, 4}, std::pair{4, 6}, std::pair{4, 8}, std::pair{4, 16}, std::pair{8, 16}, std::pair{8, 32}}) {
    CAPTURE(p);
    CAPTURE(m);
    const auto makespan = [p = p, m = m](const char* level) {
      return replay(merak(p, m, level), {.f = 1, .b = 2, .r = 1}).makespan;
    };
    const std::int64_t base = 4 * (m + p - 1);
    CHECK(makespan("base") == base);
    CHECK(makespan("prerecompute") == base - (p - 1));
    CHECK(makespan("lastnorecompute") == base - (p - 1) - 2);
    CHECK(makespan("shifted") == base - (p - 1) - 3);
  }
}

TEST_CASE("device d of merak keeps min(p - d, m) inputs, the last but one one more") {
  CHECK(peak_stashes(merak(4, 6, "shifted")) == std::vector<std::int64_t>{4, 3, 3, 1});
  CHECK(peak_stashes(merak(4, 6, "lastnorecompute")) == std::vector<std::int64_t>{4, 3, 2, 1});
  CHECK(peak_stashes(merak(6, 12, "shifted")) == std::vector<std::int64_t>{6, 5, 4, 3, 3, 1});
}

TEST_CASE("the microbatches that merak keeps are the first of every step, not of the run") {
  const Schedule schedule = generate("merak", {.num_devices = 3, .num_microbatches = 4, .updates = 2});
  std::vector<std::int32_t> kept;
  for (std::int32_t microbatch = 0; microbatch < 8; ++microbatch) {
    if (!recomputed(schedule, 1, microbatch)) kept.push_back(microbatch);
  }
  CHECK(kept == std::vector<std::int32_t>{0, 1, 4, 5});
}

TEST_CASE("the picture of merak is the one in tests/golden") {
  const std::string actual = picture(merak(4, 6, "shifted"), {});
  CHECK(actual == golden("schedules/merak.txt", actual));
}

}  // namespace plumb::testing

TEST_SUITE_END();
