#include "tools/devices/kernel_list.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "models/jobs/job_kernels.hpp"
#include "models/network/layer_shape.hpp"
#include "models/stages/network_costs.hpp"

namespace plumb {
namespace {

using ListJson = nlohmann::ordered_json;

constexpr std::int64_t kMostOptimized = std::int64_t{1} << 26;  // parameters of the optimizer's kernel
constexpr std::int64_t kCopiedBytes = std::int64_t{1} << 28;    // read and written

/// The kernels of all layers, each once.
class KernelList {
 public:
  KernelList(const Network& network, const Parallelism& parallelism) : shape_(network, parallelism) {
    for (const LayerSpec& layer : network.layers) add(layer);
    const std::int64_t parameters = std::min(kMostOptimized, parameter_count(network));
    constexpr std::int64_t kAdamBytes = 4 + 2 * 4 + 2 * 8;  // gradient read; weight, both moments read and written
    rows_.push_back({{"kind", "optimizer"},
                     {"movement", "optimizer"},
                     {"parameters", parameters},
                     {"bytes", parameters * kAdamBytes},
                     {"launches", 1}});
    rows_.push_back({{"kind", "copy"}, {"bytes", kCopiedBytes}});
  }

  const ListJson& rows() const { return rows_; }

 private:
  void add(const LayerSpec& layer) {
    for (const LayerSpec& inner : layer.body) add(inner);
    for (const LayerSpec& inner : layer.shortcut) add(inner);
    if (layer.kind == LayerKind::kResidual) {
      const LayerKernels sum = layer_kernels(alone(layer), shape_);
      add_movement("add", sum, Movement::kElementwise, {shape_.norm_tokens(), output_width(layer)});
      return;
    }
    const LayerKernels kernels = layer_kernels(layer, shape_);
    for (const PassKernels* pass : {&kernels.forward, &kernels.input_grad, &kernels.weight_grad})
      add_products(*pass, layer);
    add_movements(layer, kernels);
  }

  /// Returns the block without its branches: what remains is the sum.
  static LayerSpec alone(LayerSpec layer) {
    layer.body.clear();
    layer.shortcut.clear();
    return layer;
  }

  void add_products(const PassKernels& pass, const LayerSpec& layer) {
    for (const Kernel& kernel : pass.list) {
      if (kernel.kind == Kernel::Kind::kGemm) {
        const ProductShape& product = kernel.product;
        add_row({{"kind", "product"},
                 {"pass", kProductPassNames[static_cast<std::size_t>(product.pass)]},
                 {"m", product.m},
                 {"n", product.n},
                 {"k", product.k},
                 {"count", product.count}});
      }
      if (kernel.kind == Kernel::Kind::kAttention) add_attention(kernel, layer);
    }
  }

  void add_attention(const Kernel& kernel, const LayerSpec& layer) {
    const AttentionShape& core = kernel.attention;
    const std::int64_t heads = core.heads / shape_.samples;
    const bool grouped = layer.kind == LayerKind::kAttention && layer.kv_heads > 0;
    add_row({{"kind", "attention"},
             {"pass", kProductPassNames[static_cast<std::size_t>(core.pass)]},
             {"samples", shape_.samples},
             {"heads", heads},
             {"kv_heads", grouped ? std::max<std::int64_t>(1, layer.kv_heads / shape_.parallelism.tensor) : heads},
             {"rows", core.rows},
             {"columns", core.columns},
             {"key_width", core.key_width},
             {"value_width", core.value_width},
             {"causal", layer.causal},
             {"flops", kernel.flops}});
  }

  /// Tokens and features of what a kernel that moves bytes works on.
  struct Extent {
    std::int64_t tokens = 0;
    std::int64_t width = 0;
  };

  void add_movements(const LayerSpec& layer, const LayerKernels& kernels) {
    const std::int64_t tensor = shape_.parallelism.tensor;
    switch (layer.kind) {
      case LayerKind::kLayerNorm:
        return add_movement("layer_norm", kernels, Movement::kNorm, {shape_.norm_tokens(), layer.width});
      case LayerKind::kRmsNorm:
        return add_movement("rms_norm", kernels, Movement::kNorm, {shape_.norm_tokens(), layer.width});
      case LayerKind::kMlp:
        return add_movement(layer.gated ? "swiglu" : "gelu", kernels, Movement::kElementwise,
                            {shape_.tokens(), layer.hidden / tensor});
      case LayerKind::kMoe:
        return add_movement("permute", kernels, Movement::kPermute, {shape_.expert_tokens(layer), layer.width});
      case LayerKind::kHead:
        return add_movement("cross_entropy", kernels, Movement::kLoss,
                            {shape_.tokens(), (layer.vocabulary + tensor - 1) / tensor});
      default:
        return;
    }
  }

  /// `run` stands for all kernels of `kernels` that move bytes in this way.
  void add_movement(const char* run, const LayerKernels& kernels, Movement movement, const Extent& extent) {
    const std::array<std::pair<const char*, const PassKernels*>, 2> passes{
        {{"forward", &kernels.forward}, {"input_grad", &kernels.input_grad}}};
    for (const auto& [name, pass] : passes) {
      double bytes = 0;
      std::int64_t launches = 0;
      for (const Kernel& kernel : pass->list) {
        if (kernel.kind != Kernel::Kind::kMemory || kernel.movement != movement) continue;
        bytes += kernel.bytes;
        launches += kernel.launches;
      }
      if (bytes <= 0) continue;
      add_row({{"kind", "memory"},
               {"run", run},
               {"movement", kMovementNames[static_cast<std::size_t>(movement)]},
               {"pass", name},
               {"tokens", extent.tokens},
               {"width", extent.width},
               {"bytes", bytes},
               {"launches", launches}});
    }
  }

  void add_row(ListJson row) {
    if (std::ranges::find(rows_, row) == rows_.end()) rows_.push_back(std::move(row));
  }

  JobShape shape_;
  ListJson rows_ = ListJson::array();
};

/// Returns a block of the network for PyTorch; null for anything but attention or an MLP behind a norm.
ListJson block_json(const LayerSpec& block) {
  if (block.kind != LayerKind::kResidual || block.body.size() != 2 || !block.shortcut.empty()) return nullptr;
  const LayerSpec& norm = block.body[0];
  const LayerSpec& layer = block.body[1];
  if (norm.kind != LayerKind::kLayerNorm && norm.kind != LayerKind::kRmsNorm) return nullptr;
  ListJson json{{"norm", norm.kind == LayerKind::kRmsNorm ? "rms_norm" : "layer_norm"},
                {"width", layer.width},
                {"bias", layer.bias}};
  if (layer.kind == LayerKind::kAttention) {
    json.update({{"kind", "attention"},
                 {"heads", layer.heads},
                 {"kv_heads", layer.kv_heads > 0 ? layer.kv_heads : layer.heads},
                 {"head_width", head_width(layer)},
                 {"causal", layer.causal}});
    return json;
  }
  if (layer.kind != LayerKind::kMlp) return nullptr;
  json.update({{"kind", "mlp"}, {"hidden", layer.hidden}, {"gated", layer.gated}});
  return json;
}

/// Returns the network for PyTorch: an embedding, blocks, a norm, a head. Null for any other network.
ListJson model_json(const Network& network, const Parallelism& parallelism) {
  const std::size_t count = network.layers.size();
  if (parallelism.devices_per_stage() > 1 || count < 4) return nullptr;
  const LayerSpec& embedding = network.layers.front();
  const LayerSpec& head = network.layers.back();
  const LayerSpec& norm = network.layers[count - 2];
  if (embedding.kind != LayerKind::kEmbedding || head.kind != LayerKind::kHead) return nullptr;
  if (norm.kind != LayerKind::kLayerNorm && norm.kind != LayerKind::kRmsNorm) return nullptr;
  ListJson layers = ListJson::array();
  for (std::size_t k = 1; k + 2 < count; ++k) {
    layers.push_back(block_json(network.layers[k]));
    if (layers.back().is_null()) return nullptr;
  }
  const JobShape shape(network, parallelism);
  return {{"samples", shape.samples},      {"sequence", shape.sequence},           {"width", embedding.width},
          {"vocabulary", head.vocabulary}, {"positions", embedding.positions > 0}, {"tied", head.tied},
          {"layers", std::move(layers)}};
}

}  // namespace

std::string kernel_list_json(const Network& network, const Parallelism& parallelism) {
  check_parallelism(network, parallelism);
  const JobShape shape(network, parallelism);
  const ListJson json{{"format", "plumbline-kernels"},
                      {"version", 1},
                      {"network", network.name},
                      {"shape",
                       {{"samples", shape.samples},
                        {"sequence", shape.sequence},
                        {"tensor", parallelism.tensor},
                        {"dtype", shape.number_bytes() == 4 ? "float32" : "bfloat16"}}},
                      {"kernels", KernelList(network, parallelism).rows()},
                      {"model", model_json(network, parallelism)}};
  return json.dump(1) + "\n";
}

}  // namespace plumb
