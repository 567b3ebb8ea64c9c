#include "schedules/formats/torch_lowering.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

#include "schedules/catalogue/registry.hpp"
#include "schedules/checks/validate.hpp"
#include "schedules/document/action_text.hpp"
#include "schedules/document/schedule_io.hpp"
#include "tests/schedules/catalogue/torch/torch_orders.hpp"
#include "tests/schedules/catalogue/torch/torch_program.hpp"
#include "tests/support/written_schedule.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

/// Everything but updates, as PyTorch writes it.
std::vector<std::vector<std::string>> cells(const Schedule& schedule) {
  std::vector<std::vector<std::string>> devices;
  for (const DeviceList& list : schedule.devices) {
    auto& texts = devices.emplace_back();
    const std::vector<Action> actions = expand(list);
    for (std::size_t at = 0; at < actions.size();) {
      std::string text;
      const bool counts = actions[at].op != Op::kU;
      at = append_item(text, actions, at);
      if (counts) texts.push_back(text);
    }
  }
  return devices;
}

template <class Visit>
void for_each_order(Visit visit) {
  for (const std::string kind : {"torch-gpipe", "torch-1f1b", "torch-interleaved", "torch-looped-bfs",
                                 "torch-interleaved-zb", "torch-zbv", "torch-dualpipev"}) {
    for (const std::int64_t p : {1, 2, 3, 4, 5}) {
      for (const std::int64_t v : {1, 2, 3, 4}) {
        for (const std::int64_t m : {1, 2, 4, 5, 8, 12}) {
          const auto order = torch_order(kind, {p, v, m});
          if (!order) continue;
          CAPTURE(kind);
          CAPTURE(p);
          CAPTURE(v);
          CAPTURE(m);
          const Schedule schedule = generate(kind, {.num_devices = static_cast<std::int32_t>(p),
                                                    .num_microbatches = m,
                                                    .chunks = static_cast<std::int32_t>(v)});
          visit(schedule, *order);
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("lowering places gathers, reductions, sends and receives as PyTorch does") {
  int compared = 0;
  for_each_order([&](const Schedule& schedule, const auto& order) {
    CHECK(cells(torch_lowered(schedule)) == torch_program(order, schedule.num_microbatches, false));
    ++compared;
  });
  CHECK(compared > 300);
}

TEST_CASE("late receives stand where PyTorch defers them to") {
  for_each_order([&](const Schedule& schedule, const auto& order) {
    CHECK(cells(torch_lowered(schedule, {.late_receives = true})) ==
          torch_program(order, schedule.num_microbatches, true));
  });
}

TEST_CASE("what lowering makes is valid, and lowering it again changes nothing") {
  for_each_order([&](const Schedule& schedule, const auto&) {
    const Schedule lowered = torch_lowered(schedule);
    const auto findings = validate(lowered);
    if (!findings.empty()) FAIL_CHECK(to_string(findings.front()));
    CHECK(torch_lowered(lowered) == lowered);
  });
}

TEST_CASE("PyTorch's late receives mix up messages in a V and between two devices, and the validator says where") {
  for_each_order([&](const Schedule& schedule, const auto&) {
    const auto findings = validate(torch_lowered(schedule, {.late_receives = true}));
    if (findings.empty()) return;
    const bool in_v = schedule.name == "torch-dualpipev" || schedule.name == "torch-zbv";
    const bool known = in_v || schedule.num_devices == 2;
    if (!known) FAIL_CHECK(to_string(findings.front()));
    CHECK(findings.front().reason.find("expected the same order") != std::string::npos);
  });
  const ScheduleParams params{.num_devices = 2, .num_microbatches = 4, .chunks = 2};
  const auto findings = validate(torch_lowered(generate("torch-interleaved-zb", params), {.late_receives = true}));
  REQUIRE(!findings.empty());
  CHECK(
      to_string(findings.front()) ==
      "device 1, position 17: 1RECV_F2: is number 4 received from device 0, whose number 4 sent is 2SEND_B0; expected "
      "the same order");
}

TEST_CASE("a lowered pair of stages reads as the example of the documentation") {
  const Schedule schedule = written_schedule({"0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1"}, 2);
  CHECK(lists_to_text(torch_lowered(schedule)) ==
        "d0: 0UNSHARD 0F0 0SEND_F0 0F1 0SEND_F1 0RECV_B0 0B0 0RECV_B1 0B1 0REDUCE_GRAD 0RESHARD\n"
        "d1: 1UNSHARD 1RECV_F0 1F0 1RECV_F1 1B0 1SEND_B0 1F1 1B1 1SEND_B1 1REDUCE_GRAD 1RESHARD\n");
  CHECK(lists_to_text(torch_lowered(schedule, {.collectives = false, .late_receives = true})) ==
        "d0: 0F0 0SEND_F0 0F1 0SEND_F1 0RECV_B0 0B0 0RECV_B1 0B1\n"
        "d1: 1RECV_F0 1F0 1B0 1SEND_B0 1RECV_F1 1F1 1B1 1SEND_B1\n");
}

TEST_CASE("schedules that PyTorch cannot run are lowered too: replicas and several updates") {
  for (const char* name : {"chimera", "1f1b", "torch-zbv"}) {
    CAPTURE(name);
    const Schedule schedule = generate(name, {.num_devices = 4, .num_microbatches = 8, .updates = 2});
    const Schedule lowered = torch_lowered(schedule);
    const auto findings = validate(lowered);
    if (!findings.empty()) FAIL_CHECK(to_string(findings.front()));
  }
}

}  // namespace plumb::testing

TEST_SUITE_END();
