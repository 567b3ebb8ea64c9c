#include <map>
#include <string>

#include "models/ground/given_files.hpp"
#include "models/network/network_io.hpp"
#include "tests/fuzz/promise.hpp"
#include "trainer/checkpoint/safetensors.hpp"
#include "trainer/weights/weights_file.hpp"

namespace {

constexpr const char* kIndexName = "fuzzed weights/model.safetensors.index.json";
constexpr const char* kShardName = "fuzzed weights/all.safetensors";

plumb::Network smallest_network() {
  return plumb::network_from_json(
      R"({"format": "plumbline-network", "version": 1, "name": "small", "sequence": 4, "width": 2, "vocabulary": 3,
          "layers": [{"kind": "embedding"}, {"kind": "residual", "body": [{"kind": "mlp", "hidden": 3}]},
          {"kind": "head"}]})",
      "small.json");
}

/// Zeros for every parameter, as the only file that an index can name.
std::string shard_of(const plumb::Network& network) {
  std::vector<plumb::TensorView> tensors;
  std::map<std::string, std::string> bytes;
  for (const plumb::NamedTensor& tensor : plumb::names_for(network, "plumbline").tensors) {
    const std::string& zeros = bytes[tensor.name] = std::string(static_cast<std::size_t>(tensor.count()) * 4, '\0');
    tensors.push_back({tensor.name, "F32", tensor.shape, std::as_bytes(std::span(zeros))});
  }
  std::string file = plumb::safetensors_head(tensors);
  for (const plumb::TensorView& tensor : tensors) file.append(tensor.bytes.size(), '\0');
  return file;
}

}  // namespace

/// Any text is the index of a model's weights in several files, which are then all there, or is refused. No file
/// outside of the index's folder is opened.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  static const Network network = smallest_network();
  static TextsByName files{{kShardName, shard_of(network)}};
  files[kIndexName] = std::string(testing::text_of(data, size));
  const GivenFiles given({.texts = &files});
  return testing::read_or_refuse([&] { return read_weights(kIndexName, network); },
                                 [](const NamedValues& values) {
                                   std::size_t expected = 0;
                                   for (const auto& [name, numbers] : values) {
                                     for (const double number : numbers)
                                       testing::promise(number == 0, "what the file has");
                                     ++expected;
                                   }
                                   testing::promise(expected > 0, "weights");
                                 });
}
