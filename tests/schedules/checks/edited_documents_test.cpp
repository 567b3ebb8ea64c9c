// Small documents with every mistake of one edit, and what the checks say of them: a line for each document in
// tests/golden/violations.txt. Where a message or a rule is changed on purpose, the lines say whom it concerns.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/checks/validate.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/formats/transfer_hang.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/text_sum.hpp"
#include "tests/support/written_schedule.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

struct Document {
  std::string name;
  Schedule schedule;
};

Schedule changed(Schedule schedule, const std::function<void(Schedule&)>& change) {
  change(schedule);
  return schedule;
}

std::vector<Document> documents() {
  using S = Schedule;
  std::vector<Document> all;
  const auto add = [&](const char* name, const std::vector<std::string>& lists, std::int64_t m,
                       const std::function<void(S&)>& change) {
    all.push_back({name, changed(written_schedule(lists, m), change)});
  };
  add("1f1b", {"0F0 0F1 0B0 0F2 0B1 0B2", "1F0 1B0 1F1 1B1 1F2 1B2"}, 3, [](S&) {});
  add("split backwards with updates",
      {"0F0 0F1 0I0 0W0 0B1 0U0 0F2 0B2 0F3 0B3 0U1", "1F0 1B0 1F1 1I1 1W1 1U0 1F2 1B2 1F3 1B3 1U1"}, 4,
      [](S& s) { s.microbatches_per_update = {2}; });
  add("pairs and extra work", {"0F0 (0F1;0B0)OVERLAP_F_B 0X1 (0F2;0I1)OVERLAP 0W1 0B2", "1F0 1B0 1F1 1B1 1F2 1B2"}, 3,
      [](S& s) { s.extras["X1"] = {}; });
  add("sends and receives",
      {"0F0 0SEND_F0 0F1 0SEND_F1 0RECV_B0 0B0 0RECV_B1 0B1", "1RECV_F0 1F0 1RECV_F1 1B0 1SEND_B0 1F1 1B1 1SEND_B1"}, 2,
      [](S&) {});
  add("slices of a sequence", {"0F0.0 0F0.1 0F1 0B1 0B0.1 0B0.0", "1F0.0 1F0.1 1B0.1 1B0.0 1F1 1B1"}, 2, [](S& s) {
    s.slices = Slices{Slices::Axis::kSequence, {{1, 1}}};
  });
  add("copies that reduce", {"0F0 0B0 0REDUCE_GRAD 0U0", "0F1 0B1 0REDUCE_GRAD 0U0", "1F0 1F1 1B0 1B1 1U0"}, 2,
      [](S& s) {
        s.num_stages = 2;
        s.placement = {{{DeviceId{0}, DeviceId{1}}, {DeviceId{2}}}};
      });
  add("replicas, merged", {"0F0+1 1:1F2 1:1B2 0B0+1", "1F0+1 1B0+1 1:0F2 1:0B2"}, 3, [](S& s) {
    s.placement[0] = {{DeviceId{0}}, {DeviceId{1}}};
    s.placement.push_back({{DeviceId{1}}, {DeviceId{0}}});
    s.placement[1] = {{DeviceId{1}}, {DeviceId{0}}};
  });
  add("moves and recompute", {"0F0 0EVICT0@host 0F1 0R1 0B1 0LOAD0@host 0B0", "0:1F0 1F1 1R1 1B1 1R0 1B0"}, 2,
      [](S& s) { s.recompute = {Recompute{.last_stage = 1}}; });
  add("validated updates", {"0F0 0B0 0U0 0F1 0V0 0B1 0U1 0V1", "1F0 1B0 1U0 1V0 1F1 1B1 1U1 1V1"}, 2,
      [](S& s) { s.microbatches_per_update = {1}; });
  add("two stages of a device, skip", {"0F0 2F0 2B0 0B0 0F1 2F1 2B1 0B1", "1F0 1B0 1F1 1B1"}, 2, [](S& s) {
    s.num_stages = 3;
    s.placement = {{{DeviceId{0}}, {DeviceId{1}}, {DeviceId{0}}}};
    s.stage_edges = {{{StageId{0}, StageId{1}}, {StageId{1}, StageId{2}}, {StageId{0}, StageId{2}}}};
  });
  add("starts together", {"0F0 0F1 0B0 0B1", "1F0 1F1 1B0 1B1", "2F0 2B0 2F1 2B1"}, 2, [](S& s) {
    s.stage_edges = {{{StageId{0}, StageId{2}}}};
    s.start_together = {{StageId{0}, StageId{1}}};
  });
  add("forward only", {"0F0 0F1", "1F0 1F1"}, 2, [](S& s) { s.forward_only = true; });
  all.push_back({"a teacher", generate("tspipe", {.num_devices = 2, .num_microbatches = 4, .updates = 2})});
  return all;
}

/// The number of the action, as the text of one has it: collectives have none, moves of weights neither.
MicrobatchId number_of(const Action& action) {
  if (is_collective(action.op)) return MicrobatchId{-1};
  return std::max(action.microbatch, MicrobatchId{is_move(action.op) ? -1 : 0});
}

/// Calls `visit` with the document after every edit of one action: left out, twice, exchanged with the next one, of
/// another op, microbatch, stage, slice or replica, first of a pair.
void for_each_edit(const Schedule& schedule, const std::function<void(const Schedule&)>& visit) {
  const auto edited = [&](std::size_t device, const std::function<void(std::vector<Action>&)>& edit) {
    Schedule copy = schedule;
    edit(copy.devices[device].actions);
    for (Action& action : copy.devices[device].actions) action.microbatch = number_of(action);
    visit(copy);
  };
  for (std::size_t device = 0; device < schedule.devices.size(); ++device) {
    for (std::size_t at = 0; at < schedule.devices[device].actions.size(); ++at) {
      const auto place = static_cast<std::ptrdiff_t>(at);
      edited(device, [&](auto& list) { list.erase(list.begin() + place); });
      edited(device, [&](auto& list) { list.insert(list.begin() + place, Action(list[at])); });
      edited(device, [&](auto& list) {
        if (at + 1 < list.size()) std::swap(list[at], list[at + 1]);
      });
      for (std::size_t op = 0; op < kOpCount; ++op)
        edited(device, [&](auto& list) { list[at].op = static_cast<Op>(op); });
      for (const std::int32_t by : {-1, 1}) {
        const auto moved = [&](auto id) { return static_cast<decltype(id)>(static_cast<std::int32_t>(id) + by); };
        edited(device,
               [&](auto& list) { list[at].microbatch = std::max(MicrobatchId{-1}, moved(list[at].microbatch)); });
        edited(device, [&](auto& list) { list[at].stage = std::max(StageId{0}, moved(list[at].stage)); });
        edited(device,
               [&](auto& list) { list[at].slice = static_cast<std::int16_t>(std::max(-1, list[at].slice + by)); });
      }
      edited(device, [&](auto& list) { list[at].replica = ReplicaId{1}; });
      edited(device, [&](auto& list) { list[at].merged = 1; });
      edited(device, [&](auto& list) { list[at].overlaps_next ^= 1U; });
    }
  }
}

/// What the checks say, or where a document without mistakes hangs.
std::string said_of(const Schedule& schedule) {
  std::string text;
  try {
    for (const Violation& violation : validate(schedule)) text += to_string(violation) + "\n";
    if (!text.empty()) return text;
    for (const TransferModel model : {TransferModel::kBuffered, TransferModel::kRendezvous, TransferModel::kPairFifo}) {
      if (const auto hang = find_hang(schedule, model)) text += to_string(*hang) + "\n";
    }
  } catch (const Error& error) {
    text += error.what();
  }
  return text;
}

}  // namespace

TEST_CASE("documents with a mistake of one edit are told what they were told before, and those without still run") {
  std::string text;
  for (const Document& document : documents()) {
    CHECK(said_of(document.schedule) == "");
    TextSum sum;
    int right = 0;
    int wrong = 0;
    for_each_edit(document.schedule, [&](const Schedule& edited) {
      const std::string said = said_of(edited);
      sum.add(said);
      ++(said.empty() ? right : wrong);
    });
    text += document.name + ": " + std::to_string(right) + " right, " + std::to_string(wrong) + " wrong, " +
            sum.text() + "\n";
  }
  CHECK(text == golden("violations.txt", text));
}

}  // namespace plumb::testing

TEST_SUITE_END();
