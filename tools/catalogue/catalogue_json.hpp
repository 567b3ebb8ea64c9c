#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/network/network.hpp"
#include "schedules/catalogue/registry.hpp"

namespace plumb {

/// Model FLOPs of one sample: F, I and W.
double sample_flops(const Network& network);

/// Routed experts of the layer with the most; 0: none.
std::int64_t most_experts(const std::vector<LayerSpec>& layers);

/// The cluster that is measured when it is used, which takes time, so that lists leave out its figures.
inline constexpr std::string_view kMeasuredCluster = "host";

/// Everything known about schedules, about the built-in networks and about the built-in clusters, as JSON arrays.
std::string schedules_json(const std::vector<const ScheduleSpec*>& specs);
std::string networks_json();
std::string clusters_json();

/// The rows of the given names in their order; without names all rows. Throws `Error` for unknown ones.
std::vector<const ScheduleSpec*> schedules_called(const std::vector<std::string>& names);

}  // namespace plumb
