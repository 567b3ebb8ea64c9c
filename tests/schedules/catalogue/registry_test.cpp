#include "schedules/catalogue/registry.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "models/ground/error.hpp"
#include "models/ground/plain_name.hpp"
#include "schedules/catalogue/other_names.hpp"
#include "schedules/checks/validate.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/document/walk.hpp"
#include "schedules/formats/transfer_hang.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/replay.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

/// Calls `visit` with every schedule of the catalogue over a grid of p, m, v and updates; returns how many there were.
int for_each_schedule(const std::function<void(const ScheduleSpec&, const Schedule&)>& visit) {
  int count = 0;
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    for (const std::int32_t p : {1, 2, 3, 4, 6}) {
      for (const std::int64_t m : {1, 2, 3, 4, 6, 8, 12, 13}) {
        for (const std::int32_t v : {0, 1, 3}) {
          for (const std::int64_t updates : {0, 1, 3}) {
            if (v > 0 && spec.placement != "looped") continue;
            ScheduleParams params{.num_devices = p, .num_microbatches = m, .chunks = v, .updates = updates};
            CAPTURE(spec.name);
            CAPTURE(p);
            CAPTURE(m);
            CAPTURE(v);
            CAPTURE(updates);
            Schedule schedule;
            try {
              schedule = generate(spec.name, params);
            } catch (const Error&) {
              REQUIRE(!spec.needs.empty());
              continue;
            }
            visit(spec, schedule);
            ++count;
          }
        }
      }
    }
  }
  return count;
}

std::int64_t total_size(const Schedule& schedule) {
  std::int64_t total = 0;
  for (const DeviceList& list : schedule.devices) total += expanded_size(list);
  return total;
}

/// Whether `message` is a rule of `spec` that speaks of no option of another schedule.
bool in_own_terms(const ScheduleSpec& spec, const std::string& message) {
  const std::string rule = std::string(spec.name) + ": ";
  return message.starts_with(rule) && std::ranges::none_of(schedule_catalogue(), [&](const ScheduleSpec& other) {
           return std::ranges::any_of(other.options, [&](const NamedOption& option) {
             const std::string name(option.name);
             const bool told =
                 message.starts_with(rule + name + " (") || message.find("option " + name) != message.npos;
             return told && !spec.has_option(name);
           });
         });
}

/// The default of `option` as it can be given: a word that it offers, or a number from 1; empty otherwise.
std::string default_value(const NamedOption& option, const ScheduleParams& params) {
  const std::string text = default_text(option);
  if (text == "p") return std::to_string(params.num_devices);
  if (text == "m") return std::to_string(params.num_microbatches);
  const bool number = text.find_first_not_of("0123456789") == std::string::npos && text != "0";
  const bool word = ("|" + values_text(option) + "|").find("|" + text + "|") != std::string::npos;
  return number || word ? text : "";
}

/// The words that `option` offers (of several letters, none of them capital: others stand for numbers), and `usual`.
std::vector<std::string> values_of(const NamedOption& option, const std::string& usual) {
  std::vector<std::string> values;
  std::istringstream words{values_text(option)};
  for (std::string word; std::getline(words, word, '|');) {
    const bool capital = std::ranges::any_of(word, [](char c) { return c >= 'A' && c <= 'Z'; });
    if (word.size() > 1 && !capital && word != usual) values.push_back(word);
  }
  if (!usual.empty()) values.push_back(usual);
  return values;
}

}  // namespace

TEST_CASE("names of other systems stand for schedules of the catalogue, in any spelling") {
  for (const OtherName& other : other_names()) {
    CAPTURE(other.theirs);
    CHECK(schedule_named(other.theirs).name == other.ours);
    const auto own = std::ranges::find(schedule_catalogue(), plain_name(other.theirs),
                                       [](const ScheduleSpec& spec) { return plain_name(spec.name); });
    CHECK(own == schedule_catalogue().end());  // the row would never be looked at
  }
  CHECK(schedule_named("zb_h1").name == "zb-h1");
  CHECK(schedule_named("ZBH1").name == "zb-h1");
  CHECK(schedule_named("Schedule_Interleaved1F1B").name == "torch-interleaved");
}

TEST_CASE("an option takes every word that it offers, and its default makes the schedule that is made without it") {
  const ScheduleParams plain{.num_devices = 4, .num_microbatches = 12};  // enough for every schedule
  int defaults = 0;
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    CAPTURE(spec.name);
    const std::string without = lists_to_text(generate(spec.name, plain));
    for (const NamedOption& option : spec.options) {
      CAPTURE(option.name);
      const std::string usual = default_value(option, plain);
      for (const std::string& value : values_of(option, usual)) {
        CAPTURE(value);
        ScheduleParams params = plain;
        params.options[std::string(option.name)] = value;
        std::string with;
        const std::string refusal =
            error_message([&] { with = lists_to_text(generate(spec.name, params)); });  // it may need another option
        CHECK(refusal.find("'" + value + "'") == std::string::npos);
        if (value != usual) continue;
        CHECK(with == without);
        ++defaults;
      }
    }
  }
  CHECK(defaults > 50);
}

TEST_CASE("odd sizes make a schedule that is valid and cannot hang, or break a rule that is told in its own terms") {
  int made = 0;
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    CAPTURE(spec.name);
    for (const std::int32_t p : {1, 2, 5}) {
      for (const std::int64_t m : {1, 5, 17}) {
        for (const std::int32_t v : {0, 2, 3, 4}) {
          CAPTURE(p);
          CAPTURE(m);
          CAPTURE(v);
          Schedule schedule;
          try {
            schedule = generate(spec.name, {.num_devices = p, .num_microbatches = m, .chunks = v});
          } catch (const Error& error) {
            if (!in_own_terms(spec, error.what())) FAIL_CHECK(error.what());
            continue;
          }
          ++made;
          if (const auto faults = validate(schedule); !faults.empty()) FAIL_CHECK(to_string(faults.front()));
          for (const TransferModel model :
               {TransferModel::kBuffered, TransferModel::kRendezvous, TransferModel::kPairFifo}) {
            if (const auto hang = find_hang(schedule, model)) FAIL_CHECK(to_string(*hang));
          }
        }
      }
    }
  }
  CHECK(made > 700);
}

TEST_CASE("every generated schedule is valid and runs to its end") {
  const int count = for_each_schedule([](const ScheduleSpec&, const Schedule& schedule) {
    const auto violations = validate(schedule);
    if (!violations.empty()) FAIL_CHECK(to_string(violations.front()));
    CHECK(replay(schedule, {}).finished);
  });
  CHECK(count > 900);
}

TEST_CASE("a generated schedule holds every forward, backward and update once") {
  for_each_schedule([](const ScheduleSpec& spec, const Schedule& schedule) {
    std::map<Op, std::int64_t> count;
    const auto slices = static_cast<std::int64_t>(schedule.slices ? schedule.slices->lengths[0].size() : 1);
    for (const DeviceList& list : schedule.devices) {
      walk(list, [&](const Action& action) {
        const std::int64_t each = is_compute(action.op) && action.slice == Action::kAllSlices ? slices : 1;
        count[action.op] += action.op == Op::kU || action.op == Op::kV ? 1 : (action.merged + 1) * each;
      });
    }
    const std::int64_t all = schedule.num_stages * schedule.num_microbatches * slices;
    const std::int64_t updates = schedule.num_microbatches / schedule.microbatches_per_update[0];
    std::int64_t holders = 0;
    for (const auto& replica : schedule.placement) {
      for (const auto& devices : replica) holders += std::ssize(devices);
    }
    CHECK(count[Op::kF] == all);
    CHECK(spec.inference == schedule.forward_only);
    CHECK(count[Op::kB] + count[Op::kW] == (schedule.forward_only ? 0 : all));
    CHECK(count[Op::kI] == count[Op::kW]);
    CHECK(count[Op::kR] <= all);
    if (schedule.microbatches_per_update.size() == 1) {
      CHECK(count[Op::kU] == (schedule.forward_only ? 0 : holders * updates));
    }
  });
}

TEST_CASE("a generated schedule comes back from its document as it was") {
  for_each_schedule([](const ScheduleSpec&, const Schedule& schedule) {
    CHECK(schedule_from_json(schedule_to_json(schedule), "round-trip.json") == schedule);
  });
}

TEST_CASE("names, weights and kind agree between the catalogue and what it makes") {
  for_each_schedule([](const ScheduleSpec& spec, const Schedule& schedule) {
    CHECK(schedule.name == spec.name);
    CHECK(kWeightPolicyNames[static_cast<std::size_t>(schedule.weights.policy)] == spec.weights);
    CHECK((schedule.weights.policy == WeightPolicy::kFlush) == spec.synchronous);
  });
}

TEST_CASE("a thousand million microbatches cost no more to write down than a thousand") {
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    if (!spec.folds) continue;
    CAPTURE(spec.name);
    // Some run several times as many microbatches as they are asked for.
    const std::int64_t most = spec.placement == "replicated" ? 100'000'000 : 1'000'000'000;
    const Schedule schedule = generate(spec.name, {.num_devices = 8, .num_microbatches = most});
    std::size_t actions = 0;
    for (const DeviceList& list : schedule.devices) actions += list.actions.size();
    CHECK(actions < 1000);
    CHECK(total_size(schedule) >= schedule.num_stages * schedule.num_microbatches);
  }
}

TEST_CASE("impossible requests are refused with the rule") {
  const auto message = [](std::string_view name, ScheduleParams params) {
    return error_message([&] { generate(name, params); });
  };
  CHECK(message("interleavd", {.num_devices = 2, .num_microbatches = 2}) ==
        "unknown schedule 'interleavd' (did you mean 'interleaved'?)");
  CHECK(message("1f1b", {.num_devices = 1'000'000'000, .num_microbatches = 2}) ==
        "1f1b: num_devices (1000000000) must be from 1 to 65536");
  CHECK(message("1f1b", {.num_devices = 0, .num_microbatches = 2}) == "1f1b: num_devices (0) must be from 1 to 65536");
  CHECK(message("gpipe", {.num_devices = 2, .num_microbatches = 1'000'000'000'000}) ==
        "gpipe: num_microbatches (1000000000000) must be from 1 to 2147483647");
  CHECK(message("gpipe", {.num_devices = 2, .num_microbatches = 0}) ==
        "gpipe: num_microbatches (0) must be from 1 to 2147483647");
  CHECK(message("1f1b", {.num_devices = 2, .num_microbatches = 1'000'000, .updates = 1'000'000}) ==
        "1f1b: num_microbatches (1000000) times updates (1000000) must be at most 2147483647");
  CHECK(message("1f1b", {.num_devices = 2, .num_microbatches = 2, .chunks = 2}) ==
        "1f1b: chunks per device (2) must be 1; see 'interleaved'");
  CHECK(message("interleaved", {.num_devices = 65536, .num_microbatches = 65536, .chunks = 1000}) ==
        "interleaved: chunks per device (1000) must be from 0 to 16");
  CHECK(message("gpipe", {.num_devices = 2, .num_microbatches = 2, .options = {{"ordr", "fifo"}}}) ==
        "unknown option of gpipe 'ordr' (did you mean 'order'?)");
  CHECK(message("gpipe", {.num_devices = 2, .num_microbatches = 2, .options = {{"order", "lifo"}}}) ==
        "gpipe: option order: expected reverse or fifo, found 'lifo'");
  CHECK(message("gems", {.num_devices = 2, .num_microbatches = 2, .options = {{"group", "2"}}}) ==
        "unknown option of gems 'group'; expected one of: shares");
  CHECK(message("tspipe", {.num_devices = 2, .num_microbatches = 2, .options = {{"group", "2"}}}) ==
        "tspipe: has no options, found 'group'");
}

}  // namespace plumb::testing

TEST_SUITE_END();
