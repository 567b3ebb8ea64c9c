#include "models/cluster/cluster.hpp"

#include <string>

#include <doctest/doctest.h>

#include "models/cluster/cluster_io.hpp"
#include "models/cluster/host.hpp"
#include "models/ground/presets.hpp"
#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("models");

using namespace plumb;
using plumb::testing::error_message;

namespace {

/// Two nodes of two devices.
Cluster small(bool intra_shared, bool inter_shared, bool half_duplex) {
  Cluster cluster;
  cluster.devices.resize(4);
  cluster.devices_per_node = 2;
  cluster.intra_node = {100, 8e9, intra_shared, half_duplex};
  cluster.inter_node = {1000, 1e9, inter_shared, half_duplex};
  cluster.finish();
  return cluster;
}

std::string cluster_document(const std::string& fields) {
  return "{\"format\": \"plumbline-cluster\", \"version\": 1, \"name\": \"c\", " + fields + "}";
}

std::string cluster_refusal(const std::string& fields) {
  return error_message([&] { cluster_from_json(cluster_document(fields), "c.json"); });
}

}  // namespace

TEST_CASE("devices of a node use its network, devices of different nodes the one between") {
  const Cluster cluster = small(false, false, false);
  CHECK(cluster.route(DeviceId{0}, DeviceId{1}) == Route{100, 8e9, {}, false});
  CHECK(cluster.route(DeviceId{1}, DeviceId{2}) == Route{1000, 1e9, {}, false});
  CHECK(cluster.shared_links.empty());
  CHECK(small(false, false, true).route(DeviceId{3}, DeviceId{2}).half_duplex);
}

TEST_CASE("a shared network is one bus in a node, and one way out and one way in of every node") {
  const Cluster cluster = small(true, true, false);
  REQUIRE(cluster.shared_links.size() == 6);
  const auto names_on = [&](int src, int dst) {
    std::string names;
    for (const std::int32_t link : cluster.route(DeviceId{src}, DeviceId{dst}).shared) {
      names += cluster.shared_links[static_cast<std::size_t>(link)].name + " ";
    }
    return names;
  };
  CHECK(names_on(0, 1) == "node0.bus ");
  CHECK(names_on(3, 2) == "node1.bus ");
  CHECK(names_on(0, 2) == "node0.out node1.in ");
  CHECK(names_on(3, 1) == "node1.out node0.in ");
  CHECK(cluster.shared_links[0].bytes_per_s == 8e9);
  CHECK(cluster.shared_links[1].bytes_per_s == 1e9);
}

TEST_CASE("a half-duplex card is one link for both directions") {
  const Cluster cluster = small(false, true, true);
  REQUIRE(cluster.shared_links.size() == 2);
  CHECK(cluster.shared_links[1].name == "node1.card");
  CHECK(cluster.route(DeviceId{0}, DeviceId{2}).shared == std::vector<std::int32_t>{0, 1});
  CHECK(cluster.route(DeviceId{2}, DeviceId{0}).shared == std::vector<std::int32_t>{1, 0});
  CHECK_FALSE(cluster.route(DeviceId{2}, DeviceId{0}).half_duplex);
}

TEST_CASE("neighbours on one switch share its way to the host, and all copies of a node the host's memory") {
  Cluster cluster = small(true, true, false);
  cluster.host_link = {.latency_ns = 7, .bytes_per_s = 2e9, .devices_per_link = 2, .host_bytes_per_s = 3e9};
  cluster.devices.resize(8);
  cluster.devices_per_node = 4;
  cluster.finish();
  const auto names_on = [&](int device, bool to_host) {
    const Route route = cluster.host_route(DeviceId{device}, to_host);
    CHECK(route.latency_ns == 7);
    CHECK(route.bytes_per_s == 2e9);
    std::string names;
    for (const std::int32_t link : route.shared) {
      names += cluster.shared_links[static_cast<std::size_t>(link)].name + " ";
    }
    return names;
  };
  CHECK(names_on(0, true) == "node0.host0.out node0.host.memory ");
  CHECK(names_on(1, false) == "node0.host0.in node0.host.memory ");
  CHECK(names_on(7, true) == "node1.host1.out node1.host.memory ");
  CHECK(cluster.route(DeviceId{0}, DeviceId{7}).shared ==
        small(true, true, false).route(DeviceId{0}, DeviceId{3}).shared);
  cluster.host_link = {.bytes_per_s = 2e9};
  cluster.finish();
  CHECK(cluster.host_route(DeviceId{0}, true).shared.empty());
  cluster.host_link.half_duplex = true;
  cluster.finish();
  CHECK(cluster.host_route(DeviceId{5}, true) == cluster.host_route(DeviceId{5}, false));
  CHECK(cluster.host_route(DeviceId{5}, true).shared.size() == 1);
}

TEST_CASE("a built-in cluster has the name of its file, its source, and survives writing and reading") {
  REQUIRE(cluster_presets().size() >= 10);
  for (const Preset& preset : cluster_presets()) {
    CAPTURE(preset.name);
    const Cluster cluster = load_cluster(preset.name);
    CHECK(cluster.name == preset.name);
    CHECK_FALSE(cluster.source.empty());
    const Cluster again = cluster_from_json(cluster_to_json(cluster), "again.json");
    CHECK(again.devices == cluster.devices);
    CHECK(again.devices_per_node == cluster.devices_per_node);
    CHECK(again.intra_node == cluster.intra_node);
    CHECK(again.inter_node == cluster.inter_node);
    CHECK(again.host_link == cluster.host_link);
    CHECK(cluster.host_link.bytes_per_s > 0);
    CHECK(again.shared_links == cluster.shared_links);
  }
}

TEST_CASE("a shape after the name makes that many nodes and devices") {
  const Cluster cluster = load_cluster("a100-4x8");
  CHECK(cluster.name == "a100-4x8");
  CHECK(cluster.devices.size() == 32);
  CHECK(cluster.devices_per_node == 8);
  CHECK(cluster.route(DeviceId{7}, DeviceId{8}).bytes_per_s == cluster.inter_node.bytes_per_s);
  CHECK(load_cluster("pipedream-a-2x4").devices.size() == 8);
  CHECK(load_cluster("a100").devices.size() == 8);
}

TEST_CASE("a number of devices behind the name fills as few nodes as it can, all alike") {
  const auto nodes_of = [](const char* name) {
    const Cluster cluster = load_cluster(name);
    return std::pair(cluster.devices.size() / static_cast<std::size_t>(cluster.devices_per_node),
                     static_cast<std::size_t>(cluster.devices_per_node));
  };
  using Nodes = std::pair<std::size_t, std::size_t>;
  CHECK(nodes_of("a100-1") == Nodes{1, 1});
  CHECK(nodes_of("a100-8") == Nodes{1, 8});
  CHECK(nodes_of("a100-9") == Nodes{3, 3});  // two nodes would not be alike
  CHECK(nodes_of("a100-10") == Nodes{2, 5});
  CHECK(nodes_of("a100-16") == Nodes{2, 8});
  CHECK(nodes_of("16-a100") == Nodes{2, 8});
  CHECK_THROWS_AS(load_cluster("a100-11"), Error);  // eleven nodes of one
}

TEST_CASE("impossible shapes and unknown clusters are refused") {
  CHECK(error_message([] { load_cluster("a100-0x8"); }) ==
        "cluster 'a100-0x8': expected at least 1 node of at least 1 device and at most 65536 devices");
  CHECK(error_message([] { load_cluster("a100-1000000000x1000000000"); }).find("at most 65536 devices") !=
        std::string::npos);
  CHECK(error_message([] { load_cluster("torchgpipe-2x8"); }) ==
        "cluster 'torchgpipe-2x8': its nodes are not connected, expected 1 node");
  CHECK(error_message([] { load_cluster("b100-2x8"); }) == "unknown cluster 'b100' (did you mean 'a100'?)");
  CHECK(error_message([] { load_cluster("zero-buble"); }) ==
        "unknown cluster 'zero-buble' (did you mean 'zero-bubble'?)");
}

TEST_CASE("single devices may differ") {
  const Cluster cluster = cluster_from_json(
      cluster_document(R"("nodes": 1, "devices_per_node": 3, "device": {"flops_per_s": 1e12, "memory_bytes_per_s": 1e9},
        "overrides": [{"device": 1, "speed": 0.5, "jitter": 0.1}, {"device": 2, "memory_bytes": 7}],
        "intra_node": {"latency_ns": 5, "bytes_per_s": 1e9})"),
      "c.json");
  CHECK(cluster.devices[0].speed == 1.0);
  CHECK(cluster.devices[1].speed == 0.5);
  CHECK(cluster.devices[1].jitter == 0.1);
  CHECK(cluster.devices[1].flops_per_s == 1e12);
  CHECK(cluster.devices[2].memory_bytes == 7);
  CHECK(cluster_from_json(cluster_to_json(cluster), "again.json").devices == cluster.devices);
}

TEST_CASE("a cluster document that says something wrong is refused at the place") {
  const std::string device = R"("device": {"flops_per_s": 1e12, "memory_bytes_per_s": 1e9})";
  CHECK(cluster_refusal(R"("nodes": 1, "devices_per_node": 1, "device": {"flops_per_s": 1e12})") ==
        "c.json:1:105: device: missing key 'memory_bytes_per_s'");
  CHECK(cluster_refusal(R"("nodes": 1, "devices_per_node": 2, )" + device) == "c.json:1:1: missing key 'intra_node'");
  CHECK(cluster_refusal(R"("nodes": 2, "devices_per_node": 1, )" + device) == "c.json:1:1: missing key 'inter_node'");
  CHECK(cluster_refusal(R"("nodes": 65536, "devices_per_node": 65536, )" + device).find("at most 65536 devices") !=
        std::string::npos);
  CHECK(cluster_refusal(R"("nodes": 1, "devices_per_node": 1, "overrides": [{"device": 1}], )" + device)
            .find("overrides[0].device: expected an integer from 0 to 0, found 1") != std::string::npos);
  for (const char* rate : {"0", "0.5"}) {
    CHECK(cluster_refusal(R"("nodes": 1, "devices_per_node": 1, "host_link": {"latency_ns": 1, "bytes_per_s": 1e9,
                              "host_bytes_per_s": )" +
                          std::string(rate) + "}, " + device)
              .find("host_link.host_bytes_per_s") != std::string::npos);
  }
  CHECK(cluster_refusal(R"("nodes": 1, "devices_per_node": 1, "device": {"flops": 1})").find("unknown key 'flops'") !=
        std::string::npos);
}

TEST_CASE("the host has a device per hardware thread, with rates above zero") {
  const Cluster host = measure_host();
  REQUIRE_FALSE(host.devices.empty());
  CHECK(host.devices_per_node == static_cast<std::int32_t>(host.devices.size()));
  CHECK(host.devices[0].flops_per_s > 1e6);
  CHECK(host.devices[0].memory_bytes_per_s > 1e6);
  CHECK(host.intra_node.bytes_per_s > 1e6);
  CHECK(cluster_from_json(cluster_to_json(host), "host.json").devices == host.devices);
}

TEST_CASE("prices are those of all devices or of none") {
  const auto cluster = [](const std::string& device, const std::string& override) {
    return cluster_from_json(R"({"format": "plumbline-cluster", "version": 1, "name": "priced", "nodes": 1,
        "devices_per_node": 2, "device": {"flops_per_s": 1e12, "memory_bytes_per_s": 1e12)" +
                                 device + R"(}, "overrides": [{"device": 1)" + override +
                                 R"(}], "intra_node": {"latency_ns": 1, "bytes_per_s": 1e9}})",
                             "priced.json");
  };
  const Cluster priced = cluster(R"(, "price_per_hour": 2.5)", R"(, "price_per_hour": 1)");
  CHECK(priced.devices[0].price_per_hour == 2.5);
  CHECK(priced.devices[1].price_per_hour == 1);
  CHECK(cluster_from_json(cluster_to_json(priced), "written.json").devices == priced.devices);
  CHECK_THROWS_WITH_AS(cluster("", R"(, "price_per_hour": 1)"),
                       "priced.json:1:1: device 0 has no price_per_hour while others have, expected a price above 0 "
                       "for all devices or none",
                       Error);
  for (const std::string_view name : builtin_clusters()) {
    if (name != "host") CHECK(load_cluster(name).devices.front().price_per_hour == 0);
  }
}

TEST_CASE("names of clusters ignore capital letters, dashes and underscores, with a size and without") {
  for (const char* name : {"H100", "h_100"})
    CHECK(cluster_to_json(load_cluster(name)) == cluster_to_json(load_cluster("h100")));
  for (const char* name : {"H100-4X8", "h100_4x8", "h100 4x8"}) {
    CAPTURE(name);
    CHECK(cluster_to_json(load_cluster(name)) == cluster_to_json(load_cluster("h100-4x8")));
    CHECK(load_cluster(name).name == "h100-4x8");
  }
  for (const char* name : {"H100-64", "h100x64", "h100:64", "64xh100"}) {  // so many devices
    CAPTURE(name);
    CHECK(cluster_to_json(load_cluster(name)) == cluster_to_json(load_cluster("h100-8x8")));
  }
  CHECK(load_cluster("h100-4").name == "h100-1x4");
  CHECK(load_cluster("h100-60").name == "h100-10x6");  // 8 nodes cannot have equally many
  CHECK_THROWS_WITH_AS(load_cluster("h100-13"), doctest::Contains("unknown cluster 'h100-13'"), Error);
  CHECK_THROWS_WITH_AS(load_cluster("h100-0"), doctest::Contains("did you mean"), Error);
  CHECK_THROWS_WITH_AS(load_cluster("torchgpipe-16"), doctest::Contains("its nodes are not connected"), Error);
  CHECK_THROWS_WITH_AS(load_cluster("dgx-h100"), doctest::Contains("did you mean 'h100'"), Error);
  CHECK_THROWS_WITH_AS(load_cluster("tpu"), doctest::Contains("or a file that describes another one"), Error);
  CHECK_THROWS_WITH_AS(load_cluster("H101"), doctest::Contains("did you mean 'h100'"), Error);
}

TEST_CASE("no built-in cluster has its memory in decimal gigabytes, and each says what its capacity stands on") {
  for (const std::string_view name : builtin_clusters()) {
    if (name == "host") continue;
    const Cluster cluster = load_cluster(std::string(name));
    CAPTURE(name);
    CHECK(cluster.source.find("; memory ") != std::string::npos);
    for (const DeviceSpec& device : cluster.devices) CHECK(device.memory_bytes % 1'000'000'000 != 0);
  }
  const auto gib = [](const char* name) {
    return static_cast<double>(load_cluster(name).devices.front().memory_bytes) / (1024.0 * 1024.0 * 1024.0);
  };
  CHECK(gib("h100") == doctest::Approx(79.11).epsilon(1e-4));
  CHECK(gib("h200") == doctest::Approx(139.80).epsilon(1e-4));
  CHECK(gib("mi355x") == doctest::Approx(287.98).epsilon(1e-4));
  CHECK(gib("h20") == doctest::Approx(95.00).epsilon(1e-4));
  CHECK(gib("l40s") == doctest::Approx(44.42).epsilon(1e-4));
  CHECK(gib("rtx-pro-6000") == doctest::Approx(94.97).epsilon(1e-4));
}

TEST_SUITE_END();
