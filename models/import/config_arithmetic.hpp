#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "models/import/config_reader.hpp"
#include "models/import/model_families.hpp"

namespace plumb {

/// Fields of a layer in the network document, by key.
using LayerFieldValues = std::map<std::string, std::variant<double, std::int64_t, std::string, bool>>;

/// What a configuration says about the arithmetic of the layers of a network document, besides their sizes. What our
/// layers compute is put into the layer; a value that they do not is the layer's `costs_only`: the place, the key, the
/// value and what is supported. What was taken is told in `taken`.
class ConfigArithmetic {
 public:
  explicit ConfigArithmetic(const ConfigReader& config) : config_(config) {}

  /// An MLP's `activation`, from the first of `keys` that is there.
  void add_activation(LayerFieldValues& mlp, const ConfigKeys& keys, std::string_view otherwise);
  /// A norm's `epsilon`.
  void add_epsilon(LayerFieldValues& norm, const ConfigKeys& keys, double otherwise);
  /// Rotary attention's base and scaling.
  void add_rotary(LayerFieldValues& attention, std::int64_t positions);
  /// The window of attention in layer `k`, of a class whose windows are not those of a pattern.
  void add_window(LayerFieldValues& attention, Windows windows, std::int64_t k);
  /// A window of so many tokens.
  void set_window(LayerFieldValues& attention, std::int64_t window);
  /// Marks a layer as one that cannot be trained here, because of the value of `key`.
  void refuse(LayerFieldValues& layer, std::string_view key, std::string_view supported) const;

  /// "hidden_act silu", "rms_norm_eps 1e-06", ..., each once.
  const std::vector<std::string>& taken() const { return taken_; }

 private:
  void take(const std::string& what);
  void add_scaling(LayerFieldValues& attention, const JsonValue& scaling, std::int64_t positions);
  /// Returns the window of a class that has one in layer `k`; 0: none.
  std::int64_t window_of(LayerFieldValues& attention, Windows windows, std::int64_t k) const;

  const ConfigReader& config_;
  std::vector<std::string> taken_;
};

}  // namespace plumb
