#include "tools/formats/chakra_trace.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/run_command.hpp"
#include "tests/support/scratch_directory.hpp"

TEST_SUITE_BEGIN("tools");

namespace {

using namespace plumb;

/// Numbers and texts of a protobuf message by field, decoded without knowing the schema.
struct Decoded {
  std::map<std::uint64_t, std::vector<std::uint64_t>> numbers;
  std::map<std::uint64_t, std::vector<std::string>> texts;
};

std::uint64_t take_varint(const std::string& bytes, std::size_t& at) {
  std::uint64_t value = 0;
  for (unsigned shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.at(at++));
    value |= std::uint64_t{byte & 127U} << shift;
    if (byte < 128) return value;
  }
}

Decoded decode(const std::string& bytes) {
  Decoded message;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::uint64_t key = take_varint(bytes, at);
    const std::uint64_t value = take_varint(bytes, at);
    if ((key & 7U) == 0) {
      message.numbers[key >> 3U].push_back(value);
    } else {
      REQUIRE((key & 7U) == 2);
      message.texts[key >> 3U].push_back(bytes.substr(at, value));
      at += value;
    }
  }
  return message;
}

struct DecodedNode {
  std::uint64_t id = 0;
  std::uint64_t type = 0;
  std::uint64_t duration = 0;
  std::vector<std::uint64_t> dependencies;
  std::map<std::string, std::uint64_t> attributes;
};

std::vector<DecodedNode> nodes_of(const std::string& trace) {
  std::vector<DecodedNode> nodes;
  for (std::size_t at = 0; at < trace.size();) {
    const std::uint64_t length = take_varint(trace, at);
    const Decoded message = decode(trace.substr(at, length));
    at += length;
    if (message.numbers.empty()) continue;  // the metadata
    DecodedNode node{message.numbers.at(1)[0], message.numbers.at(3)[0], 0, {}, {}};
    if (message.numbers.contains(7)) node.duration = message.numbers.at(7)[0];
    for (const std::uint64_t field : {4, 5}) {
      if (!message.numbers.contains(field)) continue;
      const auto& ids = message.numbers.at(field);
      node.dependencies.insert(node.dependencies.end(), ids.begin(), ids.end());
    }
    for (const std::string& text : message.texts.at(10)) {
      const Decoded attribute = decode(text);
      if (attribute.numbers.empty()) continue;
      node.attributes[attribute.texts.at(1)[0]] = attribute.numbers.begin()->second[0];
    }
    nodes.push_back(node);
  }
  return nodes;
}

}  // namespace

TEST_CASE("Chakra traces hold every action, and every send has its receive with the same size and tag") {
  const testing::ScratchDirectory scratch;
  const testing::CommandResult result = testing::run_command(
      "plumbline simulate interleaved -p 2 -m 4 -v 2 --network gpt2-small --cluster a100 --summary --chakra trace",
      scratch.path());
  REQUIRE(result.status == 0);
  CHECK(scratch.listing() == "trace.0.et trace.1.et");
  std::map<std::uint64_t, DecodedNode> sends;
  std::map<std::uint64_t, DecodedNode> receives;
  for (const std::string device : {"0", "1"}) {
    std::set<std::uint64_t> ids;
    std::size_t computes = 0;
    const auto nodes = nodes_of(testing::file_text(scratch.path() / ("trace." + device + ".et")));
    for (const DecodedNode& node : nodes) {
      CHECK(ids.insert(node.id).second);
      CHECK(node.attributes.at("is_cpu_op") == 0);
      computes += node.type == 4 ? 1 : 0;
      if (node.type == 5) sends[node.attributes.at("comm_tag")] = node;
      if (node.type == 6) receives[node.attributes.at("comm_tag")] = node;
    }
    CHECK(computes == 2 * 2 * 4 + 2);  // F and B of two chunks, and their updates
    for (const DecodedNode& node : nodes) {
      for (const std::uint64_t id : node.dependencies) CHECK(ids.contains(id));
    }
  }
  CHECK(sends.size() == 3 * 4 * 2);  // three hops there and back
  REQUIRE(receives.size() == sends.size());
  for (const auto& [tag, send] : sends) {
    CHECK(receives.at(tag).attributes == send.attributes);
    CHECK(send.attributes.at("comm_src") != send.attributes.at("comm_dst"));
    CHECK(send.attributes.at("comm_size") > 0);
  }
}

TEST_CASE("what Chakra cannot say is refused") {
  const testing::ScratchDirectory scratch;
  CHECK(testing::run_command("plumbline simulate 1f1b -p 2 -m 2 --cost F=1 --chakra x", scratch.path()).err ==
        "plumbline: error: --chakra: abstract costs have no messages, expected --network and --cluster\n");
  CHECK(scratch.listing() == "");
}

TEST_SUITE_END();
