#include "trainer/cuda/kernels/cross_entropy.hpp"

#include "trainer/cuda/kernels/platform.cuh"

namespace plumb::kernels {

namespace {

constexpr unsigned int kThreads = 512;

/// What a row adds to the loss, and whether it was right.
struct RowResult {
  float loss;
  std::int32_t correct;
};

/// f(column, pack) for this thread's packs of a row of any alignment: single numbers up to the first multiple of 16
/// bytes and behind the last one.
template <class T, class F>
__device__ inline void for_row(T* row, std::int64_t width, F f) {
  constexpr int N = kVector<T>;
  const auto misaligned = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(row) % 16 / sizeof(T));
  const std::int64_t until_aligned = misaligned == 0 ? 0 : N - misaligned;
  const std::int64_t begin = until_aligned < width ? until_aligned : width;
  const std::int64_t end = begin + (width - begin) / N * N;
  for (std::int64_t j = threadIdx.x; j < begin; j += kThreads) f(row + j, Pack<T, 1>{{row[j]}});
  for (std::int64_t j = begin + threadIdx.x * N; j < end; j += kThreads * N) f(row + j, load<N>(row + j));
  for (std::int64_t j = end + threadIdx.x; j < width; j += kThreads) f(row + j, Pack<T, 1>{{row[j]}});
}

/// Largest logit of the row and the sum of the exponentials of their distances to it, in one pass.
template <class T>
__device__ inline void measure(T* row, std::int64_t width, float& largest, float& sum) {
  float own_largest = -INFINITY;
  float own_sum = 0;
  for_row(row, width, [&](T*, const auto& pack) {
    float most = own_largest;
    for (const T& x : pack.v) most = fmaxf(most, to_float(x));
    own_sum *= exponential<T>(own_largest - most);
    for (const T& x : pack.v) own_sum += exponential<T>(to_float(x) - most);
    own_largest = most;
  });
  __shared__ float shared[kThreads / kWarp];
  largest = block_max(own_largest, shared);
  sum = block_sum(own_largest == -INFINITY ? 0.0F : own_sum * exponential<T>(own_largest - largest), shared);
}

template <class T>
__global__ void __launch_bounds__(kThreads) softmax_rows(CrossEntropy<T> head, float scale, RowResult* results) {
  const std::int64_t number = blockIdx.x;
  T* row = head.logits + number * head.vocabulary;
  const std::int32_t target = head.targets[number];
  if (target < 0) {
    for (std::int64_t j = threadIdx.x; j < head.vocabulary; j += kThreads) row[j] = from_float<T>(0.0F);
    if (threadIdx.x == 0) results[number] = {0.0F, 0};
    return;
  }
  const float target_logit = to_float(row[target]);
  float largest = 0;
  float sum = 0;
  measure(row, head.vocabulary, largest, sum);
  if (threadIdx.x == 0) results[number] = {largest + logf(sum) - target_logit, target_logit == largest ? 1 : 0};
  const float share = 1.0F / sum;
  const T* at_target = row + target;
  for_row(row, head.vocabulary, [&](T* place, auto pack) {
    constexpr int N = static_cast<int>(sizeof(pack) / sizeof(T));
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const float p = exponential<T>(to_float(pack.v[i]) - largest) * share;
      pack.v[i] = from_float<T>((place + i == at_target ? p - 1.0F : p) * scale);
    }
    store(place, pack);
  });
}

/// One block: the rows of a thread in order, then the threads in order.
__global__ void __launch_bounds__(kThreads)
    add_rows(const RowResult* results, std::int64_t rows, double tokens, double* loss, std::int64_t* correct) {
  __shared__ double losses[kThreads];
  __shared__ int right[kThreads];
  double sum = 0;
  int count = 0;
  for (std::int64_t row = threadIdx.x; row < rows; row += kThreads) {
    sum += static_cast<double>(results[row].loss);
    count += results[row].correct;
  }
  losses[threadIdx.x] = sum;
  right[threadIdx.x] = count;
  for (unsigned int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x >= half) continue;
    losses[threadIdx.x] += losses[threadIdx.x + half];
    right[threadIdx.x] += right[threadIdx.x + half];
  }
  if (threadIdx.x != 0) return;
  if (loss != nullptr) *loss = losses[0] / tokens;
  if (correct != nullptr) *correct += right[0];
}

template <class T>
__global__ void __launch_bounds__(kThreads) error_rows(SquaredError<T> of, RowResult* results) {
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * of.width;
  const float share = static_cast<float>(of.loss_tokens);
  float sum = 0;
  for (std::int64_t j = threadIdx.x; j < of.width; j += kThreads) {
    const float difference = to_float(of.values[first + j]) - static_cast<float>(of.targets[first + j]);
    sum += 0.5F * difference * difference;
    of.error[first + j] = from_float<T>(difference / share);
  }
  __shared__ float shared[kThreads / kWarp];
  const float total = block_sum(sum, shared);
  if (threadIdx.x == 0) results[blockIdx.x] = {total, 0};
}

}  // namespace

std::int64_t cross_entropy_scratch_bytes(std::int64_t rows) {
  return rows * static_cast<std::int64_t>(sizeof(RowResult));
}

template <class T>
void cross_entropy(const CrossEntropy<T>& head, Stream stream) {
  auto* results = reinterpret_cast<RowResult*>(head.scratch);
  const auto scale = static_cast<float>(1.0 / head.loss_tokens);
  launch(softmax_rows<T>, {dim3(static_cast<unsigned int>(head.rows)), dim3(kThreads)}, stream, head, scale, results);
  launch(add_rows, {dim3(1), dim3(kThreads)}, stream, static_cast<const RowResult*>(results), head.rows,
         head.loss_tokens, head.loss, head.correct);
}

template <class T>
void squared_error(const SquaredError<T>& loss, Stream stream) {
  auto* results = reinterpret_cast<RowResult*>(loss.scratch);
  std::int64_t* const nobody = nullptr;
  launch(error_rows<T>, {dim3(static_cast<unsigned int>(loss.rows)), dim3(kThreads)}, stream, loss, results);
  launch(add_rows, {dim3(1), dim3(kThreads)}, stream, static_cast<const RowResult*>(results), loss.rows,
         loss.loss_tokens, loss.loss, nobody);
}

template void cross_entropy(const CrossEntropy<float>&, Stream);
template void cross_entropy(const CrossEntropy<BFloat16>&, Stream);
template void squared_error(const SquaredError<float>&, Stream);
template void squared_error(const SquaredError<BFloat16>&, Stream);

}  // namespace plumb::kernels
