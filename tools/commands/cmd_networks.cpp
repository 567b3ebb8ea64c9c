#include <algorithm>
#include <cmath>
#include <vector>

#include <nlohmann/json.hpp>

#include "models/import/load_network.hpp"
#include "models/network/network_io.hpp"
#include "models/stages/network_costs.hpp"
#include "tools/commands/command.hpp"
#include "tools/options/arguments.hpp"
#include "tools/terminal/output_file.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/text_table.hpp"

namespace plumb {
namespace {

/// Model FLOPs of one sample: F, I and W.
double flops_of(const Network& network) { return model_flops(network, {1, network.sequence}); }

/// Routed experts of its widest layer; 0: none.
std::int64_t experts_of(const std::vector<LayerSpec>& layers) {
  std::int64_t most = 0;
  for (const LayerSpec& layer : layers) most = std::max({most, layer.experts, experts_of(layer.body)});
  return most;
}

std::string networks_json() {
  auto rows = nlohmann::ordered_json::array();
  for (const std::string_view name : builtin_networks()) {
    const Network network = load_network(name);
    rows.push_back({{"name", name},
                    {"parameters", parameter_count(network)},
                    {"layers", network.layers.size()},
                    {"experts", experts_of(network.layers)},
                    {"model_flops_per_sample", flops_of(network)},
                    {"sequence", network.sequence},
                    {"samples", network.samples},
                    {"source", network.source}});
  }
  return rows.dump(2) + "\n";
}

std::string networks_table() {
  TextTable table({{"name"},
                   {"parameters", '>'},
                   {"layers", '>'},
                   {"experts", '>'},
                   {"tokens per sample", '>'},
                   {"FLOPs per sample", '>'},
                   {"source"}});
  for (const std::string_view name : builtin_networks()) {
    const Network network = load_network(name);
    const std::int64_t experts = experts_of(network.layers);
    table.add_row({std::string(name), count_text(parameter_count(network)), std::to_string(network.layers.size()),
                   experts == 0 ? "-" : std::to_string(experts), std::to_string(network.sequence),
                   count_text(std::llround(flops_of(network))), first_clause(network.source)});
  }
  return table.to_string();
}

}  // namespace

ExitStatus run_networks(const CommandLine& arguments) {
  ArgumentParser parser("networks [NAME|FILE] [options]",
                        "Lists the built-in models, or prints the document of one (its layers).");
  std::vector<std::string> names;
  bool json = false;
  parser.positionals(names, 0, "NAME").flag("json", json, "print the list as JSON");
  if (!parser.parse(arguments)) return ExitStatus::kDone;
  for (const std::string& name : names) print(network_to_json(load_network(name)));
  if (names.empty()) print(json ? networks_json() : networks_table());
  return ExitStatus::kDone;
}

}  // namespace plumb
