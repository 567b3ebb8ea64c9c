#include <algorithm>

#include <doctest/doctest.h>

#include "models/import/load_network.hpp"
#include "models/network/network_io.hpp"
#include "tests/trainer/pytorch/stored_vectors.hpp"
#include "tests/trainer/tiny_pipeline.hpp"
#include "trainer/weights/weights_file.hpp"

TEST_SUITE_BEGIN("trainer");

using namespace plumb;
using plumb::testing::distance;
using plumb::testing::ids_of;
using plumb::testing::numbers_of;
using plumb::testing::stored;

namespace {

/// The network of make_vectors.py's TinyResNet.
Network tiny_resnet(bool bottleneck) {
  const auto convolution = [](int filters, int kernel, int stride) {
    return R"({"kind": "convolution", "filters": )" + std::to_string(filters) + R"(, "kernel": )" +
           std::to_string(kernel) + R"(, "stride": )" + std::to_string(stride) +
           R"(, "bias": false}, {"kind": "batch_norm"})";
  };
  const std::string relu = R"(, {"kind": "relu"}, )";
  const auto block = [&](int planes, int stride, bool shortcut) {
    const int made = bottleneck ? 4 * planes : planes;
    std::string text = R"({"kind": "residual", "body": [)";
    text += bottleneck
                ? convolution(planes, 1, 1) + relu + convolution(planes, 3, stride) + relu + convolution(made, 1, 1)
                : convolution(planes, 3, stride) + relu + convolution(planes, 3, 1);
    if (shortcut) text += R"(], "shortcut": [)" + convolution(made, 1, stride);
    return text + R"(]}, {"kind": "relu"}, )";
  };
  return network_from_json(
      R"({"format": "plumbline-network", "version": 1, "name": "tiny", "sequence": 1, "classes": 5,
          "layers": [{"kind": "pixels", "height": 6, "columns": 6, "channels": 3}, )" +
          convolution(4, 3, 1) + relu + block(2, 1, true) + block(2, 1, false) + block(4, 2, true) +
          R"({"kind": "average_pool"}, {"kind": "classifier"}]})",
      "tiny.json");
}

struct PublishedModel {
  std::string folder;
  Network network;
  MicrobatchShape shape;
  std::string family;
};

std::vector<PublishedModel> published_models() {
  std::vector<PublishedModel> models;
  for (const std::string name : {"gpt2", "gpt2-relu", "llama", "llama3-rope", "qwen2"}) {
    const std::string folder = stored("models/" + name);
    models.push_back(
        {folder, load_network(folder + "/config.json"), {2, 5}, name.starts_with("gpt2") ? "gpt2" : "llama"});
  }
  models.push_back({stored("models/resnet-bottleneck"), tiny_resnet(true), {2, 1}, "resnet"});
  models.push_back({stored("models/resnet-basic"), tiny_resnet(false), {2, 1}, "resnet"});
  return models;
}

/// Loss and gradients of a batch in double, the network in one stage.
std::pair<double, std::map<std::string, std::vector<double>>> trained_once(const PublishedModel& model,
                                                                           const NamedValues& weights,
                                                                           const SafetensorsFile& batch) {
  TinyPipeline<double> pipeline(model.network.layers, {}, model.shape);
  TinyStage<double>& stage = *pipeline.stages().front();
  set_parameters(std::span<const ParameterFacts>(stage.layout.parameters), weights, stage.weights.data());
  const std::vector<std::int32_t> tokens = ids_of(batch.at("tokens"));
  const std::vector<std::int32_t> targets = ids_of(batch.at("targets"));
  const double loss = pipeline.forward({tokens.data(), targets.data()});
  pipeline.backward(BackwardMode::kFused);
  return {loss, pipeline.gradients()};
}

}  // namespace

TEST_CASE("models of Hugging Face and torchvision have their loss and gradients here, from their own files") {
  for (const PublishedModel& model : published_models()) {
    CAPTURE(model.folder);
    const SafetensorsFile batch(model.folder + "/batch.safetensors");
    const auto [loss, gradients] = trained_once(model, read_weights(model.folder, model.network), batch);
    CHECK(loss == doctest::Approx(numbers_of(batch.at("loss")).front()).epsilon(1e-13));
    const std::optional<TensorNames> names = published_names(model.network);
    REQUIRE(names.has_value());
    CHECK(names->family == model.family);
    CHECK(names->tensors.size() + 3 == batch.tensors().size());  // tokens, targets and loss
    const std::vector<ParameterFacts> parameters = network_parameters(model.network);
    for (const NamedTensor& tensor : names->tensors) {
      CAPTURE(tensor.name);
      const auto facts = std::ranges::find(parameters, tensor.parameter, &ParameterFacts::name);
      std::vector<double> ours;
      for (std::int64_t i = 0; i < tensor.count(); ++i) {
        const std::int64_t at = tensor.place(i, facts->count() / facts->shape.front());
        ours.push_back(gradients.at(tensor.parameter).at(static_cast<std::size_t>(at)));
      }
      const SafetensorsFile::Tensor& theirs = batch.at("gradients/" + tensor.name);
      CHECK(theirs.shape == tensor.shape);
      const double error = distance(ours, numbers_of(theirs));
      CHECK(error < 1e-12);
    }
  }
}

TEST_CASE("built-in networks have the published names of their family, and every parameter has a place") {
  const std::vector<std::pair<std::string, std::string>> families{
      {"gpt-tiny", "gpt2"},         {"gpt2-xl", "gpt2"},      {"llama-tiny", "llama"}, {"llama3-8b", "llama"},
      {"resnet-50", "resnet"},      {"resnet-152", "resnet"}, {"resnet-20", "resnet"}, {"resnet-20-tiny-gn", "resnet"},
      {"resnet-50-tiny", "resnet"}, {"vgg-16", "vgg"}};
  for (const auto& [name, family] : families) {
    CAPTURE(name);
    const Network network = load_network(name);
    const std::optional<TensorNames> names = published_names(network);
    REQUIRE(names.has_value());
    CHECK(names->family == family);
    std::map<std::string, std::int64_t> covered;
    for (const NamedTensor& tensor : names->tensors) covered[tensor.parameter] += tensor.count();
    std::map<std::string, std::int64_t> expected;
    for (const ParameterFacts& parameter : network_parameters(network)) expected[parameter.name] = parameter.count();
    CHECK(covered == expected);
  }
  for (const std::string name : {"transformer-tiny", "revnet-tiny", "deepseek-v3", "bert-48", "qwen3-8b"}) {
    CAPTURE(name);
    CHECK_FALSE(published_names(load_network(name)).has_value());
  }
}

TEST_CASE("torchvision's ResNet-50 and VGG-16 have these names and shapes") {
  // As torchvision 0.27 lists them: resnet50().named_parameters() has 161 tensors, vgg16()'s has 32.
  const auto shape_of = [](const TensorNames& names, const std::string& name) {
    const auto found = std::ranges::find(names.tensors, name, &NamedTensor::name);
    return found == names.tensors.end() ? std::vector<std::int64_t>{} : found->shape;
  };
  using Shape = std::vector<std::int64_t>;
  const TensorNames resnet = *published_names(load_network("resnet-50"));
  CHECK(resnet.tensors.size() == 161);
  CHECK(shape_of(resnet, "conv1.weight") == Shape{64, 3, 7, 7});
  CHECK(shape_of(resnet, "layer1.0.downsample.0.weight") == Shape{256, 64, 1, 1});
  CHECK(shape_of(resnet, "layer3.5.conv2.weight") == Shape{256, 256, 3, 3});
  CHECK(shape_of(resnet, "layer4.0.downsample.1.bias") == Shape{2048});
  CHECK(shape_of(resnet, "fc.weight") == Shape{1000, 2048});
  const TensorNames vgg = *published_names(load_network("vgg-16"));
  CHECK(vgg.tensors.size() == 32);
  CHECK(shape_of(vgg, "features.28.weight") == Shape{512, 512, 3, 3});
  CHECK(shape_of(vgg, "classifier.0.weight") == Shape{4096, 25088});
  CHECK(shape_of(vgg, "classifier.6.bias") == Shape{1000});
}

TEST_SUITE_END();
