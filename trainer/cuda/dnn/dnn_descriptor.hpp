#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "trainer/cuda/dnn/dnn_library.hpp"

namespace plumb::cuda {

// How cuDNN calls the type of an attribute's value.
template <class V>
inline constexpr cudnnBackendAttributeType_t kDnnType = CUDNN_TYPE_VOID_PTR;
template <>
inline constexpr cudnnBackendAttributeType_t kDnnType<std::int64_t> = CUDNN_TYPE_INT64;
template <>
inline constexpr cudnnBackendAttributeType_t kDnnType<std::int32_t> = CUDNN_TYPE_INT32;
template <>
inline constexpr cudnnBackendAttributeType_t kDnnType<float> = CUDNN_TYPE_FLOAT;
template <>
inline constexpr cudnnBackendAttributeType_t kDnnType<cudnnConvolutionMode_t> = CUDNN_TYPE_CONVOLUTION_MODE;
template <>
inline constexpr cudnnBackendAttributeType_t kDnnType<bool> = CUDNN_TYPE_BOOLEAN;
template <>
inline constexpr cudnnBackendAttributeType_t kDnnType<char> = CUDNN_TYPE_CHAR;
template <>
inline constexpr cudnnBackendAttributeType_t kDnnType<cudnnHandle_t> = CUDNN_TYPE_HANDLE;
template <>
inline constexpr cudnnBackendAttributeType_t kDnnType<cudnnDataType_t> = CUDNN_TYPE_DATA_TYPE;
template <>
inline constexpr cudnnBackendAttributeType_t kDnnType<cudnnPointwiseMode_t> = CUDNN_TYPE_POINTWISE_MODE;
template <>
inline constexpr cudnnBackendAttributeType_t kDnnType<cudnnReduceTensorOp_t> = CUDNN_TYPE_REDUCTION_OPERATOR_TYPE;
template <>
inline constexpr cudnnBackendAttributeType_t kDnnType<cudnnBackendHeurMode_t> = CUDNN_TYPE_HEUR_MODE;
template <>
inline constexpr cudnnBackendAttributeType_t kDnnType<cudnnBackendNumericalNote_t> = CUDNN_TYPE_NUMERICAL_NOTE;
template <>
inline constexpr cudnnBackendAttributeType_t kDnnType<cudnnBackendDescriptor_t> = CUDNN_TYPE_BACKEND_DESCRIPTOR;

/// An object of cuDNN's graph API: attributes are set, then it is finalized and may be read and used. Everything throws
/// Error with cuDNN's own words when it is refused.
class DnnDescriptor {
 public:
  explicit DnnDescriptor(cudnnBackendDescriptorType_t type) {
    check_dnn(dnn().BackendCreateDescriptor(type, &descriptor_), "descriptor " + std::to_string(type));
  }
  DnnDescriptor(DnnDescriptor&& other) noexcept : descriptor_(std::exchange(other.descriptor_, nullptr)) {}
  DnnDescriptor& operator=(DnnDescriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~DnnDescriptor() {
    if (descriptor_ != nullptr) dnn().BackendDestroyDescriptor(descriptor_);
  }

  cudnnBackendDescriptor_t get() const { return descriptor_; }

  template <class V>
  void set_all(cudnnBackendAttributeName_t name, std::span<const V> values) {
    check_dnn(dnn().BackendSetAttribute(descriptor_, name, kDnnType<V>, static_cast<std::int64_t>(values.size()),
                                        values.data()),
              "attribute " + std::to_string(name));
  }
  template <class V>
  void set(cudnnBackendAttributeName_t name, const V& value) {
    set_all(name, std::span<const V>(&value, 1));
  }
  void set(cudnnBackendAttributeName_t name, const DnnDescriptor& value) { set(name, value.get()); }
  void finalize(const char* what) { check_dnn(dnn().BackendFinalize(descriptor_), what); }

  /// How many of `values` were written.
  template <class V>
  std::int64_t get_all(cudnnBackendAttributeName_t name, std::span<V> values) const {
    std::int64_t count = 0;
    check_dnn(dnn().BackendGetAttribute(descriptor_, name, kDnnType<V>, static_cast<std::int64_t>(values.size()),
                                        &count, values.data()),
              "attribute " + std::to_string(name));
    return count;
  }
  template <class V>
  V value(cudnnBackendAttributeName_t name) const {
    V result{};
    get_all(name, std::span<V>(&result, 1));
    return result;
  }

 private:
  cudnnBackendDescriptor_t descriptor_ = nullptr;
};

}  // namespace plumb::cuda
