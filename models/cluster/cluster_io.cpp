#include "models/cluster/cluster_io.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "models/cluster/contention_io.hpp"
#include "models/cluster/host.hpp"
#include "models/cluster/runtime_costs_io.hpp"
#include "models/ground/error.hpp"
#include "models/ground/json_reader.hpp"
#include "models/ground/plain_name.hpp"
#include "models/ground/presets.hpp"
#include "models/ground/text_file.hpp"

namespace plumb {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kMostDevices = 65536;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 60;
constexpr std::size_t kMostClusterName = 100;
constexpr double kMostRate = 1e24;
/// The fastest link; times on it are counted with whole bytes per second in 63 bits.
constexpr double kMostLinkRate = 8e18;
constexpr double kLeastShare = 1e-6;

/// Numbers of a device in the document; required ones have no default in `DeviceSpec`.
struct DeviceNumber {
  std::string_view key;
  double DeviceSpec::*field;
  double least;
  double most;
  bool required;
};

constexpr std::array<DeviceNumber, 7> kDeviceNumbers{{
    {"flops_per_s", &DeviceSpec::flops_per_s, 1, kMostRate, true},
    {"memory_bytes_per_s", &DeviceSpec::memory_bytes_per_s, 1, kMostRate, true},
    {"compute_efficiency", &DeviceSpec::compute_efficiency, kLeastShare, 1, false},
    {"memory_efficiency", &DeviceSpec::memory_efficiency, kLeastShare, 1, false},
    {"speed", &DeviceSpec::speed, kLeastShare, 1e6, false},
    {"jitter", &DeviceSpec::jitter, 0, 10, false},
    {"price_per_hour", &DeviceSpec::price_per_hour, 0, 1e9, false},
}};

/// Overwrites the fields of `device` that `json` has.
void read_device(const JsonValue& json, bool all_required, DeviceSpec& device) {
  for (const DeviceNumber& number : kDeviceNumbers) {
    const auto value = json.find(number.key);
    if (value) device.*number.field = value->number(number.least, number.most);
    if (!value && number.required && all_required) json.at(number.key);
  }
  if (const auto name = json.find("name")) {
    if (name->text().size() > kMostClusterName) name->fail("expected a name of at most 100 characters");
    device.name = name->text();  // each device has a copy
  }
  if (const auto bytes = json.find("memory_bytes")) device.memory_bytes = bytes->integer(0, kMostBytes);
}

std::vector<std::string_view> device_keys(std::string_view more) {
  std::vector<std::string_view> keys{"name", "memory_bytes"};
  for (const DeviceNumber& number : kDeviceNumbers) keys.push_back(number.key);
  if (!more.empty()) keys.push_back(more);
  return keys;
}

Cluster::Network read_network(const JsonValue& json) {
  json.allow_only({"latency_ns", "bytes_per_s", "shared", "half_duplex", "shared_bytes_per_s"});
  Cluster::Network network;
  network.latency_ns = json.at("latency_ns").integer(0, 1'000'000'000'000);
  network.bytes_per_s = json.at("bytes_per_s").number(1, kMostLinkRate);
  if (const auto shared = json.find("shared")) network.shared = shared->boolean();
  if (const auto half = json.find("half_duplex")) network.half_duplex = half->boolean();
  if (const auto together = json.find("shared_bytes_per_s")) {
    if (!network.shared) together->fail("belongs to a shared network, expected \"shared\": true as well");
    network.shared_bytes_per_s = together->number(1, kMostLinkRate);
  }
  return network;
}

HostLink read_host_link(const JsonValue& json) {
  json.allow_only({"latency_ns", "bytes_per_s", "half_duplex", "devices_per_link", "host_bytes_per_s"});
  HostLink link;
  link.latency_ns = json.at("latency_ns").integer(0, 1'000'000'000'000);
  link.bytes_per_s = json.at("bytes_per_s").number(1, kMostLinkRate);
  if (const auto half = json.find("half_duplex")) link.half_duplex = half->boolean();
  if (const auto devices = json.find("devices_per_link")) {
    link.devices_per_link = static_cast<std::int32_t>(devices->integer(1, kMostDevices));
  }
  if (const auto host = json.find("host_bytes_per_s")) link.host_bytes_per_s = host->number(1, kMostLinkRate);
  return link;
}

/// A whole rate is written without fraction.
Json number_to_json(double value) {
  if (std::abs(value) < 1e15 && value == std::floor(value)) return static_cast<std::int64_t>(value);
  return value;
}

/// Returns the fields of `device` that differ from `base`.
Json device_to_json(const DeviceSpec& device, const DeviceSpec& base) {
  Json json = Json::object();
  if (device.name != base.name) json["name"] = device.name;
  for (const DeviceNumber& number : kDeviceNumbers) {
    if (device.*number.field != base.*number.field) {
      json[std::string(number.key)] = number_to_json(device.*number.field);
    }
  }
  if (device.memory_bytes != base.memory_bytes) json["memory_bytes"] = device.memory_bytes;
  return json;
}

Json network_to_json(const Cluster::Network& network) {
  Json json{{"latency_ns", network.latency_ns},
            {"bytes_per_s", number_to_json(network.bytes_per_s)},
            {"shared", network.shared},
            {"half_duplex", network.half_duplex}};
  if (network.shared_bytes_per_s > 0) json["shared_bytes_per_s"] = number_to_json(network.shared_bytes_per_s);
  return json;
}

Json host_link_to_json(const HostLink& link) {
  Json json{{"latency_ns", link.latency_ns},
            {"bytes_per_s", number_to_json(link.bytes_per_s)},
            {"half_duplex", link.half_duplex},
            {"devices_per_link", link.devices_per_link}};
  if (link.host_bytes_per_s > 0) json["host_bytes_per_s"] = number_to_json(link.host_bytes_per_s);
  return json;
}

struct Shape {
  std::int64_t nodes = 1;
  std::int64_t devices_per_node = 1;
};

/// "4x8" of "a100-4x8".
std::optional<Shape> parse_shape(std::string_view text) {
  Shape shape;
  const std::size_t cross = text.find('x');
  if (cross == std::string_view::npos) return std::nullopt;
  const auto read = [](std::string_view digits, std::int64_t& value) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc{} && end == digits.data() + digits.size();
  };
  if (!read(text.substr(0, cross), shape.nodes)) return std::nullopt;
  if (!read(text.substr(cross + 1), shape.devices_per_node)) return std::nullopt;
  return shape;
}

void refuse_impossible(const Shape& shape, std::string_view where) {
  const bool possible = shape.nodes >= 1 && shape.devices_per_node >= 1 && shape.nodes <= kMostDevices &&
                        shape.devices_per_node <= kMostDevices && shape.nodes * shape.devices_per_node <= kMostDevices;
  if (!possible) {
    throw Error(std::string(where) + ": expected at least 1 node of at least 1 device and at most " +
                std::to_string(kMostDevices) + " devices");
  }
}

void reshape(Cluster& cluster, const Shape& shape, std::string_view name) {
  refuse_impossible(shape, "cluster '" + std::string(name) + "'");
  if (shape.nodes > 1 && cluster.inter_node.bytes_per_s == 0) {
    throw Error("cluster '" + std::string(name) + "': its nodes are not connected, expected 1 node");
  }
  const DeviceSpec device = cluster.devices.front();
  cluster.name = name;
  cluster.devices_per_node = static_cast<std::int32_t>(shape.devices_per_node);
  cluster.devices.assign(static_cast<std::size_t>(shape.nodes * shape.devices_per_node), device);
  cluster.finish();
}

/// What only some devices cost would say nothing about a plan.
void check_prices(const Cluster& cluster, const JsonValue& root) {
  const auto has_price = [](const DeviceSpec& device) { return device.price_per_hour > 0; };
  if (std::ranges::none_of(cluster.devices, has_price)) return;
  const auto without = std::ranges::find_if_not(cluster.devices, has_price);
  if (without == cluster.devices.end()) return;
  root.fail("device " + std::to_string(without - cluster.devices.begin()) +
            " has no price_per_hour while others have, expected a price above 0 for all devices or none");
}

std::optional<Cluster> find_cluster(std::string_view name) {
  const std::string plain = plain_name(name);
  if (plain == "host") return measure_host();
  for (const Preset& preset : cluster_presets()) {
    if (plain_name(preset.name) == plain) return cluster_from_json(preset.json, std::string(preset.name) + ".json");
  }
  return std::nullopt;
}

std::optional<std::int64_t> device_count(std::string_view digits) {
  std::int64_t devices = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), devices);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return devices >= 1 && devices <= kMostDevices ? std::optional(devices) : std::nullopt;
}

/// "h100-64", "h100x64", "h100:64" and "64xh100": a built-in cluster of so many devices, on as few nodes as have room
/// and equally many; nothing where these would be no more than half full.
std::optional<Cluster> find_sized_cluster(std::string_view name) {
  const std::size_t last = name.find_last_of("-x:");
  const std::size_t first = name.find_first_of("-x:");
  if (last == std::string_view::npos) return std::nullopt;
  std::string_view base = name.substr(0, last);
  std::optional<std::int64_t> devices = device_count(name.substr(last + 1));
  if (!devices) {
    base = name.substr(first + 1);
    devices = device_count(name.substr(0, first));
  }
  if (!devices) return std::nullopt;
  for (const Preset& preset : cluster_presets()) {
    if (plain_name(preset.name) != plain_name(base)) continue;
    Cluster cluster = cluster_from_json(preset.json, preset.name);
    const std::int64_t per_node = cluster.devices_per_node;
    const std::int64_t fewest = (*devices + per_node - 1) / per_node;
    std::int64_t nodes = fewest;
    while (*devices % nodes != 0 && nodes < 2 * fewest) ++nodes;
    if (*devices % nodes != 0) return std::nullopt;
    const Shape shape{nodes, *devices / nodes};
    reshape(
        cluster, shape,
        std::string(preset.name) + "-" + std::to_string(shape.nodes) + "x" + std::to_string(shape.devices_per_node));
    return cluster;
  }
  return std::nullopt;
}

/// Throws `Error` for a name that is no built-in cluster's.
[[noreturn]] void refuse_unknown(std::string_view name) {
  try {
    throw_unknown("cluster", name, builtin_clusters());
  } catch (const Error& error) {
    const std::string message = error.what();
    const bool is_list = message.find("expected one of") != std::string::npos;
    throw Error(message + (is_list ? "; or a file that describes another one, FILE.json" : ""));
  }
}

}  // namespace

Cluster cluster_from_json(std::string_view text, std::string_view file_name) {
  const JsonDocument document{std::string(text), std::string(file_name)};
  const JsonValue root = document.root();
  check_format(root, "plumbline-cluster", 1);
  root.allow_only({"format", "version", "name", "source", "nodes", "devices_per_node", "device", "overrides",
                   "intra_node", "inter_node", "host_link", "runtime", "contention"});
  Cluster cluster;
  cluster.name = root.at("name").text();
  if (const auto source = root.find("source")) cluster.source = source->text();
  const Shape shape{root.at("nodes").integer(1, kMostDevices), root.at("devices_per_node").integer(1, kMostDevices)};
  refuse_impossible(shape, root.where());
  cluster.devices_per_node = static_cast<std::int32_t>(shape.devices_per_node);

  const JsonValue device = root.at("device");
  device.allow_only(device_keys(""));
  DeviceSpec spec;
  read_device(device, true, spec);
  cluster.devices.assign(static_cast<std::size_t>(shape.nodes * shape.devices_per_node), spec);
  if (const auto overrides = root.find("overrides")) {
    for (const JsonValue& item : overrides->elements()) {
      item.allow_only(device_keys("device"));
      const std::int64_t at = item.at("device").integer(0, static_cast<std::int64_t>(cluster.devices.size()) - 1);
      read_device(item, false, cluster.devices[static_cast<std::size_t>(at)]);
    }
  }
  check_prices(cluster, root);
  if (const auto intra = root.find("intra_node")) cluster.intra_node = read_network(*intra);
  if (shape.devices_per_node > 1) root.at("intra_node");
  if (const auto inter = root.find("inter_node")) cluster.inter_node = read_network(*inter);
  if (shape.nodes > 1) root.at("inter_node");
  if (const auto host = root.find("host_link")) cluster.host_link = read_host_link(*host);
  if (const auto runtime = root.find("runtime")) cluster.runtime = read_runtime_costs(*runtime);
  if (const auto contention = root.find("contention")) cluster.contention = read_contention(*contention);
  cluster.finish();
  return cluster;
}

std::string cluster_to_json(const Cluster& cluster) {
  const DeviceSpec& first = cluster.devices.front();
  Json json{{"format", "plumbline-cluster"},
            {"version", 1},
            {"name", cluster.name},
            {"source", cluster.source},
            {"nodes", static_cast<std::int32_t>(cluster.devices.size()) / cluster.devices_per_node},
            {"devices_per_node", cluster.devices_per_node},
            {"device", device_to_json(first, {})}};
  Json overrides = Json::array();
  for (std::size_t d = 0; d < cluster.devices.size(); ++d) {
    if (cluster.devices[d] == first) continue;
    Json item{{"device", d}};
    item.update(device_to_json(cluster.devices[d], first));
    overrides.push_back(std::move(item));
  }
  if (!overrides.empty()) json["overrides"] = std::move(overrides);
  if (cluster.intra_node.bytes_per_s > 0) json["intra_node"] = network_to_json(cluster.intra_node);
  if (cluster.inter_node.bytes_per_s > 0) json["inter_node"] = network_to_json(cluster.inter_node);
  if (cluster.host_link.bytes_per_s > 0) json["host_link"] = host_link_to_json(cluster.host_link);
  if (cluster.runtime != RuntimeCosts{}) json["runtime"] = Json::parse(runtime_costs_to_json(cluster.runtime));
  if (!cluster.contention.empty()) json["contention"] = Json::parse(contention_to_json(cluster.contention));
  return json.dump(2) + "\n";
}

std::vector<std::string_view> builtin_clusters() {
  std::vector<std::string_view> names{"host"};
  for (const Preset& preset : cluster_presets()) names.push_back(preset.name);
  std::sort(names.begin(), names.end());
  return names;
}

Cluster load_cluster(std::string_view name_or_path) {
  if (is_document_path(name_or_path))
    return cluster_from_json(read_text_file(name_or_path, kClusterFile), name_or_path);
  if (auto cluster = find_cluster(name_or_path)) return *std::move(cluster);
  const std::string name = dashed_name(name_or_path);
  const std::size_t dash = name.rfind('-');
  const auto shape = dash == std::string::npos ? std::nullopt : parse_shape(name.substr(dash + 1));
  const std::string base = shape ? name.substr(0, dash) : name;
  auto cluster = shape ? find_cluster(base) : std::nullopt;
  if (auto sized = shape ? std::nullopt : find_sized_cluster(base)) return *std::move(sized);
  if (!cluster) refuse_unknown(base);
  reshape(*cluster, *shape, cluster->name + name.substr(dash));
  return *std::move(cluster);
}

Cluster sized_cluster(Cluster cluster, std::int64_t devices) {
  const std::int64_t per_node = std::clamp<std::int64_t>(devices, 1, cluster.devices_per_node);
  const Shape shape{(devices + per_node - 1) / per_node, per_node};
  const std::string name = cluster.name;
  reshape(cluster, shape, name);
  return cluster;
}

}  // namespace plumb
