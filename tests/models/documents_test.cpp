// Every example in the documents of models is read, and no damaged document does anything but fail with an Error.

#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "models/cluster/cluster_io.hpp"
#include "models/ground/error.hpp"
#include "models/ground/text_file.hpp"
#include "models/import/load_network.hpp"
#include "models/network/network_io.hpp"
#include "models/sources/profile.hpp"
#include "models/sources/run_profile.hpp"
#include "models/stages/network_costs.hpp"
#include "tests/support/source_directory.hpp"

TEST_SUITE_BEGIN("models");

using namespace plumb;

namespace {

constexpr const char* kNetworkDocument = "models/network/NETWORK_DOCUMENT.md";
constexpr const char* kClusterDocument = "models/cluster/CLUSTER_DOCUMENT.md";
constexpr const char* kCosts = "models/sources/COSTS.md";

/// The ```json blocks of the documents that specify networks, clusters and profiles, in this order.
std::vector<std::string> examples() {
  constexpr std::string_view kOpen = "```json\n";
  std::vector<std::string> blocks;
  for (const char* document : {kNetworkDocument, kClusterDocument, kCosts}) {
    const std::string text = read_text_file(plumb::testing::in_source(document));
    for (std::size_t at = text.find(kOpen); at != std::string::npos; at = text.find(kOpen, at)) {
      at += kOpen.size();
      const std::size_t end = text.find("```", at);
      blocks.push_back(text.substr(at, end - at));
      at = end;
    }
  }
  return blocks;
}

/// Reads a document of any of our formats.
void read_any(const std::string& text) {
  if (text.find("plumbline-network") != std::string::npos) {
    network_from_json(text, "example");
  } else if (text.find("plumbline-cluster") != std::string::npos) {
    cluster_from_json(text, "example");
  } else if (text.find("plumbline-run-profile") != std::string::npos) {
    run_profile_from_json(text, "example");
  } else {
    profile_from_json(text, "example");
  }
}

/// True when reading works or fails with a one-line Error.
bool reads_or_refuses(const std::string& text) {
  try {
    read_any(text);
  } catch (const Error& error) {
    return std::string_view(error.what()).find('\n') == std::string_view::npos;
  }
  return true;
}

}  // namespace

TEST_CASE("the example documents of models are valid and say what the text says") {
  const std::vector<std::string> blocks = examples();
  REQUIRE(blocks.size() == 6);
  const Network network = network_from_json(blocks[0], "example");
  CHECK(network.layers == load_network("gpt2-small").layers);
  CHECK(parameter_count(network) == 124'439'808);
  const Cluster cluster = cluster_from_json(blocks[1], "example");
  CHECK(cluster.devices.size() == 4);
  CHECK(cluster.devices[3].speed == 0.8);
  CHECK(cluster.shared_links.size() == 8);
  const Cluster hosted = cluster_from_json(blocks[2], "example");
  CHECK(hosted.runtime.b_ns == 10000);
  CHECK(calls_of(hosted.runtime.calls, 4'194'304).send_posted_ns == 1'500'000);
  CHECK(cluster_from_json(cluster_to_json(hosted), "again").runtime == hosted.runtime);
  const Cluster contended = cluster_from_json(blocks[3], "example");
  CHECK(contended.contention.slowdowns.size() == 2);
  CHECK(contended.contention.clock->points.back().clock == 0.93);
  CHECK(contended.shared_links[0].bytes_per_s == 100e9);
  const Profile profile = profile_from_json(blocks[4], "example");
  CHECK(to_string(profiled_partition(profile)) == "1,1");
  const RunProfile run = run_profile_from_json(blocks[5], "example");
  CHECK(run_profile_costs(run, 4).costs.times[3].f == (900 - 90) / 2 + 90);
  CHECK(run.messages[0].capacity == 1.5);
  CHECK(message_times(run.messages, run.message_bytes).message_ns == 400);
}

TEST_CASE("the documents name every built-in network and cluster") {
  const auto names_in = [](const char* document) {
    return [text = read_text_file(plumb::testing::in_source(document))](std::string_view name) {
      const std::string whole = "`" + std::string(name) + "`";
      const std::size_t dash = name.find('-');
      const std::string ending = "`" + std::string(dash == std::string_view::npos ? name : name.substr(dash)) + "`";
      return text.find(whole) != std::string::npos || text.find(ending) != std::string::npos;
    };
  };
  const auto names_network = names_in(kNetworkDocument);
  const auto names_cluster = names_in(kClusterDocument);
  for (const std::string_view name : builtin_networks()) CHECK_MESSAGE(names_network(name), name);
  for (const std::string_view name : builtin_clusters()) CHECK_MESSAGE(names_cluster(name), name);
}

TEST_CASE("a document cut off anywhere, or with any character replaced, is read or refused in one line") {
  for (const std::string& whole : examples()) {
    for (std::size_t at = 0; at < whole.size(); ++at) {
      CAPTURE(at);
      if (!reads_or_refuses(whole.substr(0, at))) FAIL_CHECK("cut off");
      for (const char replacement : {'9', '-', '"', '{', ']', '\n', '\0', '\xff'}) {
        std::string damaged = whole;
        damaged[at] = replacement;
        if (!reads_or_refuses(damaged)) FAIL_CHECK("replaced by '" << replacement << "'");
      }
    }
  }
}

TEST_SUITE_END();
