#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "models/network/network.hpp"

namespace plumb {

/// A number of a layer kind in the network document.
struct LayerNumber {
  /// kBefore: as the layer that is read makes it. kKernel: as large as the window; kHalfKernel: so that the image keeps
  /// its size.
  enum class Default : std::uint8_t { kRequired, kZero, kOne, kNetwork, kBefore, kFourWidths, kKernel, kHalfKernel };

  std::string_view key;
  std::int64_t LayerSpec::*field;
  std::int64_t least;
  std::int64_t most;
  Default when_missing;
};

/// A real number of a layer kind in the network document, from `least` to `most`.
struct LayerReal {
  std::string_view key;
  double (*get)(const LayerSpec&);
  void (*set)(LayerSpec&, double);
  double least;
  double most;
};

/// A switch of a layer kind in the network document.
struct LayerSwitch {
  std::string_view key;
  bool LayerSpec::*field;
};

/// What the network document says about one layer kind, besides `kind` and `name`.
struct LayerFields {
  LayerKind kind;
  std::string_view name;
  std::span<const LayerNumber> numbers;
  std::span<const LayerSwitch> switches;
  std::span<const LayerReal> reals = {};
};

/// Returns the fields of every kind, in the order of `LayerKind`. Reader and writer both follow this table.
std::span<const LayerFields> layer_fields();

/// Returns the names of `Activation` in the network document, in the order of the enumerators; the first one is not
/// written.
std::span<const std::string_view> activation_names();
/// Returns whether layers of the kind have an activation.
constexpr bool has_activation(LayerKind kind) { return kind == LayerKind::kMlp || kind == LayerKind::kMoe; }

/// A figure of a profiled layer in the network document.
struct ProfiledField {
  std::string_view key;
  std::int64_t ProfiledFigures::*field;
};

inline constexpr std::array<ProfiledField, 7> kProfiledFields{{
    {"f_ns", &ProfiledFigures::f_ns},
    {"i_ns", &ProfiledFigures::i_ns},
    {"w_ns", &ProfiledFigures::w_ns},
    {"parameter_bytes", &ProfiledFigures::parameter_bytes},
    {"output_bytes", &ProfiledFigures::output_bytes},
    {"kept_for_input_grad_bytes", &ProfiledFigures::kept_for_input_grad_bytes},
    {"kept_for_weight_grad_bytes", &ProfiledFigures::kept_for_weight_grad_bytes},
}};

}  // namespace plumb
