#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "models/ground/error.hpp"
#include "models/ground/text_file.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/document/action_text.hpp"
#include "schedules/document/schedule_io.hpp"
#include "tests/schedules/catalogue/torch/torch_orders.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/replay.hpp"
#include "tests/support/source_directory.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

constexpr std::array kKinds{"torch-gpipe",          "torch-1f1b", "torch-interleaved", "torch-looped-bfs",
                            "torch-interleaved-zb", "torch-zbv",  "torch-dualpipev"};

/// F, B, I, W and pairs of every device, as PyTorch writes them.
std::vector<std::vector<std::string>> compute_cells(const Schedule& schedule) {
  std::vector<std::vector<std::string>> devices;
  for (const DeviceList& list : schedule.devices) {
    auto& cells = devices.emplace_back();
    const std::vector<Action> actions = expand(list);
    for (std::size_t at = 0; at < actions.size();) {
      std::string text;
      const bool counts = actions[at].op <= Op::kW;
      at = append_item(text, actions, at);
      if (counts) cells.push_back(text);
    }
  }
  return devices;
}

ScheduleParams params_of(const TorchSize& size) {
  return {.num_devices = static_cast<std::int32_t>(size.p),
          .num_microbatches = size.m,
          .chunks = static_cast<std::int32_t>(size.v)};
}

template <class Visit>
void for_each_size(Visit visit) {
  for (std::int64_t p = 1; p <= 6; ++p) {
    for (std::int64_t v = 1; v <= 4; ++v) {
      for (std::int64_t m = 1; m <= 21; ++m) visit(TorchSize{p, v, m});
    }
  }
  for (const std::int64_t m : {8, 16, 24, 33, 64}) visit(TorchSize{8, 2, m});
}

}  // namespace

TEST_CASE("torch schedules are PyTorch's action for action, and refused exactly where PyTorch refuses") {
  for (const std::string kind : kKinds) {
    int compared = 0;
    for_each_size([&](const TorchSize& size) {
      CAPTURE(kind);
      CAPTURE(size.p);
      CAPTURE(size.v);
      CAPTURE(size.m);
      const auto expected = torch_order(kind, size);
      if (!expected) {
        CHECK_THROWS_AS(generate(kind, params_of(size)), Error);
        return;
      }
      CHECK(compute_cells(generate(kind, params_of(size))) == *expected);
      ++compared;
    });
    CHECK(compared >= 60);
  }
}

TEST_CASE("every update of a torch schedule is its first one, later") {
  for (const std::string kind : kKinds) {
    CAPTURE(kind);
    const ScheduleParams params{.num_devices = 3, .num_microbatches = 9, .updates = 3};
    const Schedule schedule = generate(kind, params);
    const Schedule once = generate(kind, {.num_devices = 3, .num_microbatches = 9});
    for (std::size_t d = 0; d < 3; ++d) {
      std::vector<Action> expected;
      for (std::int32_t update = 0; update < 3; ++update) {
        for (const Action& action : expand(once.devices[d])) {
          expected.push_back(advanced(action, {.microbatch = 9 * update, .update = update}));
        }
      }
      CHECK(expand(schedule.devices[d]) == expected);
    }
  }
}

TEST_CASE("the files that PyTorch wrote hold the torch schedules") {
  struct Example {
    std::string stem;
    std::string name;
    std::int32_t chunks;
  };
  for (const Example& example :
       {Example{"1F1B_P4_V1_M8", "torch-1f1b", 1}, Example{"Interleaved1F1B_P4_V2_M8", "torch-interleaved", 2},
        Example{"InterleavedZeroBubble_P4_V2_M8", "torch-interleaved-zb", 2},
        Example{"ZBVZeroBubble_P4_V2_M8", "torch-zbv", 2}}) {
    CAPTURE(example.stem);
    const std::string path = plumb::testing::in_source("tests/schedules/data/torch/") + example.stem + ".csv";
    const Schedule written = schedule_from_torch_csv(read_text_file(path), path);
    const Schedule ours = generate(example.name, {.num_devices = 4, .num_microbatches = 8, .chunks = example.chunks});
    CHECK(compute_cells(written) == compute_cells(ours));
    CHECK(written.placement == ours.placement);
  }
}

TEST_CASE("rows that say so hold the order of another schedule under their own name") {
  int aliases = 0;
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    if (spec.alias_of.empty()) continue;
    CAPTURE(spec.name);
    const Schedule schedule = generate(spec.name, {.num_devices = 4, .num_microbatches = 8});
    Schedule other = generate(spec.alias_of, {.num_devices = 4, .num_microbatches = 8});
    if (spec.name == "torch-gpipe") {
      other = generate(spec.alias_of, {.num_devices = 4, .num_microbatches = 8, .options = {{"order", "fifo"}}});
    }
    CHECK(schedule.name == spec.name);
    other.name = schedule.name;
    CHECK(schedule == other);
    ++aliases;
  }
  CHECK(aliases >= 3);
}

TEST_CASE("torch-interleaved-zb with one chunk is zb-h1") {
  for (const std::int32_t p : {1, 2, 5}) {
    for (const std::int64_t m : {1, p, 2 * p, 6 * p}) {
      CAPTURE(p);
      CAPTURE(m);
      const ScheduleParams params{.num_devices = p, .num_microbatches = m, .chunks = 1};
      CHECK(compute_cells(generate("torch-interleaved-zb", params)) == compute_cells(generate("zb-h1", params)));
    }
  }
}

TEST_CASE("torch-zbv idles only while the pipeline fills and drains") {
  for (const std::int32_t p : {2, 3, 4, 8}) {
    for (const std::int64_t m : {2 * p - 1, 2 * p, 3 * p + 1}) {
      CAPTURE(p);
      CAPTURE(m);
      const Schedule schedule = generate("torch-zbv", {.num_devices = p, .num_microbatches = m});
      // In units of a chunk: 6 m of work, and p - 1 to reach the last device.
      CHECK(replay(schedule, {.f = 1, .b = 2, .i = 1, .w = 1}).makespan == 6 * m + p - 1);
      CHECK(peak_stashes(schedule) == std::vector<std::int64_t>(static_cast<std::size_t>(p), 2 * p));
    }
  }
}

TEST_CASE("torch-looped-bfs keeps all activations and takes v m (F + B) + (p - 1)(F + B) chunks of time") {
  for (const std::int32_t v : {1, 2, 3}) {
    for (const std::int64_t m : {4, 8, 9}) {
      CAPTURE(v);
      CAPTURE(m);
      const Schedule schedule = generate("torch-looped-bfs", {.num_devices = 4, .num_microbatches = m, .chunks = v});
      CHECK(replay(schedule, {.f = 1, .b = 2}).makespan == 3 * v * m + 3 * (4 - 1));
      CHECK(peak_stashes(schedule) == std::vector<std::int64_t>(4, v * m));
    }
  }
}

TEST_CASE("torch-interleaved-zb keeps (v - 1) g + p chunks, g microbatches being a round") {
  for (const std::int32_t v : {1, 2, 3}) {
    CAPTURE(v);
    const Schedule schedule = generate("torch-interleaved-zb", {.num_devices = 4, .num_microbatches = 12, .chunks = v});
    CHECK(peak_stashes(schedule) == std::vector<std::int64_t>(4, (v - 1) * 4 + 4));
  }
}

TEST_CASE("torch-dualpipev keeps 2p + 1 chunks at most") {
  for (const std::int32_t p : {1, 2, 4, 5}) {
    CAPTURE(p);
    for (const std::int64_t peak :
         peak_stashes(generate("torch-dualpipev", {.num_devices = p, .num_microbatches = 3 * p}))) {
      CHECK(peak <= 2 * p + 1);
    }
  }
}

TEST_CASE("the pictures of the torch schedules are those in tests/golden") {
  for (const std::string kind : {"torch-looped-bfs", "torch-interleaved-zb", "torch-zbv", "torch-dualpipev"}) {
    std::string stem = kind;
    std::replace(stem.begin(), stem.end(), '-', '_');
    const std::string actual = picture(generate(kind, {.num_devices = 3, .num_microbatches = 6}), {});
    CHECK(actual == golden("schedules/" + stem + ".txt", actual));
  }
}

TEST_CASE("torch schedules say which rule of PyTorch a size breaks") {
  const auto message = [](std::string_view name, ScheduleParams params) {
    return error_message([&] { generate(name, params); });
  };
  CHECK(message("torch-1f1b", {.num_devices = 4, .num_microbatches = 3}) ==
        "torch-1f1b: num_microbatches (3) must be at least num_devices (4)");
  CHECK(message("torch-interleaved", {.num_devices = 2, .num_microbatches = 7}) ==
        "torch-interleaved: num_microbatches (7) must be a multiple of the number of rounds (m div p = 3)");
  CHECK(message("torch-zbv", {.num_devices = 2, .num_microbatches = 4, .chunks = 3}) ==
        "torch-zbv: chunks per device (3) must be 2");
  CHECK(message("torch-dualpipev", {.num_devices = 2, .num_microbatches = 3}) ==
        "torch-dualpipev: num_microbatches (3) must be at least 2 num_devices (4)");
}

}  // namespace plumb::testing

TEST_SUITE_END();
