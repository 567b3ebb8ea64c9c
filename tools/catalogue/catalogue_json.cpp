#include "tools/catalogue/catalogue_json.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "models/cluster/cluster_io.hpp"
#include "models/import/load_network.hpp"
#include "models/kernels/kernel_rates.hpp"
#include "models/kernels/kernel_rates_io.hpp"
#include "models/network/network_io.hpp"
#include "models/stages/network_costs.hpp"
#include "tools/terminal/options_json.hpp"

namespace plumb {
namespace {

/// "group=N: microbatches per group (default: p); key=a|b: ...".
std::string options_in_one_line(const ScheduleSpec& spec) {
  std::string text;
  for (const NamedOption& option : spec.all_options()) {
    text += (text.empty() ? "" : "; ") + std::string(option.name) + "=" + values_text(option) + ": " +
            std::string(option.meaning) + " (default: " + default_text(option) + ")";
  }
  return text;
}

}  // namespace

double sample_flops(const Network& network) { return model_flops(network, {1, network.sequence}); }

std::int64_t most_experts(const std::vector<LayerSpec>& layers) {
  std::int64_t most = 0;
  for (const LayerSpec& layer : layers) most = std::max({most, layer.experts, most_experts(layer.body)});
  return most;
}

std::string schedules_json(const std::vector<const ScheduleSpec*>& specs) {
  auto rows = nlohmann::ordered_json::array();
  for (const ScheduleSpec* spec : specs) {
    rows.push_back({{"name", spec->name},
                    {"summary", spec->summary},
                    {"year", spec->year},
                    {"source", spec->source},
                    {"synchronous", spec->synchronous},
                    {"weights", spec->weights},
                    {"placement", spec->placement},
                    {"needs", spec->needs},
                    {"options", options_in_one_line(*spec)},
                    {"option_list", nlohmann::ordered_json::parse(options_json(spec->all_options()))},
                    {"alias_of", spec->alias_of}});
  }
  return rows.dump(2) + "\n";
}

std::string networks_json() {
  auto rows = nlohmann::ordered_json::array();
  for (const std::string_view name : builtin_networks()) {
    const Network network = load_network(name);
    rows.push_back({{"name", name},
                    {"parameters", parameter_count(network)},
                    {"layers", network.layers.size()},
                    {"experts", most_experts(network.layers)},
                    {"model_flops_per_sample", sample_flops(network)},
                    {"sequence", network.sequence},
                    {"samples", network.samples},
                    {"source", network.source}});
  }
  return rows.dump(2) + "\n";
}

std::string clusters_json() {
  auto rows = nlohmann::ordered_json::array();
  for (const std::string_view name : builtin_clusters()) {
    if (name == kMeasuredCluster) {
      rows.push_back({{"name", name}, {"source", "this machine, measured when the cluster is used"}});
      continue;
    }
    const Cluster cluster = load_cluster(name);
    rows.push_back({{"name", name},
                    {"devices", cluster.devices.size()},
                    {"devices_per_node", cluster.devices_per_node},
                    {"device", cluster.devices.front().name},
                    {"flops_per_s", cluster.devices.front().flops_per_s},
                    {"intra_node_bytes_per_s", cluster.intra_node.bytes_per_s},
                    {"inter_node_bytes_per_s", cluster.inter_node.bytes_per_s},
                    {"rates", kernel_rates_of(cluster.devices.front()).source},
                    {"source", cluster.source}});
  }
  return rows.dump(2) + "\n";
}

std::vector<const ScheduleSpec*> schedules_called(const std::vector<std::string>& names) {
  std::vector<const ScheduleSpec*> rows;
  for (const std::string& name : names) rows.push_back(&schedule_named(name));
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    if (names.empty()) rows.push_back(&spec);
  }
  return rows;
}

}  // namespace plumb
