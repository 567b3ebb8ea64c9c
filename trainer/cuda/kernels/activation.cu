#include "trainer/cuda/kernels/activation.hpp"

#include "trainer/cuda/kernels/platform.cuh"

namespace plumb::kernels {

namespace {

constexpr unsigned int kThreads = 256;
// GELU in its tanh form: x s(u), s the logistic function, u = 2 sqrt(2/pi) (x + 0.044715 x^3).
constexpr float kGeluScale = 1.5957691216057308F;
constexpr float kGeluCubic = 0.044715F;

template <class T>
__device__ inline float logistic(float x) {
  return 1.0F / (1.0F + exponential<T>(-x));
}
template <class T>
__device__ inline float gelu(float x) {
  return x * logistic<T>(kGeluScale * (x + kGeluCubic * x * x * x));
}
template <class T>
__device__ inline float gelu_slope(float x) {
  const float s = logistic<T>(kGeluScale * (x + kGeluCubic * x * x * x));
  return s + x * s * (1.0F - s) * kGeluScale * (1.0F + 3.0F * kGeluCubic * x * x);
}

/// f(row, column) for the pack of this thread.
template <int N, class F>
__device__ inline void at_pack(std::int64_t rows, std::int64_t hidden, F f) {
  const std::int64_t at = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * N;
  if (at < rows * hidden) f(at / hidden, at % hidden);
}

template <class T, int N, bool kGated>
__global__ void __launch_bounds__(kThreads) activate_packs(Activation<T> of) {
  at_pack<N>(of.rows, of.hidden, [&](std::int64_t row, std::int64_t column) {
    const T* inner = of.inner + row * of.hidden * (kGated ? 2 : 1) + column;
    Pack<T, N> x = load<N>(inner);
    if constexpr (kGated) {
      const Pack<T, N> up = load<N>(inner + of.hidden);
#pragma unroll
      for (int i = 0; i < N; ++i) {
        const float gate = to_float(x.v[i]);
        x.v[i] = from_float<T>(gate * logistic<T>(gate) * to_float(up.v[i]));
      }
    } else {
#pragma unroll
      for (int i = 0; i < N; ++i) x.v[i] = from_float<T>(gelu<T>(to_float(x.v[i])));
    }
    store(of.activated + row * of.hidden + column, x);
  });
}

template <class T, int N, bool kGated>
__global__ void __launch_bounds__(kThreads) grad_packs(ActivationGrad<T> of) {
  at_pack<N>(of.rows, of.hidden, [&](std::int64_t row, std::int64_t column) {
    const std::int64_t at = row * of.hidden * (kGated ? 2 : 1) + column;
    const Pack<T, N> x = load<N>(of.inner + at);
    if constexpr (kGated) {
      const Pack<T, N> up = load<N>(of.inner + at + of.hidden);
      Pack<T, N> of_up = load<N>(of.gradient + at + of.hidden);
      Pack<T, N> of_gate;
#pragma unroll
      for (int i = 0; i < N; ++i) {
        const float gate = to_float(x.v[i]);
        const float s = logistic<T>(gate);
        const float gradient = to_float(of_up.v[i]);
        of_gate.v[i] = from_float<T>(gradient * to_float(up.v[i]) * (s + gate * s * (1.0F - s)));
        of_up.v[i] = from_float<T>(gradient * gate * s);
      }
      store(of.gradient + at, of_gate);
      store(of.gradient + at + of.hidden, of_up);
    } else {
      Pack<T, N> gradient = load<N>(of.gradient + at);
#pragma unroll
      for (int i = 0; i < N; ++i) {
        gradient.v[i] = from_float<T>(to_float(gradient.v[i]) * gelu_slope<T>(to_float(x.v[i])));
      }
      store(of.gradient + at, gradient);
    }
  });
}

template <int N>
LaunchShape pack_each(std::int64_t numbers) {
  return {dim3(static_cast<unsigned int>(ceil_div(numbers, kThreads * N))), dim3(kThreads)};
}

template <class T, int N>
void activate_in(const Activation<T>& of, Stream stream) {
  const LaunchShape shape = pack_each<N>(of.rows * of.hidden);
  launch(of.gated ? activate_packs<T, N, true> : activate_packs<T, N, false>, shape, stream, of);
}
template <class T, int N>
void grad_in(const ActivationGrad<T>& of, Stream stream) {
  const LaunchShape shape = pack_each<N>(of.rows * of.hidden);
  launch(of.gated ? grad_packs<T, N, true> : grad_packs<T, N, false>, shape, stream, of);
}

}  // namespace

template <class T>
void activate(const Activation<T>& activation, Stream stream) {
  const bool packs = in_packs<T>(activation.hidden, activation.inner, activation.activated);
  return packs ? activate_in<T, kVector<T>>(activation, stream) : activate_in<T, 1>(activation, stream);
}
template <class T>
void activation_grad(const ActivationGrad<T>& activation, Stream stream) {
  const bool packs = in_packs<T>(activation.hidden, activation.inner, activation.gradient);
  return packs ? grad_in<T, kVector<T>>(activation, stream) : grad_in<T, 1>(activation, stream);
}

template void activate(const Activation<float>&, Stream);
template void activate(const Activation<BFloat16>&, Stream);
template void activation_grad(const ActivationGrad<float>&, Stream);
template void activation_grad(const ActivationGrad<BFloat16>&, Stream);

}  // namespace plumb::kernels
