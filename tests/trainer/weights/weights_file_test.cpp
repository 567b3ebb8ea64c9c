#include <cstring>
#include <fstream>

#include <sys/stat.h>

#include <doctest/doctest.h>

#include "models/import/load_network.hpp"
#include "models/network/network_io.hpp"
#include "schedules/catalogue/registry.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/scratch_directory.hpp"
#include "trainer/data/text_data.hpp"
#include "trainer/train.hpp"
#include "trainer/weights/weights_file.hpp"

TEST_SUITE_BEGIN("trainer");

using namespace plumb;
using plumb::testing::error_message;
using plumb::testing::ScratchDirectory;

namespace {

namespace fs = std::filesystem;

/// A decoder of one block with words of 2 numbers, whose head is tied.
Network small_gpt(bool tied = true) {
  return network_from_json(
      std::string(R"({"format": "plumbline-network", "version": 1, "name": "small", "sequence": 4, "width": 2,
          "vocabulary": 3, "layers": [{"kind": "embedding", "positions": 4},
          {"kind": "residual", "body": [{"kind": "layer_norm"}, {"kind": "attention", "heads": 1}]},
          {"kind": "residual", "body": [{"kind": "layer_norm"}, {"kind": "mlp", "hidden": 3}]},
          {"kind": "layer_norm"}, {"kind": "head", "tied": )") +
          (tied ? "true" : "false") + "}]}",
      "small.json");
}

struct Tensor {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;
};

/// The tensors of a file, to be changed and written again.
std::vector<Tensor> tensors_of(const fs::path& path) {
  const SafetensorsFile file(path);
  std::vector<Tensor> tensors;
  for (const auto& [name, tensor] : file.tensors()) {
    tensors.push_back({name, tensor.dtype, tensor.shape, {tensor.bytes.begin(), tensor.bytes.end()}});
  }
  return tensors;
}

void write(const fs::path& path, const std::vector<Tensor>& tensors) {
  std::vector<TensorView> views;
  for (const Tensor& tensor : tensors) views.push_back({tensor.name, tensor.dtype, tensor.shape, tensor.bytes});
  write_safetensors(path, views);
}

Tensor& named(std::vector<Tensor>& tensors, const std::string& name) {
  return *std::ranges::find(tensors, name, &Tensor::name);
}

const TextData kText(std::string(2000, 'x') + "plumb lines and pipes", 0);

TrainOptions options_for(const std::string& network, const std::string& schedule) {
  TrainOptions options;
  options.schedule = generate(schedule, {.num_devices = 2, .num_microbatches = 2, .updates = 3});
  options.data = &kText;
  options.model.network = load_network(network);
  options.model.partition = equal_partition(options.model.network, options.schedule.num_stages);
  options.model.shape = {1, 16};
  return options;
}

}  // namespace

TEST_CASE("training from exported initial weights gives the bits of training from the seed, whatever the names") {
  const ScratchDirectory scratch;
  for (const std::string network : {"gpt-tiny-tied", "llama-tiny"}) {
    CAPTURE(network);
    TrainOptions options = options_for(network, "1f1b");
    options.model.seed = 5;
    const std::uint64_t expected = train(options).weights_hash;
    for (const std::string_view naming : {"plumbline", "huggingface"}) {
      const fs::path file = scratch.path() / (network + std::string(naming) + ".safetensors");
      write_weights(file, options.model.network, names_for(options.model.network, naming),
                    initial_weights(options.model.network, 5, NumberType::kFloat32), NumberType::kFloat32);
      options.model.initial_parameters = read_weights(file, options.model.network);
      options.model.seed = 5;  // of the data
      CHECK(train(options).weights_hash == expected);
    }
    options.model.initial_parameters.begin()->second.front() += 1;
    CHECK(train(options).weights_hash != expected);
  }
}

TEST_CASE("weights of a checkpoint are those that the run ended with") {
  const ScratchDirectory scratch;
  for (const std::string schedule : {"1f1b", "chimera"}) {
    TrainOptions options = options_for("gpt-tiny", schedule);
    options.observation.keep_parameters = true;
    options.observation.checkpoint.directory = scratch.path() / schedule;
    const TrainResult result = train(options);
    CHECK(read_checkpoint_weights(scratch.path() / schedule, options.model.network) == result.parameters);
  }
  CHECK(error_message([&] { read_checkpoint_weights(scratch.path() / "none", small_gpt()); }) ==
        (scratch.path() / "none").string() + ": has no checkpoint");
  CHECK(error_message([&] {
          read_checkpoint_weights(scratch.path() / "1f1b", small_gpt());
        }).find("expected a checkpoint of that network") != std::string::npos);
}

TEST_CASE("tensors that are missing, unexpected or of another shape or type are named in one line") {
  const ScratchDirectory scratch;
  const Network network = small_gpt();
  const fs::path file = scratch.path() / "model.safetensors";
  write_weights(file, network, names_for(network, ""), initial_weights(network, 0, NumberType::kFloat64),
                NumberType::kFloat64);
  const std::vector<Tensor> whole = tensors_of(file);
  CHECK(whole.size() == 16);
  const auto message = [&](const std::vector<Tensor>& tensors) {
    write(file, tensors);
    return error_message([&] { read_weights(file, network); });
  };
  const std::string where = file.string() + ": ";
  CHECK(message(whole).empty());

  std::vector<Tensor> changed = whole;
  std::erase_if(changed, [](const Tensor& tensor) { return tensor.name == "transformer.h.0.attn.c_attn.weight"; });
  CHECK(message(changed) == where +
                                "the tensors are not those of network 'small': missing "
                                "'transformer.h.0.attn.c_attn.weight'; `plumbline weights list` lists all that are "
                                "expected");
  changed = whole;
  named(changed, "transformer.wpe.weight").name = "transformer.h.1.ln_1.weight";
  CHECK(message(changed) == where +
                                "the tensors are not those of network 'small': missing 'transformer.wpe.weight'; "
                                "unexpected 'transformer.h.1.ln_1.weight'; `plumbline weights list` lists all that "
                                "are expected");
  changed = whole;
  named(changed, "transformer.h.0.mlp.c_fc.weight").shape = {3, 2};
  CHECK(message(changed) == where + "tensor 'transformer.h.0.mlp.c_fc.weight': shape [3, 2], expected [2, 3]");
  changed = whole;
  named(changed, "transformer.ln_f.weight").dtype = "I64";
  CHECK(message(changed) == where + "tensor 'transformer.ln_f.weight': type I64, expected F64, F32, F16 or BF16");
}

TEST_CASE("names without the model's prefix, buffers, and a tied weight stored twice are taken") {
  const ScratchDirectory scratch;
  const Network network = small_gpt();
  const fs::path file = scratch.path() / "model.safetensors";
  const NamedValues weights = initial_weights(network, 3, NumberType::kFloat64);
  write_weights(file, network, names_for(network, "huggingface"), weights, NumberType::kFloat64);
  std::vector<Tensor> tensors = tensors_of(file);
  Tensor copy = named(tensors, "transformer.wte.weight");
  copy.name = "lm_head.weight";
  for (Tensor& tensor : tensors) tensor.name = tensor.name.substr(std::string("transformer.").size());
  tensors.push_back({"h.0.attn.bias", "U8", {1, 1, 4, 4}, std::vector<std::byte>(16)});
  tensors.push_back(copy);
  write(file, tensors);
  CHECK(read_weights(file, network) == weights);
  tensors.back().bytes[6] ^= std::byte{1};
  write(file, tensors);
  CHECK(error_message([&] {
          read_weights(file, network);
        }).find("'lm_head.weight' differs from the embedding's weight") != std::string::npos);
  CHECK(error_message([&] { read_weights(file, small_gpt(false)); }).empty());
}

TEST_CASE("an index of several files is read, and one that names a pipe or a file elsewhere is refused") {
  const ScratchDirectory scratch;
  const Network network = small_gpt();
  const fs::path folder = scratch.path();
  const NamedValues weights = initial_weights(network, 3, NumberType::kFloat32);
  write_weights(folder / "all", network, names_for(network, "huggingface"), weights, NumberType::kFloat32);
  const std::vector<Tensor> tensors = tensors_of(folder / "all");
  write(folder / "a.safetensors", {tensors.begin(), tensors.begin() + 5});
  write(folder / "b.safetensors", {tensors.begin() + 5, tensors.end()});
  const auto index = [&](const std::string& second) {
    std::string text = R"({"metadata": {"total_size": 1}, "weight_map": {)";
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      text += (i == 0 ? "\"" : ", \"") + tensors[i].name + R"(": ")" + (i < 5 ? "a.safetensors" : second) + "\"";
    }
    std::ofstream(folder / "model.safetensors.index.json") << text << "}}";
  };
  index("b.safetensors");
  CHECK(read_weights(folder, network) == weights);
  index("../b.safetensors");
  CHECK(error_message([&] { read_weights(folder, network); }).find("expected the name of a file in the folder") !=
        std::string::npos);
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  index("pipe");
  CHECK(error_message([&] { read_weights(folder, network); }).find("pipe: is a pipe or a terminal") !=
        std::string::npos);
  index("a.safetensors");
  CHECK(error_message([&] { read_weights(folder, network); }).find("no file has 'transformer.") != std::string::npos);
  fs::remove(folder / "model.safetensors.index.json");
  CHECK(error_message([&] { read_weights(folder, network); }) ==
        folder.string() + ": has no model.safetensors and no model.safetensors.index.json");
}

TEST_CASE("half precision is read exactly") {
  const ScratchDirectory scratch;
  const Network network = small_gpt();
  const fs::path file = scratch.path() / "model.safetensors";
  write_weights(file, network, names_for(network, "plumbline"), initial_weights(network, 0, NumberType::kFloat32),
                NumberType::kFloat32);
  std::vector<Tensor> tensors = tensors_of(file);
  // 1, -2, the largest (65504), the smallest (2^-24), 1/3 rounded, 0
  const std::vector<std::uint16_t> half{0x3C00, 0xC000, 0x7BFF, 0x0001, 0x3555, 0x8000};
  Tensor& table = named(tensors, "embedding0.weight");
  table.dtype = "F16";
  table.bytes.resize(12);
  std::memcpy(table.bytes.data(), half.data(), 12);
  write(file, tensors);
  CHECK(read_weights(file, network).at("embedding0.weight") ==
        std::vector<double>{1, -2, 65504, 0x1p-24, 0.333251953125, 0});
  const std::vector<std::uint16_t> brain{0x3F80, 0xC000, 0x7F7F, 0x0001, 0x3EAB, 0x0000};
  table.dtype = "BF16";
  std::memcpy(table.bytes.data(), brain.data(), 12);
  write(file, tensors);
  CHECK(read_weights(file, network).at("embedding0.weight") ==
        std::vector<double>{1, -2, 0x1.FEp127, 0x1p-133, 0.333984375, 0});
}

TEST_SUITE_END();
