#include <charconv>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "schedules/document/action_text.hpp"
#include "schedules/document/json_fields.hpp"
#include "schedules/document/schedule_io.hpp"

namespace plumb {
namespace {

/// Writes the document straight into text: lists of millions of actions leave no room for a tree of values.
class Writer {
 public:
  std::string write(const Schedule& schedule) {
    out_ = "{\n  \"format\": \"plumbline-schedule\", \"version\": 1";
    fields(schedule);
    if (!schedule.policy) {
      key("devices");
      devices(schedule);
    }
    out_ += "\n}\n";
    return std::move(out_);
  }

  std::vector<std::pair<std::string, std::string>> write_fields(const Schedule& schedule) {
    fields(schedule);
    std::vector<std::pair<std::string, std::string>> found;
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      const std::size_t end = i + 1 < keys_.size() ? keys_[i + 1].begin : out_.size();
      found.emplace_back(keys_[i].name, out_.substr(keys_[i].value, end - keys_[i].value));
    }
    return found;
  }

 private:
  /// Where a member of the document stands in `out_`.
  struct Key {
    std::string name;
    std::size_t begin = 0;
    std::size_t value = 0;
  };

  void fields(const Schedule& schedule) {
    key("name");
    text(schedule.name);
    key("parameters");
    object(schedule.parameters);
    key("num_devices");
    value(schedule.num_devices);
    key("num_stages");
    value(schedule.num_stages);
    key("num_microbatches");
    value(schedule.num_microbatches);
    key("microbatches_per_update");
    one_or_many(schedule.microbatches_per_update);
    if (schedule.forward_only) {
      key("mode");
      text("forward");
    }
    key("placement");
    value(schedule.placement);
    key("weights");
    weights(schedule.weights);
    optional_fields(schedule);
    if (schedule.policy) policy(*schedule.policy);
  }

  void key(std::string_view name) {
    const std::size_t begin = out_.size();
    out_ += ",\n  ";
    text(name);
    out_ += ": ";
    keys_.push_back({std::string(name), begin, out_.size()});
  }

  void text(std::string_view characters) {
    constexpr std::string_view kHex = "0123456789abcdef";
    out_ += '"';
    for (const char c : characters) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\') {
        (out_ += '\\') += c;
      } else if (byte < 0x20) {
        (out_ += "\\u00") += kHex[byte >> 4];
        out_ += kHex[byte & 15];
      } else {
        out_ += c;
      }
    }
    out_ += '"';
  }

  void value(const std::string& string) { text(string); }
  void value(bool truth) { out_ += truth ? "true" : "false"; }
  void value(DeviceId id) { value(static_cast<std::int32_t>(id)); }
  void value(StageId id) { value(static_cast<std::int32_t>(id)); }
  void value(const Action& action) { text(to_string(action)); }
  void carried(const ExtraEdge& edge) {
    out_ += ", {";
    if (!edge.weights.empty()) {
      out_ += "\"weights\": ";
      value(edge.weights);
    }
    if (!edge.weights.empty() && !edge.gradients.empty()) out_ += ", ";
    if (!edge.gradients.empty()) {
      out_ += "\"gradients\": ";
      value(edge.gradients);
    }
    out_ += '}';
  }

  void value(const ExtraEdge& edge) {
    out_ += '[';
    value(edge.before);
    out_ += ", ";
    value(edge.after);
    if (edge.carries()) carried(edge);
    out_ += ']';
  }
  void value(const std::pair<StageId, StageId>& edge) { value(std::vector<StageId>{edge.first, edge.second}); }
  void value(const Schedule::Parameter& parameter) {
    std::visit([&](const auto& held) { value(held); }, parameter);
  }

  template <class Number>
  requires std::is_arithmetic_v<Number>
  void value(Number number) {
    char digits[32];
    const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
    const std::string_view written(digits, static_cast<std::size_t>(end - digits));
    out_ += written;
    // A whole number must come back as what it was.
    if (std::is_floating_point_v<Number> && written.find_first_of(".e") == std::string_view::npos) out_ += ".0";
  }

  template <class Element>
  void value(const std::vector<Element>& elements) {
    out_ += '[';
    for (std::size_t i = 0; i < elements.size(); ++i) {
      if (i > 0) out_ += ", ";
      value(elements[i]);
    }
    out_ += ']';
  }

  template <class Element>
  void one_or_many(const std::vector<Element>& elements) {
    if (elements.size() == 1) {
      value(elements.front());
    } else {
      value(elements);
    }
  }

  template <class Value>
  void object(const std::map<std::string, Value>& members) {
    out_ += '{';
    bool first = true;
    for (const auto& [name, held] : members) {
      if (!first) out_ += ", ";
      first = false;
      text(name);
      out_ += ": ";
      value(held);
    }
    out_ += '}';
  }

  void value(WeightPolicy policy) { text(kWeightPolicyNames[static_cast<std::size_t>(policy)]); }

  void value(const WeightPhase& phase) {
    out_ += "{\"updates\": ";
    value(phase.updates);
    out_ += ", \"policy\": ";
    value(phase.policy);
    out_ += '}';
  }

  void value(const Method& method) {
    out_ += "{\"name\": ";
    text(method.name);
    if (!method.parameters.empty()) {
      out_ += ", \"parameters\": ";
      object(method.parameters);
    }
    out_ += '}';
  }

  void value(const ExtraWork& work) {
    if (work.kind == ExtraWork::Kind::kUnits) return value(work.units);
    if (work.kind == ExtraWork::Kind::kTime) {
      out_ += "{\"time_ns\": ";
      value(work.time_ns);
      out_ += '}';
      return;
    }
    if (work.kind == ExtraWork::Kind::kTeacher) {
      out_ += "{\"teacher\": ";
      value(std::vector<std::int64_t>{work.first_microbatch,
                                      work.first_microbatch + static_cast<std::int64_t>(work.units)});
      out_ += '}';
      return;
    }
    out_ += "{\"units\": ";
    value(work.units);
    if (work.kind == ExtraWork::Kind::kLayers) {
      out_ += ", \"layers\": ";
      value(std::vector<std::int64_t>{work.first_layer, work.end_layer});
    } else {
      out_ += ", \"pass\": ";
      text(kOpNames[static_cast<std::size_t>(work.pass)]);
      if (work.stages_ahead != 0) out_ += ", \"stages_ahead\": ";
      if (work.stages_ahead != 0) value(work.stages_ahead);
    }
    out_ += '}';
  }

  void prediction(const Prediction& prediction) {
    out_ += ", \"prediction\": {\"forward\": ";
    value(prediction.forward);
    if (!prediction.backward.empty()) {
      out_ += ", \"backward\": ";
      value(prediction.backward);
    }
    out_ += prediction.once_per_update ? ", \"once_per_update\": true}" : "}";
  }

  void weights(const Weights& weights) {
    out_ += "{\"policy\": ";
    if (weights.per_stage.empty()) {
      value(weights.policy);
    } else {
      value(weights.per_stage);
    }
    if (weights.delay != 1) {
      out_ += ", \"d\": ";
      value(weights.delay);
    }
    if (!weights.phases.empty()) {
      out_ += ", \"phases\": ";
      value(weights.phases);
    }
    if (weights.prediction != Prediction{}) prediction(weights.prediction);
    if (weights.sync_distance != 0) {
      out_ += ", \"sync_distance\": ";
      value(weights.sync_distance);
    }
    if (!weights.methods.empty()) {
      out_ += ", \"methods\": ";
      value(weights.methods);
    }
    if (!weights.correction_buffers.empty()) {
      out_ += ", \"correction_buffers\": ";
      value(weights.correction_buffers);
    }
    out_ += '}';
  }

  void policy(const RunTimePolicy& policy) {
    key("policy");
    out_ += "{\"choice\": ";
    text(policy.choice == RunTimePolicy::Choice::kArrival ? "arrival" : "priority");
    out_ += ", \"priorities\": ";
    std::vector<std::string> names;
    for (const Op op : policy.priorities) names.emplace_back(kOpNames[static_cast<std::size_t>(op)]);
    value(names);
    if (!policy.limits.empty()) {
      out_ += ", \"limits\": ";
      one_or_many(policy.limits);
    }
    out_ += '}';
  }

  void optional_fields(const Schedule& schedule) {
    const auto list = [&](std::string_view name, const auto& elements) {
      if (elements.empty()) return;
      key(name);
      value(elements);
    };
    list("reduce_groups", schedule.reduce_groups);
    list("microbatch_sizes", schedule.microbatch_sizes);
    list("recompute", schedule.recompute);
    if (schedule.stage_edges) {
      key("stage_edges");
      value(*schedule.stage_edges);
    }
    list("start_together", schedule.start_together);
    if (schedule.vocabulary) vocabulary(*schedule.vocabulary);
    list("extra_edges", schedule.extra_edges);
    if (!schedule.extras.empty()) {
      key("extras");
      object(schedule.extras);
    }
    if (!schedule.slices) return;
    key("slices");
    out_ += "{\"axis\": ";
    text(schedule.slices->axis == Slices::Axis::kBatch ? "batch" : "sequence");
    out_ += ", \"lengths\": ";
    one_or_many(schedule.slices->lengths);
    out_ += '}';
  }

  void vocabulary(const VocabularyStages& stages) {
    key("vocabulary");
    out_ += "{\"input\": ";
    value(stages.input);
    out_ += ", \"output\": ";
    value(stages.output);
    if (stages.loss) {
      out_ += ", \"loss\": ";
      value(*stages.loss);
    }
    if (stages.at_once) out_ += ", \"at_once\": true";
    out_ += '}';
  }

  void value(const Recompute& recompute) {
    out_ += "{\"stages\": ";
    value(std::vector<std::int32_t>{recompute.first_stage, recompute.last_stage});
    out_ += ", \"microbatches\": ";
    if (recompute.except_last_microbatch) {
      text("except_last");
    } else if (recompute.microbatches.empty()) {
      text("all");
    } else {
      value(recompute.microbatches);
    }
    if (recompute.segment) out_ += ", \"segment\": true";
    out_ += '}';
  }

  void devices(const Schedule& schedule) {
    out_ += '[';
    for (std::size_t device = 0; device < schedule.devices.size(); ++device) {
      out_ += device == 0 ? "\n    [" : ",\n    [";
      const DeviceList& list = schedule.devices[device];
      items(list, 0, list.actions.size(), 0);
      out_ += ']';
    }
    out_ += "\n  ]";
  }

  /// Items [begin, end) of `list`; `next` is the first repeat not yet opened. Returns the first repeat after `end`.
  std::size_t items(const DeviceList& list, std::size_t begin, std::size_t end, std::size_t next) {
    for (std::size_t at = begin; at < end;) {
      if (at > begin) out_ += ", ";
      if (next < list.repeats.size() && list.repeats[next].begin == at && list.repeats[next].end <= end) {
        const Repeat& repeat = list.repeats[next];
        next = block(list, repeat, next + 1);
        at = repeat.end;
      } else {
        out_ += '"';
        at = append_item(out_, list.actions, at);
        out_ += '"';
      }
    }
    return next;
  }

  std::size_t block(const DeviceList& list, const Repeat& repeat, std::size_t next) {
    out_ += "{\"repeat\": ";
    value(repeat.count);
    out_ += ", \"advance\": ";
    const Advance& by = repeat.advance;
    if (by.update == 0 && by.slice == 0) {
      value(by.microbatch);
    } else {
      std::map<std::string, std::int32_t> members{{"microbatch", by.microbatch}};
      if (by.update != 0) members["update"] = by.update;
      if (by.slice != 0) members["slice"] = by.slice;
      object(members);
    }
    out_ += ", \"actions\": [";
    next = items(list, repeat.begin, repeat.end, next);
    out_ += "]}";
    return next;
  }

  std::string out_;
  std::vector<Key> keys_;
};

}  // namespace

std::string schedule_to_json(const Schedule& schedule) { return Writer().write(schedule); }

std::vector<std::pair<std::string, std::string>> json_fields(const Schedule& schedule) {
  return Writer().write_fields(schedule);
}

}  // namespace plumb
