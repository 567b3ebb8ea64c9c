#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/import/config_arithmetic.hpp"
#include "models/import/config_reader.hpp"
#include "models/import/model_families.hpp"

namespace plumb {

/// The layers that a configuration of a family describes, with the fields of the network document.
class ConfigLayers {
 public:
  /// All three must outlive it.
  ConfigLayers(const ConfigReader& config, const ModelFamily& family, ConfigArithmetic& arithmetic);

  std::int64_t width() const { return width_; }
  std::int64_t vocabulary() const { return vocabulary_; }

  LayerFieldValues embedding() const;
  LayerFieldValues norm() const { return norm_; }
  LayerFieldValues head(bool tied) const;

  /// What stands in front of the MLP in layer `k`: attention, latent attention or a recurrence. `positions`: whether
  /// its queries and keys turn.
  LayerFieldValues mixer(Mixer kind, std::int64_t k, bool positions) const;
  LayerFieldValues mamba() const;
  LayerFieldValues mlp() const;
  LayerFieldValues experts() const;

 private:
  LayerFieldValues attention(Mixer kind, std::int64_t k, bool positions) const;
  LayerFieldValues latent(std::int64_t k) const;
  LayerFieldValues recurrence(Mixer kind) const;
  std::int64_t mlp_hidden() const;
  void set_biases(LayerFieldValues& attention) const;
  void set_shared(LayerFieldValues& experts) const;

  const ConfigReader& config_;
  const ModelFamily& family_;
  ConfigArithmetic& arithmetic_;
  std::int64_t width_;
  std::int64_t vocabulary_;
  LayerFieldValues norm_;
};

}  // namespace plumb
