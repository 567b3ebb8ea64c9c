#pragma once

#include <type_traits>

#include "trainer/cuda/kernels/attention/attention_units.hpp"
#include "trainer/cuda/layers/cuda_layer.hpp"

namespace plumb::kernels {

/// Attention by whoever the device has for it, by our kernels where that refuses.
template <class T>
void attend(const DeviceContext& device, const AttentionForward<T>& attention) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    if (device.attention != nullptr && device.attention->forward(attention, device.stream)) return;
  }
  attention_forward<T>(attention, device.stream);
}
template <class T>
void attend_back(const DeviceContext& device, const AttentionBackward<T>& attention) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    if (device.attention != nullptr && device.attention->backward(attention, device.stream)) return;
  }
  attention_backward<T>(attention, device.stream);
}

}  // namespace plumb::kernels
