#include "models/import/config_arithmetic.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

namespace plumb {
namespace {

using Json = nlohmann::ordered_json;

/// Names of transformers' `ACT2CLS`, and ours.
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kPublishedActivations{{
    {"gelu", "gelu"},
    {"gelu_python", "gelu"},
    {"gelu_new", "gelu_tanh"},
    {"gelu_pytorch_tanh", "gelu_tanh"},
    {"gelu_python_tanh", "gelu_tanh"},
    {"relu", "relu"},
    {"silu", "silu"},
    {"swish", "silu"},
}};
constexpr std::string_view kKnownActivations =
    "gelu, gelu_new, gelu_pytorch_tanh, relu, silu (and gelu_python, gelu_python_tanh, swish)";
constexpr double kUsualBase = 10000;
constexpr std::int64_t kUsualWindowLayers = 28;  // of Qwen2Config: layers before them see everything
constexpr double kMostFactor = 1e12;

std::string text_of(const JsonValue& value) {
  switch (value.kind()) {
    case JsonValue::Kind::kString:
      return "'" + std::string(value.text()) + "'";
    case JsonValue::Kind::kBoolean:
      return value.boolean() ? "true" : "false";
    case JsonValue::Kind::kInteger:
      return std::to_string(value.integer());
    case JsonValue::Kind::kNumber:
      return Json(value.number()).dump();
    default:
      return "this value";
  }
}

std::string number_text(double value) { return Json(value).dump(); }

void refuse_value(LayerFieldValues& layer, const JsonValue& value, std::string_view supported) {
  if (layer.contains("costs_only")) return;
  layer["costs_only"] =
      value.where() + ": " + text_of(value) + " has no arithmetic here; supported: " + std::string(supported);
}

}  // namespace

void ConfigArithmetic::take(const std::string& what) {
  if (std::ranges::find(taken_, what) == taken_.end()) taken_.push_back(what);
}

void ConfigArithmetic::refuse(LayerFieldValues& layer, std::string_view key, std::string_view supported) const {
  if (const auto value = config_.given(key)) refuse_value(layer, *value, supported);
}

void ConfigArithmetic::add_activation(LayerFieldValues& mlp, const ConfigKeys& keys, std::string_view otherwise) {
  const std::optional<ConfigReader::Found> found = config_.find(keys);
  const std::string_view name = found ? found->value.text() : otherwise;
  const auto known =
      std::ranges::find(kPublishedActivations, name, &std::pair<std::string_view, std::string_view>::first);
  if (known == kPublishedActivations.end()) {
    if (found) refuse_value(mlp, found->value, kKnownActivations);
    return;
  }
  mlp["activation"] = std::string(known->second);
  take(std::string(found ? found->key : keys.names.back()) + " " + std::string(name));
}

void ConfigArithmetic::add_epsilon(LayerFieldValues& norm, const ConfigKeys& keys, double otherwise) {
  const std::optional<ConfigReader::Found> found = config_.find(keys);
  const double epsilon = found ? found->value.number(0, 1) : otherwise;
  norm["epsilon"] = epsilon;
  take(std::string(found ? found->key : keys.names.front()) + " " + number_text(epsilon));
}

void ConfigArithmetic::add_rotary(LayerFieldValues& attention, std::int64_t positions) {
  // Since version 5, transformers writes base and scaling into one object, or one for each type of layer.
  const std::optional<JsonValue> both = config_.given("rope_parameters");
  std::optional<JsonValue> base = config_.given(ConfigKeys("rope_theta", "rotary_emb_base"));
  if (both && both->find("rope_theta")) base = both->find("rope_theta");
  attention["rotary_base"] = base ? base->number(1e-6, kMostFactor) : kUsualBase;
  take("rope_theta " + number_text(std::get<double>(attention["rotary_base"])));
  for (const char* part : {"partial_rotary_factor", "rotary_pct", "rope_pct"}) {
    if (config_.real(part, 1) != 1) refuse(attention, part, "1");
  }
  const auto add = [&](const JsonValue& scaling) {
    if (scaling.is_object()) add_scaling(attention, scaling, positions);
  };
  if (both) add(*both);
  if (const auto scaling = config_.given("rope_scaling")) add(*scaling);
}

void ConfigArithmetic::add_scaling(LayerFieldValues& attention, const JsonValue& scaling, std::int64_t positions) {
  std::optional<JsonValue> type = scaling.find("rope_type");
  if (!type) type = scaling.find("type");
  const std::string_view name = type ? type->text() : "default";
  if (const auto part = scaling.find("partial_rotary_factor"); part && part->number() != 1) {
    refuse_value(attention, *part, "1");
  }
  if (name == "default") return;
  if (name != "linear" && name != "llama3") {
    refuse_value(attention, *type, "default, linear, llama3");
    return;
  }
  const auto factor = [&](const char* key) { return scaling.at(key).number(1e-6, kMostFactor); };
  attention["rotary_factor"] = factor("factor");
  std::string told = "rope_scaling " + std::string(name) + " factor " + number_text(factor("factor"));
  if (name == "llama3") {
    attention["rotary_low"] = factor("low_freq_factor");
    attention["rotary_high"] = factor("high_freq_factor");
    const auto original = scaling.find("original_max_position_embeddings");
    attention["rotary_original"] =
        original ? original->number(1, kMostFactor)
                 : static_cast<double>(config_.size("original_max_position_embeddings", positions));
    told += " low_freq_factor " + number_text(factor("low_freq_factor")) + " high_freq_factor " +
            number_text(factor("high_freq_factor")) + " original_max_position_embeddings " +
            number_text(std::get<double>(attention["rotary_original"]));
  }
  take(told);
}

std::int64_t ConfigArithmetic::window_of(LayerFieldValues& attention, Windows windows, std::int64_t k) const {
  const std::int64_t window = config_.size("sliding_window", 0);
  if (windows == Windows::kAll) return window;
  const std::optional<JsonValue> types = config_.given("layer_types");
  const std::int64_t full_layers = config_.size("max_window_layers", kUsualWindowLayers);
  if (!config_.flag("use_sliding_window", false)) return 0;
  if (!types) return k < full_layers ? 0 : window;
  std::int64_t at = 0;
  for (const JsonValue& type : types->elements()) {
    if (at++ != k) continue;
    if (type.text() == "sliding_attention") return window;
    if (type.text() != "full_attention") refuse_value(attention, type, "full_attention, sliding_attention");
    return 0;
  }
  types->fail("expected a type for every layer, found " + std::to_string(at));
}

void ConfigArithmetic::add_window(LayerFieldValues& attention, Windows windows, std::int64_t k) {
  set_window(attention, window_of(attention, windows, k));
}

void ConfigArithmetic::set_window(LayerFieldValues& attention, std::int64_t window) {
  if (window == 0) return;
  attention["window"] = window;
  take("sliding_window " + std::to_string(window));
}

}  // namespace plumb
