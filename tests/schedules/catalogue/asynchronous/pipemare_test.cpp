#include <doctest/doctest.h>

#include <algorithm>

#include "schedules/catalogue/registry.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/replay.hpp"
#include "tests/support/unrolled.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

Schedule slots(std::int64_t p, std::int64_t m, std::int64_t updates) {
  return generate("pipemare", {.num_devices = static_cast<std::int32_t>(p), .num_microbatches = m, .updates = updates});
}

/// Backwards of other microbatches between the forward and the backward of `microbatch`; a pair reads both at its
/// start.
std::int64_t distance(const Schedule& schedule, std::int64_t device, std::int32_t microbatch) {
  std::int64_t between = 0;
  bool open = false;
  bool second = false;
  for (const Action& action : expand(schedule.devices[static_cast<std::size_t>(device)])) {
    const bool own = action.microbatch == MicrobatchId{microbatch};
    if (action.op == Op::kF && own) {
      open = true;
      between += action.overlaps_next ? 1 : 0;  // the partner's backward is not done at the pair's start
    } else if (action.op == Op::kB) {
      if (own) return between;
      if (open && !second) ++between;
    }
    second = action.overlaps_next && open && own;
  }
  return -1;
}

}  // namespace

TEST_CASE(
    "pipemare has slots by default, as in its paper, and with timing=1f1b the lists of pipedream without a stash") {
  ScheduleParams params{.num_devices = 4, .num_microbatches = 3, .updates = 7};
  CHECK(std::get<std::string>(generate("pipemare", params).parameters.at("timing")) == "slots");
  params.options = {{"timing", "1f1b"}};
  const Schedule pipemare = generate("pipemare", params);
  params.options.clear();
  CHECK(pipemare.devices == generate("pipedream", params).devices);
  CHECK(pipemare.weights.policy == WeightPolicy::kLatest);
}

TEST_CASE("in the slots model forward k of stage i is in slot k + i - 1 and its backward in slot k + 2P - i") {
  for (const std::int64_t p : {1, 2, 4, 7}) {
    for (const std::int64_t m : {1, 2, 3, 8}) {
      for (const std::int64_t updates : {1, 4, 9}) {
        const Schedule schedule = slots(p, m, updates);
        const std::int64_t all = m * updates;
        for (std::int64_t i = 1; i <= p; ++i) {
          CAPTURE(p);
          CAPTURE(m);
          CAPTURE(updates);
          CAPTURE(i);
          std::string expected;
          for (std::int64_t slot = 0; slot < all + 2 * p - 1; ++slot) {
            const std::int64_t f = slot - i + 1;
            const std::int64_t b = slot - 2 * p + i;
            const std::string stage = std::to_string(i - 1);
            const bool forward = f >= 0 && f < all;
            const bool backward = b >= 0 && b < all;
            const std::string f_text = stage + "F" + std::to_string(f);
            const std::string b_text = stage + "B" + std::to_string(b);
            if (forward && backward) expected += " (" + f_text + ";" + b_text + ")OVERLAP_F_B";
            if (forward != backward) expected += " " + (forward ? f_text : b_text);
            if (backward && (b + 1) % m == 0) expected += " " + stage + "U" + std::to_string(b / m);
          }
          Schedule one = schedule;
          one.devices = {schedule.devices[static_cast<std::size_t>(i - 1)]};
          CHECK(lists_to_text(one) == "d0:" + expected + "\n");
        }
      }
    }
  }
}

TEST_CASE("a microbatch is 2(P - i) + 1 backwards away from its own in the slots model, P - i in 1f1b") {
  const Schedule in_slots = slots(4, 2, 12);
  const Schedule in_turn =
      generate("pipemare", {.num_devices = 4, .num_microbatches = 2, .updates = 12, .options = {{"timing", "1f1b"}}});
  for (std::int64_t d = 0; d < 4; ++d) {
    CAPTURE(d);
    CHECK(distance(in_slots, d, 11) == 2 * (3 - d) + 1);
    CHECK(distance(in_turn, d, 11) == 3 - d);
  }
}

TEST_CASE("with synchronous=E the first E updates of pipemare are gpipe's, and the others follow after the drain") {
  for (const std::int64_t first : {1, 3, 7}) {
    for (const std::int64_t p : {1, 3}) {
      for (const std::int64_t m : {1, 2, 5}) {
        CAPTURE(first);
        CAPTURE(p);
        CAPTURE(m);
        const ScheduleParams params{.num_devices = static_cast<std::int32_t>(p),
                                    .num_microbatches = m,
                                    .updates = 7,
                                    .options = {{"synchronous", std::to_string(first)}, {"timing", "1f1b"}}};
        const Schedule schedule = generate("pipemare", params);
        CHECK(schedule.weights.phases == std::vector<WeightPhase>{{first, WeightPolicy::kFlush}});
        for (std::int64_t d = 0; d < p; ++d) {
          Unrolled list;
          for (std::int64_t t = 0; t < first; ++t) {
            for (std::int64_t j = 0; j < m; ++j) list.add(d, "F", t * m + j);
            for (std::int64_t j = 0; j < m; ++j) list.add(d, "B", t * m + j);
            list.add(d, "U", t);
          }
          std::int64_t f = first * m;
          for (std::int64_t b = first * m; b < 7 * m; ++b) {
            while (f < std::min(b + p - d, 7 * m)) list.add(d, "F", f++);
            list.add(d, "B", b);
            if ((b + 1) % m == 0) list.add(d, "U", b / m);
          }
          CHECK(list_text(schedule, d) == list.text());
        }
      }
    }
  }
}

TEST_CASE("t2 keeps one more buffer of the weights' size") {
  ScheduleParams params{.num_devices = 3, .num_microbatches = 2};
  CHECK(generate("pipemare", params).weights.methods.empty());
  params.options = {{"correction", "t2"}};
  CHECK(generate("pipemare", params).weights.methods == std::vector<Method>{{"t2", {}}});
}

TEST_CASE(
    "K microbatches of pipemare one pass at a time take K + P - 1 forwards and backwards, where gpipe takes (K / N)(N "
    "+ P - 1)") {
  for (const std::int64_t p : {2, 4, 7}) {
    for (const std::int64_t m : {1, 2, 4}) {
      for (const std::int64_t updates : {8, 16}) {
        CAPTURE(p);
        CAPTURE(m);
        CAPTURE(updates);
        const std::int64_t k = m * updates;
        const ScheduleParams params{
            .num_devices = static_cast<std::int32_t>(p), .num_microbatches = m, .updates = updates};
        ScheduleParams in_turn = params;
        in_turn.options = {{"timing", "1f1b"}};
        CHECK(replay(generate("pipemare", in_turn), {.f = 1, .b = 2}).makespan == (k + p - 1) * 3);
        CHECK(replay(generate("gpipe", params), {.f = 1, .b = 2}).makespan == updates * (m + p - 1) * 3);
      }
    }
  }
}

TEST_CASE("the pictures of pipemare are the ones in tests/golden") {
  const std::string in_turn = picture(
      generate("pipemare", {.num_devices = 3, .num_microbatches = 2, .updates = 4, .options = {{"timing", "1f1b"}}}),
      {});
  CHECK(in_turn == golden("schedules/pipemare_1f1b.txt", in_turn));
  const std::string in_slots = picture(slots(3, 2, 4), {.f = 1, .b = 1});
  CHECK(in_slots == golden("schedules/pipemare.txt", in_slots));
}

}  // namespace plumb::testing

TEST_SUITE_END();
