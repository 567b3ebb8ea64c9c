#include "models/network/network_io.hpp"

#include <filesystem>
#include <map>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "models/ground/presets.hpp"
#include "models/import/load_network.hpp"
#include "models/stages/network_costs.hpp"
#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("models");

using namespace plumb;
using plumb::testing::error_message;

namespace {

/// A document with `layers` inside, on lines 1 to 4.
std::string network_document(const std::string& layers) {
  return "{\"format\": \"plumbline-network\", \"version\": 1,\n"
         " \"name\": \"n\", \"sequence\": 8, \"width\": 4,\n \"layers\": [\n" +
         layers + "\n]}";
}

std::string network_refusal(const std::string& layers) {
  return error_message([&] { network_from_json(network_document(layers), "n.json"); });
}

Network read_network(const std::string& layers) { return network_from_json(network_document(layers), "n.json"); }

}  // namespace

TEST_CASE("built-in networks have the published numbers of parameters") {
  const std::map<std::string_view, std::int64_t> exact{
      {"gpt2-xl", 1'557'611'200},      {"gpt3-175b", 174'604'259'328}, {"megatron-22b", 22'074'273'792},
      {"llama2-7b", 6'738'415'616},    {"llama2-13b", 13'015'864'320}, {"llama2-70b", 68'976'648'192},
      {"llama3-8b", 8'030'261'248},    {"llama3-70b", 70'553'706'496}, {"gpt2-small", 124'439'808},
      {"gpt2-medium", 354'823'168},    {"gpt2-large", 774'030'080},    {"resnet-50", 25'557'032},
      {"resnet-50-cifar", 23'520'842},
  };
  for (const auto& [name, count] : exact) {
    CAPTURE(name);
    CHECK(parameter_count(load_network(name)) == count);
  }
}

TEST_CASE("built-in networks printed with fewer digits agree with all of them") {
  struct Printed {
    std::string_view name;
    double count;
    double digit;  ///< value of the last printed digit
  };
  for (const Printed& printed :
       {Printed{"gpt3-13b", 12.85e9, 0.01e9}, Printed{"megatron-530b", 529.6e9, 0.1e9},
        Printed{"megatron-1t", 1008e9, 1e9}, Printed{"zb-1.5b", 1.52e9, 0.01e9}, Printed{"zb-6.2b", 6.25e9, 0.01e9},
        Printed{"zb-14.6b", 14.74e9, 0.01e9}, Printed{"zb-28.3b", 28.4e9, 0.1e9}}) {
    CAPTURE(printed.name);
    const auto count = static_cast<double>(parameter_count(load_network(printed.name)));
    CHECK(count >= printed.count - printed.digit / 2);
    CHECK(count <= printed.count + printed.digit / 2);
  }
}

TEST_CASE("a built-in network has the name of its file and survives writing and reading") {
  REQUIRE(network_presets().size() >= 20);
  for (const std::string_view name : builtin_networks()) {
    CAPTURE(name);
    const Network network = load_network(name);
    CHECK(network.name == name);
    CHECK_FALSE(network.source.empty());
    CHECK(network_from_json(network_to_json(network), "again.json") == network);
  }
}

TEST_CASE("layers take width and vocabulary from the network, four widths as hidden, and a name from their position") {
  const Network network = read_network(R"({"kind": "layer_norm", "bias": false},
    {"kind": "residual", "body": [{"kind": "attention", "heads": 2, "causal": false}, {"kind": "mlp", "name": "m"}]},
    {"kind": "linear", "outputs": 6})");
  REQUIRE(network.layers.size() == 3);
  CHECK(network.layers[0].name == "layer_norm0");
  CHECK(network.layers[0].width == 4);
  CHECK_FALSE(network.layers[0].bias);
  const LayerSpec& residual = network.layers[1];
  REQUIRE(residual.body.size() == 2);
  CHECK(residual.body[0].name == "residual1.attention0");
  CHECK_FALSE(residual.body[0].causal);
  CHECK(residual.body[0].kv_heads == 0);
  CHECK(residual.body[1].name == "m");
  CHECK(residual.body[1].hidden == 16);
  CHECK(network.layers[2].outputs == 6);
}

TEST_CASE("a repeat expands in place and numbers given names") {
  const Network network = read_network(R"({"kind": "linear", "name": "a", "outputs": 4},
    {"repeat": 2, "layers": [{"kind": "rms_norm", "name": "n"},
      {"repeat": 2, "layers": [{"kind": "linear", "name": "l", "outputs": 4}, {"kind": "rms_norm"}]}]})");
  std::string names;
  for (const LayerSpec& layer : network.layers) names += layer.name + " ";
  CHECK(names == "a n.0 l.0.0 rms_norm3 l.0.1 rms_norm5 n.1 l.1.0 rms_norm8 l.1.1 rms_norm10 ");
}

TEST_CASE("a document that says something wrong is refused at the place") {
  CHECK(network_refusal(R"({"kind": "atention"})") ==
        "n.json:4:10: layers[0].kind: unknown layer kind 'atention' (did you mean 'attention'?)");
  CHECK(network_refusal(R"({"kind": "linear"})") == "n.json:4:1: layers[0]: missing key 'outputs'");
  CHECK(network_refusal(R"({"kind": "mlp", "heads": 2})")
            .rfind("n.json:4:17: layers[0]: unknown key 'heads'; expected", 0) == 0);
  CHECK(network_refusal(R"({"kind": "linear", "outputs": 0})") ==
        "n.json:4:31: layers[0].outputs: expected an integer from 1 to 1048576, found 0");
  CHECK(network_refusal(R"({"repeat": 0, "layers": []})") ==
        "n.json:4:12: layers[0].repeat: expected an integer from 1 to 20000, found 0");
  CHECK(network_refusal("") == "n.json: layers: expected at least one layer");
  CHECK(error_message([] {
          network_from_json(R"({"format": "plumbline-profile"})", "n.json");
        }).rfind("n.json:1:12: format: expected \"plumbline-network\", found \"plumbline-profile\"", 0) == 0);
}

TEST_CASE("layers that do not fit together are refused by name") {
  CHECK(network_refusal(R"({"kind": "linear", "outputs": 6}, {"kind": "rms_norm"})") ==
        "n.json: layer 'rms_norm1': width is 4, but the layer before it makes 6");
  CHECK(network_refusal(R"({"kind": "attention", "heads": 3})") ==
        "n.json: layer 'attention0': heads (3) must divide width (4)");
  CHECK(network_refusal(R"({"kind": "head", "vocabulary": 9}, {"kind": "rms_norm"})") ==
        "n.json: layer 'head0': a head must be the last layer of the network");
  CHECK(network_refusal(R"({"kind": "rms_norm"}, {"kind": "embedding", "vocabulary": 9})") ==
        "n.json: layer 'rms_norm0': nobody reads its output");
  CHECK(network_refusal(R"({"kind": "rms_norm"}, {"kind": "head", "vocabulary": 9, "tied": true})") ==
        "n.json: layer 'head1': is tied, but the network has no embedding");
  CHECK(network_refusal(R"({"kind": "embedding", "vocabulary": 8}, {"kind": "head", "vocabulary": 9, "tied": true})") ==
        "n.json: layer 'head1': is tied, but its vocabulary and width are not those of 'embedding0'");
  CHECK(network_refusal(R"({"kind": "rms_norm", "name": "x"}, {"kind": "rms_norm", "name": "x"})") ==
        "n.json: layer 'x': the name is used twice");
  CHECK(network_refusal(R"({"kind": "residual", "body": []})") ==
        "n.json: layer 'residual0': a residual needs at least one layer in its body");
  CHECK(network_refusal(R"({"kind": "residual", "body": [{"kind": "linear", "outputs": 6}]})") ==
        "n.json: layer 'residual0': its body makes width 6 from width 4");
}

TEST_CASE("absurd sizes are refused before anything is expanded") {
  CHECK(network_refusal(
            R"({"repeat": 20000, "layers": [{"repeat": 20000, "layers": [{"repeat": 20000, "layers": []}]}]})")
            .find("expected at most 20000 layers and repetitions in all") != std::string::npos);
  CHECK(network_refusal(R"({"repeat": 20000, "layers": [{"kind": "rms_norm"}, {"kind": "rms_norm"}]})")
            .find("expected at most 20000 layers and repetitions in all") != std::string::npos);
  const std::string large = R"({"format": "plumbline-network", "version": 1, "name": "n", "sequence": 16777216,
    "samples": 1048576, "width": 1048576, "layers": [{"kind": "rms_norm"}]})";
  CHECK(error_message([&] { network_from_json(large, "n.json"); }).find("is too large") != std::string::npos);
}

TEST_CASE("an unknown network is answered with the nearest one, a missing file with its name") {
  CHECK(error_message([] { load_network("gpt-tiney"); }) == "unknown network 'gpt-tiney' (did you mean 'gpt-tiny'?)");
  CHECK(error_message([] { load_network("no/such.json"); }) == "no/such.json: cannot open: No such file or directory");
  CHECK(error_message([] { load_network("/tmp/"); }) == "/tmp/: is a directory, expected a file");
}

TEST_SUITE_END();
