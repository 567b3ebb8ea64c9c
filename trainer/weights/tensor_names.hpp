#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/layers/layer_facts.hpp"
#include "models/network/network.hpp"

namespace plumb {

/// How the numbers of a tensor of a file lie in the rows of a parameter.
enum class TensorOrder : std::uint8_t {
  kSame,           ///< row after row
  kTransposed,     ///< (inputs, outputs) where we have (outputs, inputs)
  kChannelsFirst,  ///< by channel, line, column where we have line, column, channel
};

/// A tensor of a file, and the part of a parameter that it holds: all of it, or some rows.
struct NamedTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::string parameter;
  std::int64_t first_row = 0;  ///< first row in the parameter; numbers of a vector are rows
  TensorOrder order = TensorOrder::kSame;
  std::int64_t channels = 0;  ///< channels, for kChannelsFirst

  std::int64_t count() const;
  /// Returns where in the parameter number `i` of the tensor is; `columns` are those of a row of the parameter.
  std::int64_t place(std::int64_t i, std::int64_t columns) const;
};

/// Whose names the tensors of a file have.
enum class Naming : std::uint8_t { kPlumbline, kHuggingFace, kTorchvision };

/// Returns the names of `Naming` on the command line, in the order of the enumerators.
std::span<const std::string_view> naming_names();
inline std::string_view name_of(Naming naming) { return naming_names()[static_cast<std::size_t>(naming)]; }

/// The tensors of a whole network in a file.
struct TensorNames {
  Naming naming = Naming::kPlumbline;
  std::string family;  ///< "gpt2", "llama", "resnet", "vgg"; of our own names empty
  /// What a file may leave out in front of every name ("transformer.", "model.").
  std::string prefix;
  std::vector<NamedTensor> tensors;
  /// A tensor that files may have besides: a copy of another one (a tied head's weight).
  std::optional<NamedTensor> copy;
};

/// Returns the parameters of a network in the order of its layers, each once, named as in checkpoints:
/// `<layer>.<parameter>`.
std::vector<ParameterFacts> network_parameters(const Network& network);

/// Our own names and shapes, which every network has.
TensorNames own_names(std::span<const ParameterFacts> parameters);

/// Returns the names that Hugging Face's transformers (gpt2; llama, mistral, qwen2) or torchvision (resnet, vgg) give
/// the tensors of this network; none where it has no such counterpart. Every parameter is covered exactly once.
std::optional<TensorNames> published_names(const Network& network);

/// Returns whether a tensor of a published file is a buffer that holds no weights of ours: masks, rotary tables,
/// running statistics.
bool is_buffer(std::string_view name);

}  // namespace plumb
