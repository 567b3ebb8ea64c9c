#include <array>
#include <optional>
#include <string>
#include <utility>

#include "models/ground/error.hpp"
#include "models/import/load_network.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/options/option_table.hpp"
#include "tools/terminal/output_file.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/text_table.hpp"
#include "tools/training/training.hpp"
#include "trainer/weights/weights_file.hpp"

namespace plumb {
namespace {

constexpr std::array<std::string_view, 3> kNumberTypes{"float32", "float64", "bf16"};  // in the order of NumberType

struct WeightsArguments {
  std::string action;
  std::string network;
  std::string checkpoint;
  std::string weights;
  std::string names;
  std::string numbers = "float32";
  std::string output;
  std::optional<std::int64_t> seed;

  bool parse(const CommandLine& arguments) {
    OptionTable parser(
        "weights export|list --network N [options]",
        "Writes the weights of a model as a safetensors file under the names of Hugging Face or torchvision, or under\n"
        "ours, or lists the tensors of such a file. `plumbline train --weights FILE` starts from them.");
    parser.positional(action, "export|list")
        .text("network", network, "NAME|FILE", "model, see `plumbline networks`")
        .text(
            "names", names, "WHOSE",
            "huggingface, torchvision or plumbline (default: of the project that has this model, otherwise plumbline)")
        .text("checkpoint", checkpoint, "DIR", "export the weights of the newest checkpoint in this folder")
        .text("weights", weights, "FILE", "export the weights of this file, under other names or as other numbers")
        .whole("seed", seed, {0}, "export the weights that `train` draws with this seed (default: 0)")
        .text("numbers", numbers, "TYPE", "float32, float64 or bf16 (default: float32)")
        .words(kNumberTypes)
        .text("output,o", output, "FILE", "file to write (export)");
    return parse_command_line(parser, arguments);
  }
};

std::string place_text(const NamedTensor& tensor) {
  if (tensor.order == TensorOrder::kTransposed) return "transposed";
  return tensor.order == TensorOrder::kChannelsFirst ? "channels first" : "same";
}

std::string list_text(const Network& network, const TensorNames& names) {
  TextTable table({{"tensor"}, {"shape"}, {"parameter"}, {"first row", '>'}, {"order"}});
  std::int64_t numbers = 0;
  for (const NamedTensor& tensor : names.tensors) {
    std::string shape;
    for (const std::int64_t extent : tensor.shape) shape += (shape.empty() ? "" : " x ") + std::to_string(extent);
    table.add_row({tensor.name, shape, tensor.parameter, std::to_string(tensor.first_row), place_text(tensor)});
    numbers += tensor.count();
  }
  std::string title = network.name + ": " + std::to_string(names.tensors.size()) + " tensors, " + count_text(numbers) +
                      " numbers, names of " + std::string(name_of(names.naming));
  if (!names.family.empty()) title += " (" + names.family + ")";
  return title + "\n\n" + table.to_string();
}

NamedValues values_of(const WeightsArguments& arguments, const Network& network, NumberType numbers) {
  const int sources = (arguments.checkpoint.empty() ? 0 : 1) + (arguments.weights.empty() ? 0 : 1) +
                      (arguments.seed.has_value() ? 1 : 0);
  if (sources > 1) throw Error("weights: several sources, expected one of --checkpoint, --weights and --seed");
  if (!arguments.checkpoint.empty()) return read_checkpoint_weights(arguments.checkpoint, network);
  if (!arguments.weights.empty()) return read_weights(arguments.weights, network);
  return initial_weights(network, static_cast<std::uint64_t>(arguments.seed.value_or(0)), numbers);
}

}  // namespace

ExitStatus run_weights(const CommandLine& command_line) {
  WeightsArguments arguments;
  if (!arguments.parse(command_line)) return ExitStatus::kDone;
  static constexpr std::array<std::string_view, 2> kActions{"export", "list"};
  const bool lists = enumerator<int>(kActions, "action", arguments.action) == 1;
  if (arguments.network.empty())
    throw Error("weights: the model is missing, expected --network NAME, such as gpt-tiny");
  const Network network = load_network(arguments.network);
  const TensorNames names = names_for(network, arguments.names);
  if (lists) {
    print(list_text(network, names));
    return ExitStatus::kDone;
  }
  if (arguments.output.empty()) throw Error("weights: the file to write is missing, expected -o FILE");
  const auto numbers = enumerator<NumberType>(kNumberTypes, "type of numbers", arguments.numbers);
  write_weights(arguments.output, network, names, values_of(arguments, network, numbers), numbers);
  return ExitStatus::kDone;
}

}  // namespace plumb
