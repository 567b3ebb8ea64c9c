#pragma once

#include <span>
#include <string_view>

namespace plumb {

/// One file of models/presets/, compiled into the library.
struct Preset {
  std::string_view name;  ///< of the file, without ".json"
  std::string_view json;
};

/// models/presets/networks, sorted by name.
std::span<const Preset> network_presets();

/// models/presets/clusters, sorted by name.
std::span<const Preset> cluster_presets();

/// models/presets/devices, sorted by name.
std::span<const Preset> device_presets();

}  // namespace plumb
