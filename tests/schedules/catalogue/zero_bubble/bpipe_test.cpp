#include <doctest/doctest.h>

#include <map>

#include "schedules/catalogue/registry.hpp"
#include "schedules/checks/validate.hpp"
#include "tests/support/device_span.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/unrolled.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

struct Moves {
  std::int64_t evictions = 0;
  std::int64_t most_away = 0;
  std::int64_t most_here = 0;  ///< own stashes on the device
};

Moves moves_of(const DeviceList& list) {
  Moves moves;
  std::int64_t away = 0;
  std::int64_t here = 0;
  for (const Action& action : expand(list)) {
    if (action.op == Op::kEvict) ++moves.evictions, ++away, --here;
    if (action.op == Op::kLoad) --away, ++here;
    if (action.op == Op::kF) ++here;
    if (action.op == Op::kB || action.op == Op::kW) --here;
    moves.most_away = std::max(moves.most_away, away);
    moves.most_here = std::max(moves.most_here, here);
  }
  return moves;
}

Schedule bpipe_of(std::int32_t p, const char* load) {
  return generate("bpipe", {.num_devices = p, .num_microbatches = 4 * std::int64_t{p}, .options = {{"load", load}}});
}

}  // namespace

TEST_CASE("bpipe that loads late moves as often as the arithmetic of the newest stash says") {
  const std::map<std::int32_t, std::vector<std::int64_t>> evictions{{8, {12, 10, 6, 0}},
                                                                    {16, {28, 24, 24, 20, 16, 12, 7, 0}}};
  for (const auto& [p, expected] : evictions) {
    const Schedule schedule = bpipe_of(p, "late");
    for (std::size_t d = 0; d < expected.size(); ++d) {
      CAPTURE(p);
      CAPTURE(d);
      CHECK(moves_of(schedule.devices[d]).evictions == expected[d]);
    }
  }
}

TEST_CASE("no device of bpipe holds more than ceil((p + 2) / 2) activations, guests included") {
  for (const std::int32_t p : {2, 3, 4, 5, 8, 16}) {
    for (const char* load : {"ahead", "late"}) {
      const Schedule schedule = bpipe_of(p, load);
      CHECK(validate(schedule).empty());
      const std::int64_t most = (p + 3) / 2;
      for (std::int32_t d = 0; d < p; ++d) {
        CAPTURE(p);
        CAPTURE(d);
        CAPTURE(load);
        const Moves own = moves_of(schedule.devices[static_cast<std::size_t>(d)]);
        const Moves guest = moves_of(schedule.devices[static_cast<std::size_t>(p - 1 - d)]);
        CHECK(own.most_here <= most);
        CHECK(own.most_here + (2 * d >= p ? guest.most_away : 0) <= most);
      }
    }
  }
}

TEST_CASE("bpipe without its moves is 1f1b") {
  const Schedule schedule = bpipe_of(6, "ahead");
  const Schedule plain = generate("1f1b", {.num_devices = 6, .num_microbatches = 24});
  for (std::size_t d = 0; d < 6; ++d) {
    std::vector<Action> actions = expand(schedule.devices[d]);
    std::erase_if(actions, [](const Action& action) { return action.op == Op::kEvict || action.op == Op::kLoad; });
    CHECK(actions == expand(plain.devices[d]));
  }
}

TEST_CASE("the picture of bpipe is the one in tests/golden") {
  const std::string actual = picture(generate("bpipe", {.num_devices = 4, .num_microbatches = 6}), {});
  CHECK(actual == golden("schedules/bpipe.txt", actual));
}

}  // namespace plumb::testing

TEST_SUITE_END();
