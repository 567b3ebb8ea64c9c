#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "models/ground/error.hpp"
#include "models/ground/json_reader.hpp"
#include "models/ground/mistakes.hpp"
#include "schedules/document/device_list_json.hpp"
#include "schedules/document/document_limits.hpp"
#include "schedules/document/policy_work.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/document/weights_json.hpp"

namespace plumb {
namespace {

constexpr std::int64_t kMostReplicas = 32767;

/// The members of a document, in the order in which we write them.
const std::vector<std::string_view> kKeys{"format",
                                          "version",
                                          "name",
                                          "parameters",
                                          "num_devices",
                                          "num_stages",
                                          "num_microbatches",
                                          "microbatches_per_update",
                                          "mode",
                                          "placement",
                                          "weights",
                                          "reduce_groups",
                                          "microbatch_sizes",
                                          "recompute",
                                          "stage_edges",
                                          "start_together",
                                          "vocabulary",
                                          "extra_edges",
                                          "extras",
                                          "slices",
                                          "policy",
                                          "devices"};

std::int32_t index_of(const JsonValue& json, std::int64_t count) {
  return static_cast<std::int32_t>(json.integer(0, count - 1));
}

template <class Element, class Read>
std::vector<Element> list_of(const JsonValue& json, Read read) {
  std::vector<Element> list;
  for (const JsonValue& element : json.elements()) list.push_back(read(element));
  return list;
}

template <class Read>
auto pair_of(const JsonValue& pair, std::string_view what, Read read) {
  if (pair.size() != 2) pair.fail_expected(what);
  const auto ends = list_of<decltype(read(pair))>(pair, read);
  return std::pair{ends[0], ends[1]};
}

Action action_from_json(const JsonValue& json) {
  Action action;
  const std::string_view expected = read_action(json.text(), action);
  if (!expected.empty()) json.fail("action '" + std::string(json.text()) + "': expected " + std::string(expected));
  return action;
}

/// [before, after], or with what the edge carries: [before, after, {"weights": [0], "gradients": [1]}].
ExtraEdge edge_of(const JsonValue& json) {
  constexpr std::string_view kExpected = "[before, after], or [before, after, what it carries]";
  if (json.size() != 2 && json.size() != 3) json.fail_expected(kExpected);
  std::vector<JsonValue> parts;
  for (const JsonValue& part : json.elements()) parts.push_back(part);
  ExtraEdge edge{action_from_json(parts[0]), action_from_json(parts[1])};
  if (parts.size() == 2) return edge;
  parts[2].allow_only({"weights", "gradients"});
  const auto stage = [](const JsonValue& of) { return StageId{index_of(of, kMostDocumentStages)}; };
  if (const auto weights = parts[2].find("weights")) edge.weights = list_of<StageId>(*weights, stage);
  if (const auto gradients = parts[2].find("gradients")) edge.gradients = list_of<StageId>(*gradients, stage);
  if (!edge.carries()) parts[2].fail_expected("stages under \"weights\" or \"gradients\"");
  return edge;
}

std::map<std::string, Schedule::Parameter> parameters_of(const JsonValue& json) {
  std::map<std::string, Schedule::Parameter> parameters;
  for (const auto& [key, value] : json.members()) {
    Schedule::Parameter& parameter = parameters[std::string(key)];
    switch (value.kind()) {
      case JsonValue::Kind::kBoolean:
        parameter = value.boolean();
        break;
      case JsonValue::Kind::kInteger:
        parameter = value.integer();
        break;
      case JsonValue::Kind::kNumber:
        parameter = value.number();
        break;
      case JsonValue::Kind::kString:
        parameter = std::string(value.text());
        break;
      default:
        value.fail_expected("a number, a text, true or false");
    }
  }
  return parameters;
}

/// `placement[replica][stage]`: a list of devices each.
void read_placement(const JsonValue& json, Schedule& schedule) {
  if (json.size() == 0 || json.size() > kMostReplicas) json.fail_expected("one to 32767 replicas");
  for (const JsonValue& replica : json.elements()) {
    if (replica.size() != static_cast<std::size_t>(schedule.num_stages)) {
      replica.fail("expected a list of devices for each of the " + std::to_string(schedule.num_stages) +
                   " stages, found " + std::to_string(replica.size()));
    }
    auto& stages = schedule.placement.emplace_back();
    for (const JsonValue& stage : replica.elements()) {
      if (stage.size() == 0) stage.fail("expected at least one device that holds the stage");
      stages.push_back(
          list_of<DeviceId>(stage, [&](const JsonValue& d) { return DeviceId{index_of(d, schedule.num_devices)}; }));
      std::vector<DeviceId> sorted = stages.back();
      std::sort(sorted.begin(), sorted.end());
      if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) stage.fail("names a device twice");
    }
  }
}

Recompute recompute_of(const JsonValue& json, const Schedule& schedule) {
  json.allow_only({"stages", "microbatches", "segment"});
  Recompute recompute;
  const JsonValue stages = json.at("stages");
  const auto ends = list_of<std::int32_t>(stages, [&](const JsonValue& s) { return index_of(s, schedule.num_stages); });
  if (ends.size() != 2 || ends[0] > ends[1]) stages.fail("expected [first, last] with first <= last");
  recompute.first_stage = ends[0];
  recompute.last_stage = ends[1];
  const JsonValue which = json.at("microbatches");
  if (which.is_array()) {
    if (which.size() == 0) which.fail("expected \"all\", \"except_last\" or at least one microbatch");
    const auto read = [&](const JsonValue& m) { return index_of(m, schedule.num_microbatches); };
    recompute.microbatches = list_of<std::int32_t>(which, read);
  } else {
    recompute.except_last_microbatch = which.text() == "except_last";
    if (which.text() != "all" && which.text() != "except_last") {
      which.fail_expected("\"all\", \"except_last\" or a list of microbatches");
    }
  }
  if (const auto segment = json.find("segment")) recompute.segment = segment->boolean();
  return recompute;
}

Slices slices_of(const JsonValue& json, std::int64_t num_microbatches) {
  json.allow_only({"axis", "lengths"});
  Slices slices;
  const JsonValue axis = json.at("axis");
  if (axis.text() != "sequence" && axis.text() != "batch") axis.fail_expected("\"sequence\" or \"batch\"");
  slices.axis = axis.text() == "batch" ? Slices::Axis::kBatch : Slices::Axis::kSequence;
  const JsonValue lengths = json.at("lengths");
  const auto row = [&](const JsonValue& of) {
    if (of.size() == 0 || of.size() > kMostReplicas) of.fail("expected 1 to 32767 lengths");
    return list_of<std::int64_t>(of, [](const JsonValue& length) { return length.integer(1); });
  };
  const bool per_microbatch = lengths.size() > 0 && lengths.elements().begin()->is_array();
  if (!per_microbatch) {
    slices.lengths.push_back(row(lengths));
  } else {
    slices.lengths = list_of<std::vector<std::int64_t>>(lengths, row);
    if (lengths.size() != 1 && static_cast<std::int64_t>(lengths.size()) != num_microbatches) {
      lengths.fail("expected one row of lengths, or one for each of the " + std::to_string(num_microbatches) +
                   " microbatches");
    }
  }
  return slices;
}

/// Reads members of a document one by one, so that the mistakes of all are told.
class MemberReader {
 public:
  MemberReader(const JsonValue& json, Mistakes& mistakes)
      : json_(json), mistakes_(mistakes), knows_all_(mistakes.keep([&] { json.allow_only(kKeys); })) {}

  template <class Read>
  void optional(std::string_view key, Read read) const {
    if (const auto value = json_.find(key)) mistakes_.keep([&] { read(*value); });
  }
  /// Beside unknown keys it is not told which are missing: those, rightly spelt.
  template <class Read>
  void required(std::string_view key, Read read) const {
    if (knows_all_ || json_.find(key)) mistakes_.keep([&] { read(json_.at(key)); });
  }

 private:
  const JsonValue& json_;
  Mistakes& mistakes_;
  bool knows_all_;
};

/// Whether all of them are right; what the other members are depends on them.
bool read_sizes(const MemberReader& members, Schedule& schedule) {
  std::int64_t devices = 0;
  std::int64_t stages = 0;
  members.required("num_devices", [&](const JsonValue& of) { devices = of.integer(1, kMostDocumentDevices); });
  members.required("num_stages", [&](const JsonValue& of) { stages = of.integer(1, kMostDocumentStages); });
  members.required("num_microbatches",
                   [&](const JsonValue& of) { schedule.num_microbatches = of.integer(1, kMostIndex); });
  schedule.num_devices = static_cast<std::int32_t>(devices);
  schedule.num_stages = static_cast<std::int32_t>(stages);
  return devices > 0 && stages > 0 && schedule.num_microbatches > 0;
}

void read_updates(const JsonValue& per_update, Schedule& schedule) {
  const auto read = [&](const JsonValue& number) { return number.integer(1, schedule.num_microbatches); };
  if (!per_update.is_array()) {
    schedule.microbatches_per_update = {read(per_update)};
    return;
  }
  schedule.microbatches_per_update = list_of<std::int64_t>(per_update, read);
  if (per_update.size() != static_cast<std::size_t>(schedule.num_stages)) {
    per_update.fail("expected a number, or one for each of the " + std::to_string(schedule.num_stages) + " stages");
  }
}

Op op_from_json(const JsonValue& json) {
  for (const Op op : {Op::kF, Op::kB, Op::kI, Op::kW, Op::kR}) {
    if (json.text() == kOpNames[static_cast<std::size_t>(op)]) return op;
  }
  json.fail_expected("F, B, I, W or R");
}

RunTimePolicy run_time_policy_of(const JsonValue& json, const Schedule& schedule) {
  json.allow_only({"choice", "priorities", "limits"});
  RunTimePolicy policy;
  if (const auto choice = json.find("choice")) {
    if (choice->text() != "priority" && choice->text() != "arrival")
      choice->fail_expected("\"priority\" or \"arrival\"");
    if (choice->text() == "arrival") policy.choice = RunTimePolicy::Choice::kArrival;
  }
  const JsonValue priorities = json.at("priorities");
  policy.priorities = list_of<Op>(priorities, op_from_json);
  for (const Op op : policy.priorities) {
    if (std::ranges::count(policy.priorities, op) > 1) priorities.fail("names an op twice; expected every op once");
  }
  const auto limits = json.find("limits");
  if (!limits) return policy;
  if (!limits->is_array()) {
    policy.limits = {limits->integer(1)};
    return policy;
  }
  policy.limits = list_of<std::int64_t>(*limits, [](const JsonValue& limit) { return limit.integer(1); });
  if (limits->size() != static_cast<std::size_t>(schedule.num_devices)) {
    limits->fail("expected a number, or one for each of the " + std::to_string(schedule.num_devices) + " devices");
  }
  return policy;
}

/// The rule of the devices, and the work that they do by it.
void read_policy(const JsonValue& json, Schedule& schedule) {
  schedule.policy = run_time_policy_of(json, schedule);
  if (const std::string fault = policy_fault(schedule); !fault.empty()) json.fail(fault);
  schedule.devices = work_of_policy(schedule);
}

constexpr double kMostUnits = 1e12;
constexpr std::int64_t kMostTime = std::int64_t{1} << 53;
constexpr std::int64_t kMostTaught = 128;  ///< microbatches in one action

/// The teacher's forward of microbatches [first, end).
ExtraWork teacher_of(const JsonValue& json, const JsonValue& microbatches) {
  json.allow_only({"teacher"});
  const auto whole = [](const JsonValue& number) { return number.integer(0, kMostIndex); };
  const auto [first, end] = pair_of(microbatches, "[first, end]", whole);
  if (first >= end || end - first > kMostTaught) {
    microbatches.fail("expected the first microbatch and one past the last, at most " + std::to_string(kMostTaught) +
                      " of them");
  }
  return {.kind = ExtraWork::Kind::kTeacher, .units = static_cast<double>(end - first), .first_microbatch = first};
}

/// `work` is a number of units, or says what is done.
ExtraWork extra_of(const JsonValue& json) {
  ExtraWork work;
  if (!json.is_object()) {
    work.units = json.number(0, kMostUnits);
    return work;
  }
  json.allow_only({"units", "pass", "stages_ahead", "layers", "time_ns", "teacher"});
  if (const auto teacher = json.find("teacher")) return teacher_of(json, *teacher);
  if (const auto units = json.find("units")) work.units = units->number(0, kMostUnits);
  const auto pass = json.find("pass");
  const auto layers = json.find("layers");
  const auto time = json.find("time_ns");
  if (pass.has_value() + layers.has_value() + time.has_value() != 1) {
    json.fail("expected one of pass, layers, teacher and time_ns");
  }
  if (const auto ahead = json.find("stages_ahead")) {
    if (!pass) ahead->fail("goes with pass");
    work.stages_ahead = static_cast<std::int32_t>(ahead->integer(-kMostDocumentStages, kMostDocumentStages));
  }
  if (pass) {
    work.kind = ExtraWork::Kind::kPass;
    work.pass = op_from_json(*pass);
  } else if (layers) {
    work.kind = ExtraWork::Kind::kLayers;
    const auto whole = [](const JsonValue& number) { return number.integer(0, kMostDocumentStages); };
    std::tie(work.first_layer, work.end_layer) = pair_of(*layers, "[first, end]", whole);
    if (work.first_layer >= work.end_layer) layers->fail("expected the first layer and one past the last");
  } else {
    work.kind = ExtraWork::Kind::kTime;
    work.time_ns = time->integer(0, kMostTime);
    if (json.find("units")) json.fail("expected no units together with time_ns");
  }
  return work;
}

VocabularyStages vocabulary_of(const JsonValue& json, std::int32_t num_stages) {
  json.allow_only({"input", "output", "loss", "at_once"});
  const auto stage = [&](const JsonValue& s) { return StageId{index_of(s, num_stages)}; };
  VocabularyStages stages;
  stages.input = list_of<StageId>(json.at("input"), stage);
  stages.output = list_of<StageId>(json.at("output"), stage);
  if (const auto loss = json.find("loss")) stages.loss = stage(*loss);
  if (const auto at_once = json.find("at_once")) stages.at_once = at_once->boolean();
  return stages;
}

/// Members that say something of stages, devices or microbatches.
void read_indexed(const MemberReader& members, Schedule& schedule) {
  const auto device = [&](const JsonValue& d) { return DeviceId{index_of(d, schedule.num_devices)}; };
  const auto stage = [&](const JsonValue& s) { return StageId{index_of(s, schedule.num_stages)}; };
  members.required("microbatches_per_update", [&](const JsonValue& of) { read_updates(of, schedule); });
  members.required("placement", [&](const JsonValue& of) { read_placement(of, schedule); });
  members.required("weights", [&](const JsonValue& of) { schedule.weights = weights_from_json(of, schedule); });
  members.optional("reduce_groups", [&](const JsonValue& groups) {
    schedule.reduce_groups = list_of<std::vector<DeviceId>>(
        groups, [&](const JsonValue& group) { return list_of<DeviceId>(group, device); });
  });
  members.optional("microbatch_sizes", [&](const JsonValue& sizes) {
    schedule.microbatch_sizes = list_of<std::int64_t>(sizes, [](const JsonValue& size) { return size.integer(1); });
    if (static_cast<std::int64_t>(sizes.size()) != schedule.num_microbatches) {
      sizes.fail("expected " + std::to_string(schedule.num_microbatches) + " sizes, found " +
                 std::to_string(sizes.size()));
    }
  });
  members.optional("slices", [&](const JsonValue& of) { schedule.slices = slices_of(of, schedule.num_microbatches); });
  members.optional("recompute", [&](const JsonValue& list) {
    schedule.recompute = list_of<Recompute>(list, [&](const JsonValue& one) { return recompute_of(one, schedule); });
  });
  members.optional("stage_edges", [&](const JsonValue& edges) {
    auto& all = schedule.stage_edges.emplace();
    for (const JsonValue& edge : edges.elements()) all.push_back(pair_of(edge, "[from, to]", stage));
  });
  members.optional("start_together", [&](const JsonValue& groups) {
    schedule.start_together =
        list_of<std::vector<StageId>>(groups, [&](const JsonValue& group) { return list_of<StageId>(group, stage); });
  });
  members.optional("vocabulary",
                   [&](const JsonValue& of) { schedule.vocabulary = vocabulary_of(of, schedule.num_stages); });
}

/// Members that can be read whatever the sizes are.
void read_free(const MemberReader& members, Schedule& schedule) {
  members.required("name", [&](const JsonValue& name) { schedule.name = name.text(); });
  members.required("parameters", [&](const JsonValue& of) { schedule.parameters = parameters_of(of); });
  members.optional("mode", [&](const JsonValue& mode) {
    if (mode.text() != "training" && mode.text() != "forward") mode.fail_expected("\"training\" or \"forward\"");
    schedule.forward_only = mode.text() == "forward";
  });
  members.optional("extra_edges", [&](const JsonValue& edges) {
    for (const JsonValue& edge : edges.elements()) schedule.extra_edges.push_back(edge_of(edge));
  });
  members.optional("extras", [&](const JsonValue& extras) {
    for (const auto& [name, work] : extras.members()) schedule.extras[std::string(name)] = extra_of(work);
  });
}

/// `sizes_known`: whether it is known how many lists there must be.
void read_devices(const JsonValue& devices, Schedule& schedule, bool sizes_known, Mistakes& mistakes) {
  if (sizes_known && devices.size() != static_cast<std::size_t>(schedule.num_devices)) {
    mistakes.note(devices.where() + ": expected a list for each of the " + std::to_string(schedule.num_devices) +
                  " devices, found " + std::to_string(devices.size()));
  }
  for (const JsonValue& device : devices.elements()) {
    mistakes.keep([&] { schedule.devices.push_back(device_list_from_json(device, mistakes)); });
  }
}

}  // namespace

Schedule schedule_from_json(std::string_view text, std::string_view file_name) {
  const JsonDocument document{std::string(text), std::string(file_name)};
  const JsonValue json = document.root();
  check_format(json, "plumbline-schedule", 1);
  Schedule schedule;
  Mistakes mistakes;
  const MemberReader members(json, mistakes);
  read_free(members, schedule);
  const bool sizes_known = read_sizes(members, schedule);
  if (sizes_known) read_indexed(members, schedule);
  if (const auto policy = json.find("policy")) {
    if (!mistakes.any()) mistakes.keep([&] { read_policy(*policy, schedule); });
    members.optional("devices", [](const JsonValue& lists) { lists.fail("expected either 'devices' or 'policy'"); });
  } else {
    members.required("devices", [&](const JsonValue& of) { read_devices(of, schedule, sizes_known, mistakes); });
  }
  mistakes.finish();
  return schedule;
}

}  // namespace plumb
