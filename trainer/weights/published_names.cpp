#include <optional>
#include <string>
#include <utility>

#include "models/network/flow.hpp"
#include "models/network/layer_shape.hpp"
#include "trainer/weights/tensor_names.hpp"

namespace plumb {
namespace {

/// The layers of an opened network one after the other.
class LayerCursor {
 public:
  explicit LayerCursor(const Network& network) : layers_(network.layers) {}

  bool is(LayerKind kind) const { return at_ < layers_.size() && layers_[at_].kind == kind; }
  /// Returns the next layer, if it is of this kind; null, and nothing is read, if it is not.
  const LayerSpec* take(LayerKind kind) { return is(kind) ? &layers_[at_++] : nullptr; }
  bool at_end() const { return at_ == layers_.size(); }

 private:
  std::span<const LayerSpec> layers_;
  std::size_t at_ = 0;
};

/// Rows of a weight, each with a number of the bias where there is one.
struct Rows {
  std::int64_t count = 0;
  std::int64_t columns = 0;
  bool bias = false;
  std::int64_t first = 0;
};

/// Collects the tensors of layers under their published names.
class NameList {
 public:
  explicit NameList(Naming naming, std::string family, std::string prefix = "") {
    names_.naming = naming;
    names_.family = std::move(family);
    names_.prefix = std::move(prefix);
  }

  void add(const std::string& name, std::vector<std::int64_t> shape, const LayerSpec& layer, const char* parameter,
           std::int64_t first_row = 0) {
    names_.tensors.push_back({.name = names_.prefix + name,
                              .shape = std::move(shape),
                              .parameter = layer.name + "." + parameter,
                              .first_row = first_row});
  }

  /// y = x W^T + b with the weight as PyTorch's Linear has it; some rows of the parameter `ours`.
  void linear(const std::string& name, const Rows& rows, const LayerSpec& layer, const std::string& ours) {
    add(name + ".weight", {rows.count, rows.columns}, layer, (ours + "weight").c_str(), rows.first);
    if (rows.bias) add(name + ".bias", {rows.count}, layer, (ours + "bias").c_str(), rows.first);
  }

  /// Adds a weight as GPT-2's Conv1D has it: (inputs, outputs).
  void conv1d(const std::string& name, std::int64_t rows, std::int64_t columns, const LayerSpec& layer,
              const std::string& ours) {
    add(name + ".weight", {columns, rows}, layer, (ours + "weight").c_str());
    names_.tensors.back().order = TensorOrder::kTransposed;
    add(name + ".bias", {rows}, layer, (ours + "bias").c_str());
  }

  void norm(const std::string& name, std::int64_t width, const LayerSpec& layer, bool bias) {
    add(name + ".weight", {width}, layer, "weight");
    if (bias) add(name + ".bias", {width}, layer, "bias");
  }

  void convolution(const std::string& name, const LayerSpec& layer) {
    add(name + ".weight", {layer.filters, layer.channels, layer.kernel, layer.kernel}, layer, "weight");
    by_channel(layer.channels);
    if (layer.bias) add(name + ".bias", {layer.filters}, layer, "bias");
  }

  /// The tensor added last has its columns by channel.
  void by_channel(std::int64_t channels) {
    names_.tensors.back().order = TensorOrder::kChannelsFirst;
    names_.tensors.back().channels = channels;
  }

  /// The weight of a language model's head.
  void head(const LayerSpec& head, const LayerSpec& embedding) {
    const std::vector<std::int64_t> shape{head.vocabulary, head.width};
    if (!head.tied) {
      names_.tensors.push_back({.name = "lm_head.weight", .shape = shape, .parameter = head.name + ".weight"});
    } else {
      names_.copy = NamedTensor{.name = "lm_head.weight", .shape = shape, .parameter = embedding.name + ".weight"};
    }
  }

  TensorNames take() { return std::move(names_); }

 private:
  TensorNames names_;
};

/// The layers of one block of a decoder; null where something is different.
struct DecoderBlock {
  const LayerSpec* first_norm = nullptr;
  const LayerSpec* attention = nullptr;
  const LayerSpec* second_norm = nullptr;
  const LayerSpec* mlp = nullptr;

  bool whole() const { return mlp != nullptr; }
};

DecoderBlock take_block(LayerCursor& layers, LayerKind norm) {
  DecoderBlock block;
  block.first_norm = layers.take(norm);
  if (block.first_norm == nullptr) return {};
  block.attention = layers.take(LayerKind::kAttention);
  if (block.attention == nullptr || layers.take(LayerKind::kAdd) == nullptr) return {};
  block.second_norm = layers.take(norm);
  if (block.second_norm == nullptr) return {};
  const LayerSpec* mlp = layers.take(LayerKind::kMlp);
  if (mlp == nullptr || layers.take(LayerKind::kAdd) == nullptr) return {};
  block.mlp = mlp;
  return block;
}

/// An embedding, blocks, a norm and a head.
struct Decoder {
  const LayerSpec* embedding = nullptr;
  std::vector<DecoderBlock> blocks;
  const LayerSpec* norm = nullptr;
  const LayerSpec* head = nullptr;
};

std::optional<Decoder> decoder_of(const Network& network, LayerKind norm) {
  LayerCursor layers(network);
  Decoder decoder;
  decoder.embedding = layers.take(LayerKind::kEmbedding);
  if (decoder.embedding == nullptr || decoder.embedding->sinusoidal || decoder.embedding->target) return std::nullopt;
  for (;;) {
    LayerCursor ahead = layers;
    const DecoderBlock block = take_block(ahead, norm);
    if (!block.whole()) break;
    decoder.blocks.push_back(block);
    layers = ahead;
  }
  decoder.norm = layers.take(norm);
  decoder.head = layers.take(LayerKind::kHead);
  if (decoder.norm == nullptr || decoder.head == nullptr || !layers.at_end()) return std::nullopt;
  return decoder;
}

/// transformers' GPT2LMHeadModel.
std::optional<TensorNames> gpt2_names(const Network& network) {
  const std::optional<Decoder> decoder = decoder_of(network, LayerKind::kLayerNorm);
  if (!decoder || decoder->embedding->positions == 0 || !decoder->norm->bias) return std::nullopt;
  NameList names(Naming::kHuggingFace, "gpt2", "transformer.");
  const LayerSpec& embedding = *decoder->embedding;
  const std::int64_t width = embedding.width;
  names.add("wte.weight", {embedding.vocabulary, width}, embedding, "weight");
  names.add("wpe.weight", {embedding.positions, width}, embedding, "positions");
  for (std::size_t k = 0; k < decoder->blocks.size(); ++k) {
    const auto& [first, attention, second, mlp] = decoder->blocks[k];
    const bool grouped = attention->kv_heads != 0 && attention->kv_heads != attention->heads;
    if (!first->bias || !second->bias || !attention->bias || attention->rotary || grouped || mlp->gated || !mlp->bias) {
      return std::nullopt;
    }
    const std::string block = "h." + std::to_string(k) + ".";
    names.norm(block + "ln_1", width, *first, true);
    names.conv1d(block + "attn.c_attn", 3 * width, width, *attention, "qkv.");
    names.conv1d(block + "attn.c_proj", width, width, *attention, "out.");
    names.norm(block + "ln_2", width, *second, true);
    names.conv1d(block + "mlp.c_fc", mlp->hidden, width, *mlp, "in.");
    names.conv1d(block + "mlp.c_proj", width, mlp->hidden, *mlp, "out.");
  }
  names.norm("ln_f", width, *decoder->norm, true);
  names.head(*decoder->head, embedding);
  return names.take();
}

void add_llama_attention(const std::string& name, const LayerSpec& attention, NameList& names) {
  const std::int64_t queries = queries_width(attention);
  const std::int64_t keys = (qkv_width(attention) - queries) / 2;
  const bool bias = attention.bias || attention.qkv_bias;
  names.linear(name + "q_proj", {queries, attention.width, bias}, attention, "qkv.");
  names.linear(name + "k_proj", {keys, attention.width, bias, queries}, attention, "qkv.");
  names.linear(name + "v_proj", {keys, attention.width, bias, queries + keys}, attention, "qkv.");
  names.linear(name + "o_proj", {attention.width, queries, attention.bias}, attention, "out.");
}

/// transformers' LlamaForCausalLM, whose names those of Mistral and Qwen2 are, too.
std::optional<TensorNames> llama_names(const Network& network) {
  const std::optional<Decoder> decoder = decoder_of(network, LayerKind::kRmsNorm);
  if (!decoder || decoder->embedding->positions > 0) return std::nullopt;
  NameList names(Naming::kHuggingFace, "llama", "model.");
  const LayerSpec& embedding = *decoder->embedding;
  const std::int64_t width = embedding.width;
  names.add("embed_tokens.weight", {embedding.vocabulary, width}, embedding, "weight");
  for (std::size_t k = 0; k < decoder->blocks.size(); ++k) {
    const auto& [first, attention, second, mlp] = decoder->blocks[k];
    if (!attention->rotary || attention->head_norm || !mlp->gated) return std::nullopt;
    const std::string block = "layers." + std::to_string(k) + ".";
    names.norm(block + "input_layernorm", width, *first, false);
    add_llama_attention(block + "self_attn.", *attention, names);
    names.norm(block + "post_attention_layernorm", width, *second, false);
    names.linear(block + "mlp.gate_proj", {mlp->hidden, width, mlp->bias}, *mlp, "in.");
    names.linear(block + "mlp.up_proj", {mlp->hidden, width, mlp->bias, mlp->hidden}, *mlp, "in.");
    names.linear(block + "mlp.down_proj", {width, mlp->hidden, mlp->bias}, *mlp, "out.");
  }
  names.norm("norm", width, *decoder->norm, false);
  names.head(*decoder->head, embedding);
  return names.take();
}

const LayerSpec* take_image_norm(LayerCursor& layers) {
  const LayerSpec* norm = layers.take(LayerKind::kBatchNorm);
  return norm != nullptr ? norm : layers.take(LayerKind::kGroupNorm);
}

/// Returns one block of a residual network: convolutions with norms, perhaps a shortcut, an addition and an activation.
/// Returns the filters that it makes; 0 when it is something else. `place` is "layer1.0.".
std::int64_t add_residual_block(LayerCursor& layers, const std::string& place, NameList& names) {
  std::int64_t made = 0;
  bool shortcut = false;
  for (std::int64_t k = 1; !layers.is(LayerKind::kAdd); ++k) {
    const LayerSpec* convolution = layers.take(LayerKind::kConvolution);
    const LayerSpec* norm = convolution == nullptr ? nullptr : take_image_norm(layers);
    if (norm == nullptr || shortcut) return 0;
    const bool goes_on = layers.take(LayerKind::kRelu) != nullptr;
    // Behind the last norm of the body there is no activation; what follows it is the shortcut.
    shortcut = made > 0;
    const std::string number = std::to_string(k);
    names.convolution(place + (shortcut ? "downsample.0" : "conv" + number), *convolution);
    names.norm(place + (shortcut ? "downsample.1" : "bn" + number), norm->channels, *norm, true);
    if (!goes_on && !shortcut) made = convolution->filters;
    if (goes_on && shortcut) return 0;
  }
  return layers.take(LayerKind::kAdd) != nullptr && layers.take(LayerKind::kRelu) != nullptr ? made : 0;
}

/// torchvision's ResNet; a new `layer` begins where the number of filters changes.
std::optional<TensorNames> resnet_names(const Network& network) {
  LayerCursor layers(network);
  NameList names(Naming::kTorchvision, "resnet");
  if (layers.take(LayerKind::kPixels) == nullptr) return std::nullopt;
  const LayerSpec* stem = layers.take(LayerKind::kConvolution);
  const LayerSpec* norm = stem == nullptr ? nullptr : take_image_norm(layers);
  if (norm == nullptr || layers.take(LayerKind::kRelu) == nullptr) return std::nullopt;
  names.convolution("conv1", *stem);
  names.norm("bn1", norm->channels, *norm, true);
  layers.take(LayerKind::kMaxPool);
  std::int64_t layer = 0;
  std::int64_t block = 0;
  std::int64_t filters = 0;
  while (!layers.is(LayerKind::kAveragePool)) {
    // The filters of a block tell which layer it belongs to, so it is read ahead.
    LayerCursor ahead = layers;
    NameList unused(Naming::kTorchvision, "");
    const std::int64_t made = add_residual_block(ahead, "", unused);
    if (made == 0) return std::nullopt;
    block = made == filters ? block + 1 : 0;
    if (made != filters) ++layer;
    filters = made;
    add_residual_block(layers, "layer" + std::to_string(layer) + "." + std::to_string(block) + ".", names);
  }
  layers.take(LayerKind::kAveragePool);
  const LayerSpec* classifier = layers.take(LayerKind::kClassifier);
  if (classifier == nullptr || !layers.at_end() || filters == 0) return std::nullopt;
  names.linear("fc", {classifier->vocabulary, classifier->width, classifier->bias}, *classifier, "");
  return names.take();
}

/// torchvision's VGG without batch norm: numbers count all layers of `features`, and dropout in `classifier`.
std::optional<TensorNames> vgg_names(const Network& network) {
  LayerCursor layers(network);
  NameList names(Naming::kTorchvision, "vgg");
  if (layers.take(LayerKind::kPixels) == nullptr) return std::nullopt;
  ImageShape image;
  for (std::int64_t k = 0;; ++k) {
    if (const LayerSpec* convolution = layers.take(LayerKind::kConvolution)) {
      names.convolution("features." + std::to_string(k), *convolution);
      image = output_image(*convolution);
    } else if (const LayerSpec* pool = layers.take(LayerKind::kMaxPool)) {
      image = output_image(*pool);
    } else if (layers.take(LayerKind::kRelu) == nullptr) {
      break;
    }
  }
  for (std::int64_t k = 0; image.channels > 0; k += 3) {
    const LayerSpec* linear = layers.take(LayerKind::kLinear);
    const LayerSpec* last = linear == nullptr ? layers.take(LayerKind::kClassifier) : nullptr;
    const LayerSpec* layer = linear != nullptr ? linear : last;
    if (layer == nullptr || (linear != nullptr && layers.take(LayerKind::kRelu) == nullptr)) return std::nullopt;
    if (k == 0 && layer->width != image.features()) return std::nullopt;
    const std::string name = "classifier." + std::to_string(k);
    names.add(name + ".weight", {last != nullptr ? last->vocabulary : linear->outputs, layer->width}, *layer, "weight");
    if (k == 0) names.by_channel(image.channels);
    if (layer->bias) names.add(name + ".bias", {last != nullptr ? last->vocabulary : linear->outputs}, *layer, "bias");
    if (last == nullptr) continue;
    if (!layers.at_end()) return std::nullopt;
    return names.take();
  }
  return std::nullopt;
}

}  // namespace

std::optional<TensorNames> published_names(const Network& network) {
  if (network.layers.front().kind == LayerKind::kResidual) return std::nullopt;
  const Network open = opened(network);
  for (const auto& names_of : {gpt2_names, llama_names, resnet_names, vgg_names}) {
    std::optional<TensorNames> names = names_of(open);
    if (names) return names;
  }
  return std::nullopt;
}

}  // namespace plumb
