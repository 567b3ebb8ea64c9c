#include "schedules/document/weights_json.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "models/ground/error.hpp"
#include "schedules/document/document_limits.hpp"
#include "schedules/document/methods.hpp"

namespace plumb {
namespace {

WeightPolicy weight_policy_of(const JsonValue& json) {
  const auto found = std::find(kWeightPolicyNames.begin(), kWeightPolicyNames.end(), json.text());
  if (found != kWeightPolicyNames.end()) return static_cast<WeightPolicy>(found - kWeightPolicyNames.begin());
  const std::string nearest = nearest_name(json.text(), kWeightPolicyNames);
  if (!nearest.empty()) json.fail("unknown weight policy (did you mean '" + nearest + "'?)");
  std::string known;
  for (const std::string_view name : kWeightPolicyNames) known += (known.empty() ? "" : ", ") + std::string(name);
  json.fail("unknown weight policy; expected one of " + known);
}

/// A list with one element per stage.
template <class Element, class Read>
std::vector<Element> per_stage(const JsonValue& json, const Schedule& schedule, const std::string& what, Read read) {
  if (json.size() != static_cast<std::size_t>(schedule.num_stages)) {
    json.fail("expected " + what + " for each of the " + std::to_string(schedule.num_stages) + " stages, found " +
              std::to_string(json.size()));
  }
  std::vector<Element> list;
  for (const JsonValue& element : json.elements()) list.push_back(read(element));
  return list;
}

std::vector<WeightPhase> phases_of(const JsonValue& json) {
  std::vector<WeightPhase> phases;
  for (const JsonValue& one : json.elements()) {
    one.allow_only({"updates", "policy"});
    phases.push_back({one.at("updates").integer(1, kMostIndex), weight_policy_of(one.at("policy"))});
  }
  return phases;
}

Prediction prediction_of(const JsonValue& json, const Schedule& schedule) {
  json.allow_only({"forward", "backward", "once_per_update"});
  const auto steps = [&](const JsonValue& list) {
    return per_stage<std::int32_t>(list, schedule, "a number of updates", [](const JsonValue& number) {
      return static_cast<std::int32_t>(number.integer(0, kMostIndex));
    });
  };
  Prediction prediction;
  prediction.forward = steps(json.at("forward"));
  if (const auto backward = json.find("backward")) prediction.backward = steps(*backward);
  if (const auto once = json.find("once_per_update")) prediction.once_per_update = once->boolean();
  return prediction;
}

/// The table of methods is asked in place, so that what it does not like is said with its place in the text.
std::vector<Method> methods_of(const JsonValue& json) {
  std::vector<Method> methods;
  for (const JsonValue& one : json.elements()) {
    one.allow_only({"name", "parameters"});
    Method method{std::string(one.at("name").text()), {}};
    if (const auto parameters = one.find("parameters")) {
      for (const auto& member : parameters->members()) {
        method.parameters.emplace(std::string(member.key), member.value.number());
      }
    }
    try {
      check_parameters(method);
    } catch (const Error& error) {
      one.fail(error.what());
    }
    methods.push_back(std::move(method));
  }
  return methods;
}

bool predicts(const Weights& weights) {
  const auto is_predicted = [](WeightPolicy policy) { return policy == WeightPolicy::kPredicted; };
  return is_predicted(weights.policy) || std::any_of(weights.per_stage.begin(), weights.per_stage.end(), is_predicted);
}

}  // namespace

Weights weights_from_json(const JsonValue& json, const Schedule& schedule) {
  json.allow_only({"policy", "d", "phases", "prediction", "sync_distance", "methods", "correction_buffers"});
  Weights weights;
  const JsonValue policy = json.at("policy");
  if (policy.is_array()) {
    weights.per_stage = per_stage<WeightPolicy>(policy, schedule, "a policy", weight_policy_of);
    weights.policy = weights.per_stage.front();
  } else {
    weights.policy = weight_policy_of(policy);
  }
  if (const auto d = json.find("d")) weights.delay = static_cast<std::int32_t>(d->integer(0, kMostIndex));
  if (const auto phases = json.find("phases")) weights.phases = phases_of(*phases);
  if (const auto prediction = json.find("prediction")) {
    if (!predicts(weights)) prediction->fail("the policy does not predict; expected 'predicted'");
    weights.prediction = prediction_of(*prediction, schedule);
  }
  if (const auto distance = json.find("sync_distance")) {
    weights.sync_distance = static_cast<std::int32_t>(distance->integer(0, kMostIndex));
  }
  if (const auto methods = json.find("methods")) weights.methods = methods_of(*methods);
  if (const auto buffers = json.find("correction_buffers")) {
    for (const JsonValue& name : buffers->elements()) weights.correction_buffers.emplace_back(name.text());
  }
  return weights;
}

}  // namespace plumb
