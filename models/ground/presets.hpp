#pragma once

#include <span>
#include <string_view>

namespace plumb {

/// One file of models/presets/, compiled into the library.
struct Preset {
  std::string_view name;  ///< name of the file, without its extension
  std::string_view json;
};

/// models/presets/networks, sorted by name.
std::span<const Preset> network_presets();

/// models/presets/clusters, sorted by name.
std::span<const Preset> cluster_presets();

/// models/presets/devices, sorted by name.
std::span<const Preset> device_presets();

/// models/presets/layouts, sorted by name: published steps of jobs by their layout.
std::span<const Preset> layout_presets();

/// models/presets/traces, sorted by name: when nodes of a cloud came and went, as lines of `NodeTrace`.
std::span<const Preset> trace_presets();

}  // namespace plumb
