#pragma once

#include <memory>

#include "models/network/network.hpp"
#include "trainer/cuda/layers/cuda_layer.hpp"

namespace plumb::kernels {

// One maker per kind of layer, or for kinds that share their arithmetic; for float and BFloat16.

template <class T>
std::unique_ptr<CudaLayer<T>> make_embedding(const LayerSpec& spec, const MicrobatchShape& shape);
template <class T>
std::unique_ptr<CudaLayer<T>> make_norm(const LayerSpec& spec, const MicrobatchShape& shape);
template <class T>
std::unique_ptr<CudaLayer<T>> make_attention(const LayerSpec& spec, const MicrobatchShape& shape);
template <class T>
std::unique_ptr<CudaLayer<T>> make_attention_core(const LayerSpec& spec, const MicrobatchShape& shape);
template <class T>
std::unique_ptr<CudaLayer<T>> make_mlp(const LayerSpec& spec, const MicrobatchShape& shape);
template <class T>
std::unique_ptr<CudaLayer<T>> make_linear(const LayerSpec& spec, const MicrobatchShape& shape);
template <class T>
std::unique_ptr<CudaLayer<T>> make_cross_projection(const LayerSpec& spec, const MicrobatchShape& shape);
template <class T>
std::unique_ptr<CudaLayer<T>> make_head(const LayerSpec& spec, const MicrobatchShape& shape);
template <class T>
std::unique_ptr<CudaLayer<T>> make_values(const LayerSpec& spec, const MicrobatchShape& shape);
template <class T>
std::unique_ptr<CudaLayer<T>> make_squared_error(const LayerSpec& spec, const MicrobatchShape& shape);
template <class T>
std::unique_ptr<CudaLayer<T>> make_pixels(const LayerSpec& spec, const MicrobatchShape& shape);
template <class T>
std::unique_ptr<CudaLayer<T>> make_convolution(const LayerSpec& spec, const MicrobatchShape& shape);
template <class T>
std::unique_ptr<CudaLayer<T>> make_channel_norm(const LayerSpec& spec, const MicrobatchShape& shape);
template <class T>
std::unique_ptr<CudaLayer<T>> make_relu(const LayerSpec& spec, const MicrobatchShape& shape);
template <class T>
std::unique_ptr<CudaLayer<T>> make_pool(const LayerSpec& spec, const MicrobatchShape& shape);

}  // namespace plumb::kernels
