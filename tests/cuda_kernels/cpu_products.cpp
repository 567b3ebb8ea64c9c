#include "tests/cuda_kernels/cpu_products.hpp"

#include <cmath>

namespace plumb::kernels {

namespace {

float number(NumberKind kind, const void* data, std::int64_t at) {
  if (kind == NumberKind::kFloat32) return static_cast<const float*>(data)[at];
  return to_float(static_cast<const BFloat16*>(data)[at]);
}
void set(NumberKind kind, void* data, std::int64_t at, float value) {
  if (kind == NumberKind::kFloat32) {
    static_cast<float*>(data)[at] = value;
  } else {
    static_cast<BFloat16*>(data)[at] = to_bfloat16(value);
  }
}
float element(NumberKind kind, const ProductOperand& of, std::int64_t row, std::int64_t column) {
  return number(kind, of.data, of.transposed ? column * of.stride + row : row * of.stride + column);
}

float gelu(float x) { return 0.5F * x * (1.0F + std::tanh(0.79788456F * (x + 0.044715F * x * x * x))); }
float gelu_slope(float x) {
  const float t = std::tanh(0.79788456F * (x + 0.044715F * x * x * x));
  return 0.5F * (1.0F + t) + 0.5F * x * (1.0F - t * t) * 0.79788456F * (1.0F + 3.0F * 0.044715F * x * x);
}

}  // namespace

bool CpuProducts::fuses(const MatrixProduct& product) const {
  const bool gelu = product.epilogue == Epilogue::kGelu || product.epilogue == Epilogue::kGeluGrad;
  return !gelu || fuses_gelu_;
}

void CpuProducts::run(const MatrixProduct& of, Stream) {
  for (std::int64_t row = 0; row < of.rows; ++row) {
    for (std::int64_t column = 0; column < of.columns; ++column) {
      float sum = 0;
      for (std::int64_t k = 0; k < of.depth; ++k) {
        sum += element(of.operands, of.a, row, k) * element(of.operands, of.b, k, column);
      }
      sum *= of.scale;
      const std::int64_t at = row * of.c_stride + column;
      const std::int64_t inner = row * of.inner_stride + column;
      if (of.accumulates) sum += number(of.result, of.c, at);
      if (of.bias != nullptr) sum += number(of.operands, of.bias, column);
      if (of.epilogue == Epilogue::kGelu) {
        set(of.operands, of.inner, inner, sum);
        sum = gelu(sum);
      }
      if (of.epilogue == Epilogue::kGeluGrad) sum *= gelu_slope(number(of.operands, of.inner, inner));
      set(of.result, of.c, at, sum);
    }
  }
}

}  // namespace plumb::kernels
