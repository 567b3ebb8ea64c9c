#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/cluster/cluster.hpp"

namespace plumb {

/// Reads a cluster document (models/cluster/CLUSTER_DOCUMENT.md); `finish()` has been called. Throws `Error` with line,
/// column and path.
Cluster cluster_from_json(std::string_view text, std::string_view file_name);

/// Returns the document of `cluster`. Reading it gives a cluster with the same devices and networks.
std::string cluster_to_json(const Cluster& cluster);

/// Returns the names of the built-in clusters, sorted; "host" among them.
std::vector<std::string_view> builtin_clusters();

/// Returns a built-in cluster, or the document at a path (anything with a '/' or ending in ".json").
///
/// "a100" is the preset as it stands; "a100-4x8" has 4 nodes of 8 such devices; "host" measures this machine
/// (models/cluster/host.hpp), which takes about half a second. Throws `Error` for unknown names, with the nearest one,
/// and impossible shapes.
Cluster load_cluster(std::string_view name_or_path);

/// `cluster` with as many of its nodes as `devices` need; fewer devices than a node has are one smaller node. Throws
/// `Error` where several nodes are needed that are not connected.
Cluster sized_cluster(Cluster cluster, std::int64_t devices);

}  // namespace plumb
