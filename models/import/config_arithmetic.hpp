#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "models/import/config_reader.hpp"

namespace plumb {

/// What a configuration says about the arithmetic of the layers of a network document, besides their sizes. What our
/// layers compute is put into the layer; a value that they do not is the layer's `costs_only`: the place, the key, the
/// value and what is supported. What was taken is told in `taken`.
class ConfigArithmetic {
 public:
  /// `usual_base`: rope_theta of the model's class where the file does not say it. `windows`: whether the class has
  /// sliding windows in all layers (Mistral), where `use_sliding_window` says so (Qwen), or none.
  enum class Windows : std::uint8_t { kNone, kAll, kOptional };

  explicit ConfigArithmetic(const ConfigReader& config) : config_(config) {}

  /// An MLP's `activation`, from the first of `keys` that is there.
  void add_activation(nlohmann::ordered_json& mlp, const std::vector<std::string_view>& keys,
                      std::string_view otherwise);
  /// A norm's `epsilon`.
  void add_epsilon(nlohmann::ordered_json& norm, std::string_view key, double otherwise);
  /// Rotary attention's base and scaling.
  void add_rotary(nlohmann::ordered_json& attention, double usual_base, std::int64_t positions);
  /// The window of attention in layer `k`.
  void add_window(nlohmann::ordered_json& attention, Windows windows, std::int64_t k);
  /// Marks a layer as one that cannot be trained here, because of the value of `key`.
  void refuse(nlohmann::ordered_json& layer, std::string_view key, std::string_view supported) const;

  /// "hidden_act silu", "rms_norm_eps 1e-06", ..., each once.
  const std::vector<std::string>& taken() const { return taken_; }

 private:
  void take(const std::string& what);
  void add_scaling(nlohmann::ordered_json& attention, const JsonValue& scaling, std::int64_t positions);
  /// The window of a class that has one in layer `k`; 0: none.
  std::int64_t window_of(nlohmann::ordered_json& attention, Windows windows, std::int64_t k) const;

  const ConfigReader& config_;
  std::vector<std::string> taken_;
};

}  // namespace plumb
