#include "schedules/formats/torch_lowering.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <iomanip>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "models/ground/error.hpp"
#include "models/ground/text_file.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/checks/validate.hpp"
#include "schedules/document/action_text.hpp"
#include "schedules/document/schedule_io.hpp"
#include "tests/schedules/catalogue/torch/torch_orders.hpp"
#include "tests/schedules/catalogue/torch/torch_program.hpp"
#include "tests/support/source_directory.hpp"
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

/// Our names of PyTorch's classes.
const std::map<std::string, std::string> kClassNames{{"GPipe", "torch-gpipe"},
                                                     {"1F1B", "torch-1f1b"},
                                                     {"Interleaved1F1B", "torch-interleaved"},
                                                     {"LoopedBFS", "torch-looped-bfs"},
                                                     {"InterleavedZeroBubble", "torch-interleaved-zb"},
                                                     {"ZBVZeroBubble", "torch-zbv"},
                                                     {"DualPipeV", "torch-dualpipev"}};

std::string torch_data(const std::string& file) {
  return read_text_file(in_source("tests/schedules/data/torch/") + file);
}

/// FNV-1a, as `dump_lowered.py` writes it.
std::string hash_of(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  std::ostringstream out;
  out << std::hex << std::setw(16) << std::setfill('0') << hash;
  return out.str();
}

/// What we write for a class; "refused" where we refuse the size.
std::string hash_of_ours(const std::string& name, const ScheduleParams& params, bool late) {
  try {
    return hash_of(schedule_to_torch_comms_csv(torch_lowered(generate(name, params), {.late_receives = late})));
  } catch (const Error&) {
    return "refused";
  }
}

}  // namespace

TEST_CASE("what PyTorch itself made of its schedules is what we write, byte for byte") {
  for (const auto& [theirs, ours] : kClassNames) {
    CAPTURE(theirs);
    const ScheduleParams params{.num_devices = 2, .num_microbatches = 4};
    CHECK(schedule_to_torch_comms_csv(torch_lowered(generate(ours, params))) ==
          torch_data("lowered/" + theirs + ".csv"));
  }
}

TEST_CASE("at all sizes PyTorch's own lowered orders are ours, and both refuse the same sizes") {
  std::istringstream table(torch_data("lowered.csv"));
  std::string line;
  std::getline(table, line);
  int compared = 0;
  while (std::getline(table, line)) {
    CAPTURE(line);
    std::vector<std::string> cells;
    std::istringstream row(line);
    for (std::string cell; std::getline(row, cell, ',');) cells.push_back(cell);
    REQUIRE(cells.size() == 6);
    const ScheduleParams params{
        .num_devices = std::stoi(cells[1]), .num_microbatches = std::stoll(cells[3]), .chunks = std::stoi(cells[2])};
    const std::string& name = kClassNames.at(cells[0]);
    CHECK(hash_of_ours(name, params, false) == cells[4]);
    CHECK(hash_of_ours(name, params, true) == cells[5]);
    ++compared;
  }
  CHECK(compared == 672);
}

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
