#include "trainer/weights/tensor_names.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include "models/stages/lay_out_stage.hpp"

namespace plumb {
namespace {

constexpr std::array<std::string_view, 3> kNamings{"plumbline", "huggingface", "torchvision"};

/// Ends of the names of buffers: GPT-2's causal masks, Llama's frequencies, batch norm's running statistics.
constexpr std::array<std::string_view, 6> kBuffers{".attn.bias",    ".attn.masked_bias", ".rotary_emb.inv_freq",
                                                   ".running_mean", ".running_var",      ".num_batches_tracked"};

std::int64_t product(std::span<const std::int64_t> shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

}  // namespace

std::int64_t NamedTensor::count() const { return product(shape); }

std::int64_t NamedTensor::place(std::int64_t i, std::int64_t columns) const {
  const std::int64_t first = first_row * columns;
  if (order == TensorOrder::kSame) return first + i;
  if (order == TensorOrder::kTransposed) return first + i % shape[1] * columns + i / shape[1];
  const std::int64_t pixels = columns / channels;
  const std::int64_t column = i % columns;
  return first + i - column + column % pixels * channels + column / pixels;
}

std::span<const std::string_view> naming_names() { return kNamings; }

std::vector<ParameterFacts> network_parameters(const Network& network) {
  const StageLayout layout =
      plain_stage_layout(network.layers, {0, network.layers.size()}, {1, network.sequence}, Precision{});
  std::vector<ParameterFacts> parameters;
  std::set<std::string_view> seen;
  for (const std::vector<ParameterFacts>* some : {&layout.parameters, &layout.frozen}) {
    for (const ParameterFacts& parameter : *some) {
      if (seen.insert(parameter.name).second) parameters.push_back(parameter);
    }
  }
  return parameters;
}

TensorNames own_names(std::span<const ParameterFacts> parameters) {
  TensorNames names;
  for (const ParameterFacts& parameter : parameters) {
    names.tensors.push_back({.name = parameter.name, .shape = parameter.shape, .parameter = parameter.name});
  }
  return names;
}

bool is_buffer(std::string_view name) {
  return std::ranges::any_of(kBuffers, [&](std::string_view end) { return name.ends_with(end); });
}

}  // namespace plumb
