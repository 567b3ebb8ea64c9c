#include <doctest/doctest.h>

#include <string>

#include <nlohmann/json.hpp>

#include "models/ground/error.hpp"
#include "models/ground/text_file.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/document/schedule_io.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/json_schema.hpp"
#include "tests/support/source_directory.hpp"
#include "tests/support/written_schedule.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

std::string schema() { return read_text_file(plumb::testing::in_source("schedules/schedule.schema.json")); }

/// A schedule in which every field of the document has a value.
Schedule everything() {
  Schedule schedule =
      written_schedule({"0F0.0 0F0.1 0EVICT0@1 0LOAD0@1 0R0 0B0 0F1 0I1 0W1 0SEND_F0>1 0REDUCE_GRAD 0U0 0V0 0X3",
                        "(1:1F1;1B0)OVERLAP_F_B 1F2+3"},
                       4);
  schedule.name = "all \"fields\"\n\x01 \xc3\xa9";
  schedule.parameters = {
      {"m", std::int64_t{4}}, {"ratio", 0.1}, {"whole", 2.0}, {"on", true}, {"order", std::string("fifo")}};
  schedule.microbatches_per_update = {4, 2};
  schedule.placement.push_back({{DeviceId{1}, DeviceId{0}}, {DeviceId{0}}});
  schedule.weights.policy = WeightPolicy::kDelay;
  schedule.weights.delay = 3;
  schedule.weights.per_stage = {WeightPolicy::kDelay, WeightPolicy::kPredicted};
  schedule.weights.phases = {{2, WeightPolicy::kFlush}, {1, WeightPolicy::kLatest}};
  schedule.weights.prediction = {{0, 2}, {1, 0}, true};
  schedule.weights.sync_distance = 2;
  schedule.weights.correction_buffers = {"velocity", "a \"quoted\" one"};
  schedule.reduce_groups = {{DeviceId{0}, DeviceId{1}}};
  schedule.slices = Slices{Slices::Axis::kSequence, {{3, 5}, {8}, {8}, {1, 7}}};
  schedule.microbatch_sizes = {5, 6, 7, 8};
  schedule.recompute = {{0, 1, false, {}, true}, {1, 1, true, {}, false}, {0, 0, false, {2, 3}, false}};
  schedule.stage_edges = {{StageId{0}, StageId{1}}};
  schedule.start_together = {{StageId{1}, StageId{0}}};
  schedule.extra_edges = {{parse_action("0F0", ""), parse_action("1B0", "")},
                          {parse_action("0X3", ""), parse_action("1X4", ""), {StageId{0}, StageId{1}}, {StageId{1}}},
                          {parse_action("1X4", ""), parse_action("0X5", ""), {}, {StageId{0}}}};
  schedule.extras = {{"X3", {.units = 0.25}},
                     {"X4", {.kind = ExtraWork::Kind::kPass, .units = 0.5, .pass = Op::kI, .stages_ahead = -1}},
                     {"X5", {.kind = ExtraWork::Kind::kLayers, .units = 2, .first_layer = 1, .end_layer = 3}},
                     {"X6", {.kind = ExtraWork::Kind::kTime, .time_ns = 1500}}};
  schedule.forward_only = true;
  schedule.devices[0].repeats = {{0, 3, 4, {1, 2, 3}}, {1, 2, 5, {-1, 0, 0}}};
  schedule.devices[0].actions[1].microbatch = MicrobatchId{7};
  return schedule;
}

/// The document with `member` replaced by (or extended with) `value`.
std::string with(const std::string& member, const std::string& value) {
  nlohmann::ordered_json document = nlohmann::ordered_json::parse(
      R"({"format": "plumbline-schedule", "version": 1, "name": "x", "parameters": {}, "num_devices": 1, "num_stages": 1,
          "num_microbatches": 2, "microbatches_per_update": 2, "placement": [[[0]]], "weights": {"policy": "flush"},
          "devices": [["0F0", "0F1", "0B0", "0B1"]]})");
  if (!member.empty()) document[member] = nlohmann::ordered_json::parse(value);
  return document.dump();
}

std::string refusal(const std::string& text) {
  return error_message([&] { schedule_from_json(text, "x.json"); });
}

/// The refusal without the place "x.json:1:123: ".
std::string refusal(const std::string& member, const std::string& value) {
  const std::string message = refusal(with(member, value));
  std::size_t at = 0;
  for (int colon = 0; colon < 3 && at != std::string::npos; ++colon) at = message.find(':', at + 1);
  return at == std::string::npos ? message : message.substr(at + 2);
}

}  // namespace

TEST_CASE("every field of a schedule comes back from its document") {
  const Schedule schedule = everything();
  CHECK(schedule_from_json(schedule_to_json(schedule), "x.json") == schedule);
}

TEST_CASE("every document that we write conforms to schedules/schedule.schema.json") {
  const std::string rules = schema();
  CHECK(schema_violation(rules, schedule_to_json(everything())) == "");
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    for (const std::int32_t p : {2, 4}) {
      for (const std::int64_t m : {12, 16}) {
        for (const std::int64_t updates : {0, 3}) {
          CAPTURE(spec.name);
          const ScheduleParams params{.num_devices = p, .num_microbatches = m, .updates = updates};
          CHECK(schema_violation(rules, schedule_to_json(generate(spec.name, params))) == "");
        }
      }
    }
  }
}

TEST_CASE("the schema refuses what the reader refuses") {
  const std::string rules = schema();
  const auto violates = [&](const std::string& member, const std::string& value) {
    const std::string document = with(member, value);
    return !schema_violation(rules, document).empty() && !refusal(document).empty();
  };
  CHECK(schema_violation(rules, with("", "")) == "");
  CHECK(violates("format", "\"other\""));
  CHECK(violates("version", "2"));
  CHECK(violates("colour", "1"));
  CHECK(violates("num_devices", "0"));
  CHECK(violates("num_microbatches", "2147483648"));
  CHECK(violates("weights", "{\"policy\": \"flsh\"}"));
  CHECK(violates("placement", "[[[]]]"));
  CHECK(violates("devices", "[[\"0G0\"]]"));
  CHECK(violates("devices", "[[{\"repeat\": 0, \"actions\": [\"0F0\"]}]]"));
  CHECK(violates("devices", "[[{\"repeat\": 2, \"actions\": []}]]"));
  CHECK(violates("mode", "\"both\""));
}

TEST_CASE("a document of one schedule looks as the design shows it") {
  CHECK(
      schedule_to_json(generate("1f1b", {.num_devices = 4, .num_microbatches = 8}))
          .find(
              R"(["0F0", "0F1", "0F2", {"repeat": 5, "advance": 1, "actions": ["0F3", "0B0"]}, "0B5", "0B6", "0B7", "0U0"])") !=
      std::string::npos);
}

TEST_CASE("broken JSON is named by line and column") {
  CHECK(refusal("{\n  \"format\": plumbline}").rfind("x.json:2:13: ", 0) == 0);
  CHECK(refusal("").rfind("x.json:1:", 0) == 0);
  CHECK(refusal("[]") == "x.json:1:1: expected an object, found an array of 0");
}

TEST_CASE("wrong documents are refused with the path of the value") {
  CHECK(refusal("devises", "1") == "unknown key 'devises' (did you mean 'devices'?)");
  CHECK(refusal("num_devices", "2") == "devices: expected a list for each of the 2 devices, found 1");
  CHECK(refusal("num_devices", "1000000000") == "num_devices: expected an integer from 1 to 65536, found 1000000000");
  CHECK(refusal("num_stages", "2") == "placement[0]: expected a list of devices for each of the 2 stages, found 1");
  CHECK(refusal("placement", "[[[1]]]") == "placement[0][0][0]: expected an integer from 0 to 0, found 1");
  CHECK(refusal("placement", "[[[0, 0]]]") == "placement[0][0]: names a device twice");
  CHECK(refusal("weights", "{\"policy\": \"stsh\"}") ==
        "weights.policy: unknown weight policy (did you mean 'stash'?)");
  CHECK(refusal("weights", "{\"policy\": [\"stash\", \"flush\"]}") ==
        "weights.policy: expected a policy for each of the 1 stages, found 2");
  CHECK(refusal("weights", "{\"policy\": \"latest\", \"phases\": [{\"updates\": 0, \"policy\": \"flush\"}]}") ==
        "weights.phases[0].updates: expected an integer from 1 to 2147483647, found 0");
  CHECK(refusal("weights", "{\"policy\": \"latest\", \"prediction\": {\"forward\": [0]}}") ==
        "weights.prediction: the policy does not predict; expected 'predicted'");
  CHECK(refusal("weights", "{\"policy\": \"predicted\", \"prediction\": {\"forward\": [1, 0]}}") ==
        "weights.prediction.forward: expected a number of updates for each of the 1 stages, found 2");
  CHECK(refusal("policy", "{\"priorities\": [\"B\", \"F\"]}") == "devices: expected either 'devices' or 'policy'");
  CHECK(refusal("policy", "{\"priorities\": [\"F\", \"U\"]}") ==
        "policy.priorities[1]: expected F, B, I, W or R, found \"U\"");
  CHECK(refusal("policy", "{\"priorities\": [\"F\", \"I\"]}") ==
        "policy: expected B, or both I and W, among the priorities");
  CHECK(refusal("policy", "{\"priorities\": [\"F\", \"B\", \"F\"]}") ==
        "policy.priorities: names an op twice; expected every op once");
  CHECK(refusal("policy", "{\"priorities\": [\"F\", \"B\"], \"limits\": 0}") ==
        "policy.limits: expected an integer of at least 1, found 0");
  CHECK(refusal("policy", "{\"priorities\": [\"F\", \"B\"], \"limits\": [0]}") ==
        "policy.limits[0]: expected an integer of at least 1, found 0");
  CHECK(refusal("policy", "{\"priorities\": [\"F\", \"B\"], \"limits\": [1, 2, 3]}") ==
        "policy.limits: expected a number, or one for each of the 1 devices");
  CHECK(refusal("microbatches_per_update", "3") == "microbatches_per_update: expected an integer from 1 to 2, found 3");
  CHECK(refusal("recompute", "[{\"stages\": [0, 0], \"microbatches\": \"some\"}]") ==
        "recompute[0].microbatches: expected \"all\", \"except_last\" or a list of microbatches, found \"some\"");
  CHECK(refusal("slices", "{\"axis\": \"batch\", \"lengths\": [[1], [1], [1]]}") ==
        "slices.lengths: expected one row of lengths, or one for each of the 2 microbatches");
  CHECK(refusal("microbatch_sizes", "[1]") == "microbatch_sizes: expected 2 sizes, found 1");
}

TEST_CASE("wrong items of a list are refused with their place") {
  CHECK(refusal("devices", "[[\"0F0\", \"0G1\"]]") ==
        "devices[0][1]: action '0G1': expected an op such as F, B, I, W or U after the stage");
  CHECK(refusal("devices", "[[\"0F0\", 3]]") ==
        "devices[0][1]: expected an action such as \"0F1\", or a repeat block, found 3");
  CHECK(refusal("devices", "[[{\"repeat\": 2, \"action\": []}]]") ==
        "devices[0][0]: unknown key 'action' (did you mean 'actions'?)");
  CHECK(refusal("devices", "[[{\"repeat\": 2, \"actions\": []}]]") ==
        "devices[0][0].actions: expected at least one action in a repeat block");
}

TEST_CASE("all mistakes of a document are told at once") {
  std::string text = with("weights", R"({"policy": "stsh"})");
  const auto replace = [&](std::string_view old, std::string_view mistaken) {
    const std::size_t at = text.find(old);
    REQUIRE(at != std::string::npos);
    text.replace(at, old.size(), mistaken);
  };
  const auto messages = [&] {
    try {
      schedule_from_json(text, "x.json");
    } catch (const Errors& errors) {
      return errors.messages();
    } catch (const Error& error) {
      return std::vector<std::string>{error.what()};
    }
    return std::vector<std::string>{};
  };
  replace("\"name\"", "\"nmae\"");
  replace("\"0F1\"", "\"0Q1\"");
  replace("\"0B1\"", R"({"repeat": 2, "actions": ["0B", 7]})");
  const std::vector<std::string> found = messages();
  REQUIRE(found.size() == 5);  // nothing of the missing name, which is there misspelt
  const char* const expected[] = {"unknown key 'nmae'", "weights.policy: unknown weight policy",
                                  "devices[0][1]: action '0Q1'", "devices[0][3].actions[0]: action '0B'",
                                  "devices[0][3].actions[1]: expected an action"};
  for (std::size_t i = 0; i < found.size(); ++i)
    CHECK_MESSAGE(found[i].find(expected[i]) != std::string::npos, found[i]);
  replace("\"num_stages\":1", "\"num_stages\":0");  // what depends on it is not told
  CHECK(messages().size() == 5);
  CHECK(messages()[1].find("num_stages: expected an integer from 1") != std::string::npos);
}

TEST_CASE("repeat blocks that move an index out of range are refused before anything is expanded") {
  CHECK(refusal("devices", R"([[{"repeat": 2147483647, "advance": 1, "actions": ["0F2"]}]])") ==
        "devices[0][0].actions[0]: action '0F2': the repeat blocks around it move an index out of 0 .. 2147483647");
  CHECK(refusal("devices", R"([[{"repeat": 3, "advance": -1, "actions": ["0F1"]}]])") ==
        "devices[0][0].actions[0]: action '0F1': the repeat blocks around it move an index out of 0 .. 2147483647");
  CHECK(refusal("devices", R"([[{"repeat": 3, "advance": -1, "actions": ["0F2"]}]])") == "");
  CHECK(refusal("devices", R"([[{"repeat": 2147483647, "advance": 2147483647, "actions": ["0U0"]}]])") ==
        "devices[0][0]: moves an index out of 0 .. 2147483647");
  CHECK(refusal("devices", R"([[{"repeat": 3, "advance": {"update": 2147483647}, "actions": ["0F0"]}]])") ==
        "devices[0][0]: moves an index out of 0 .. 2147483647");
  CHECK(
      refusal(
          "devices",
          R"([[{"repeat": 50000, "advance": 40000, "actions": [{"repeat": 3, "advance": 1, "actions": ["0F150000000"]}]}]])") ==
      "devices[0][0].actions[0].actions[0]: action '0F150000000': the repeat blocks around it move an index out of 0 "
      ".. "
      "2147483647");
  std::string deep = "\"0F0\"";
  for (int i = 0; i < 90; ++i) deep = "{\"repeat\": 2147483647, \"actions\": [" + deep + "]}";
  const std::string document = with("devices", "[[" + deep + "]]");
  const Schedule folded = schedule_from_json(document, "x.json");
  CHECK(expanded_size(folded.devices[0]) == std::numeric_limits<std::int64_t>::max());
  CHECK(error_message([&] { expand(folded.devices[0]); }).find("expected at most") != std::string::npos);
}

TEST_CASE("numbers of parameters keep their kind") {
  const Schedule schedule =
      schedule_from_json(with("parameters", R"({"a": 1, "b": 1.0, "c": true, "d": "1"})"), "x.json");
  CHECK(std::holds_alternative<std::int64_t>(schedule.parameters.at("a")));
  CHECK(std::holds_alternative<double>(schedule.parameters.at("b")));
  CHECK(std::holds_alternative<bool>(schedule.parameters.at("c")));
  CHECK(std::holds_alternative<std::string>(schedule.parameters.at("d")));
}

TEST_CASE("a repeat block moves microbatches and updates by their own steps, from 0 up to 2147483647 and no further") {
  const auto told = [](const std::string& action, std::int64_t count, const std::string& advance) {
    const std::string text = R"({"format": "plumbline-schedule", "version": 1, "name": "x", "parameters": {},
      "num_devices": 1, "num_stages": 1, "num_microbatches": 1, "microbatches_per_update": 1, "placement": [[[0]]],
      "weights": {"policy": "flush"}, "devices": [[{"repeat": )" +
                             std::to_string(count) + R"(, "advance": )" + advance + R"(, "actions": [")" + action +
                             R"("]}]]})";
    return error_message([&] { schedule_from_json(text, "x.json"); });
  };
  const std::string refused = "the repeat blocks around it move an index out of 0 .. 2147483647";
  const auto leaves = [&](const std::string& action, std::int64_t count, const std::string& advance) {
    const std::string text = told(action, count, advance);
    if (!text.empty()) CHECK(text.find("out of 0 .. 2147483647") != std::string::npos);
    return !text.empty();
  };
  for (const std::string op : {"F", "B", "U", "V"}) {
    CAPTURE(op);
    const bool updates = op == "U" || op == "V";
    const auto by = [&](std::int64_t own) {
      return std::string(R"({"microbatch": )") + std::to_string(updates ? 0 : own) + R"(, "update": )" +
             std::to_string(updates ? own : 0) + "}";
    };
    CHECK_FALSE(leaves("0" + op + "0", 2, by(2147483647)));
    CHECK(leaves("0" + op + "1", 2, by(2147483647)));
    CHECK_FALSE(leaves("0" + op + "1", 2, by(-1)));
    CHECK(leaves("0" + op + "0", 2, by(-1)));
    CHECK_FALSE(leaves("0" + op + "0", 1, by(-1)));
    CHECK_FALSE(leaves("0" + op + "2147483646", 2, by(1)));
    CHECK(leaves("0" + op + "2147483646", 3, by(1)));
    CHECK_FALSE(leaves("0" + op + "2147483647", 1, by(1)));
    CHECK_FALSE(leaves("0" + op + "2147483647", 7, by(0)));
  }
  CHECK(told("0F2147483647", 2, "1").find(refused) != std::string::npos);
  CHECK(told("0F2147483646+2147483647", 1, "1") == "");
  CHECK(leaves("0F2147483645+2147483646", 3, "1"));
  CHECK(leaves("0F0.0", 2, R"({"slice": -1})"));
  CHECK_FALSE(leaves("0F0.1", 2, R"({"slice": -1})"));
  CHECK_FALSE(leaves("0F0.32766", 2, R"({"slice": 1})"));
  CHECK(leaves("0F0.32767", 2, R"({"slice": 1})"));
}

TEST_CASE("an age of weights of 0 updates is read, and a limit of a rule of 0 microbatches is refused") {
  const auto document = [](const std::string& weights, const std::string& rest) {
    return R"({"format": "plumbline-schedule", "version": 1, "name": "x", "parameters": {}, "num_devices": 1,
      "num_stages": 1, "num_microbatches": 1, "microbatches_per_update": 1, "placement": [[[0]]], "weights": )" +
           weights + rest + "}";
  };
  const std::string lists = R"(, "devices": [["0F0", "0B0"]])";
  CHECK(schedule_from_json(document(R"({"policy": "delay", "d": 0})", lists), "x.json").weights.delay == 0);
  CHECK(schedule_from_json(document(R"({"policy": "delay", "d": 1})", lists), "x.json").weights.delay == 1);
  CHECK(error_message([&] { schedule_from_json(document(R"({"policy": "delay", "d": -1})", lists), "x.json"); }) != "");
}

}  // namespace plumb::testing

TEST_SUITE_END();
