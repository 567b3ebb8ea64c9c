#pragma once

#include <memory>

#include "models/network/network.hpp"
#include "trainer/layers/layer.hpp"

namespace plumb {

// One maker per kind of layer, each in the source of that name. For float and double.

template <class T>
std::unique_ptr<Layer<T>> make_embedding(const LayerSpec& spec, const MicrobatchShape& shape);
template <class T>
std::unique_ptr<Layer<T>> make_layer_norm(const LayerSpec& spec, const MicrobatchShape& shape);
template <class T>
std::unique_ptr<Layer<T>> make_rms_norm(const LayerSpec& spec, const MicrobatchShape& shape);
template <class T>
std::unique_ptr<Layer<T>> make_attention(const LayerSpec& spec, const MicrobatchShape& shape);
template <class T>
std::unique_ptr<Layer<T>> make_mlp(const LayerSpec& spec, const MicrobatchShape& shape);
template <class T>
std::unique_ptr<Layer<T>> make_linear(const LayerSpec& spec, const MicrobatchShape& shape);
template <class T>
std::unique_ptr<Layer<T>> make_head(const LayerSpec& spec, const MicrobatchShape& shape);
template <class T>
std::unique_ptr<Layer<T>> make_values(const LayerSpec& spec, const MicrobatchShape& shape);
template <class T>
std::unique_ptr<Layer<T>> make_squared_error(const LayerSpec& spec, const MicrobatchShape& shape);
template <class T>
std::unique_ptr<Layer<T>> make_pixels(const LayerSpec& spec, const MicrobatchShape& shape);
template <class T>
std::unique_ptr<Layer<T>> make_convolution(const LayerSpec& spec, const MicrobatchShape& shape);
template <class T>
std::unique_ptr<Layer<T>> make_batch_norm(const LayerSpec& spec, const MicrobatchShape& shape);
template <class T>
std::unique_ptr<Layer<T>> make_group_norm(const LayerSpec& spec, const MicrobatchShape& shape);
template <class T>
std::unique_ptr<Layer<T>> make_relu(const LayerSpec& spec, const MicrobatchShape& shape);
template <class T>
std::unique_ptr<Layer<T>> make_max_pool(const LayerSpec& spec, const MicrobatchShape& shape);
template <class T>
std::unique_ptr<Layer<T>> make_average_pool(const LayerSpec& spec, const MicrobatchShape& shape);
template <class T>
std::unique_ptr<Layer<T>> make_classifier(const LayerSpec& spec, const MicrobatchShape& shape);
template <class T>
std::unique_ptr<Layer<T>> make_cross_projection(const LayerSpec& spec, const MicrobatchShape& shape);
template <class T>
std::unique_ptr<Layer<T>> make_attention_core(const LayerSpec& spec, const MicrobatchShape& shape);

}  // namespace plumb
