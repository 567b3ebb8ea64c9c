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
/// bytes and after the last one.
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

constexpr unsigned int kAcross = 4;                 ///< threads side by side, a pack of tokens each
constexpr unsigned int kDown = kThreads / kAcross;  ///< rows at a time
constexpr int kAhead = 4;                           ///< rows under way per thread

/// f(row, pack) for the rows of this thread; `column`: of its first token.
template <int N, class T, class F>
__device__ inline void for_column(const CrossEntropy<T>& head, std::int64_t column, F f) {
  constexpr std::int64_t kStep = std::int64_t{kDown} * kAhead;
  for (std::int64_t first = threadIdx.x / kAcross; first < head.vocabulary; first += kStep) {
    Pack<T, N> packs[kAhead];
#pragma unroll
    for (int a = 0; a < kAhead; ++a) {
      const std::int64_t row = first + a * std::int64_t{kDown};
      if (row < head.vocabulary) packs[a] = load<N>(head.logits + row * head.rows + column);
    }
#pragma unroll
    for (int a = 0; a < kAhead; ++a) {
      const std::int64_t row = first + a * std::int64_t{kDown};
      if (row < head.vocabulary) f(row, packs[a]);
    }
  }
}

/// What is known of the tokens of a block.
template <int N>
struct ColumnMeasures {
  float largest[kDown][kAcross * N];  ///< by thread; after `join`, the first row holds the token's
  float sum[kDown][kAcross * N];
};

/// Joins the measures of all threads of a token, in their order, by one thread; and what the token adds to the loss.
template <class T, int N>
__device__ inline RowResult join(ColumnMeasures<N>& all, const T* logit_of_target) {
  const unsigned int token = threadIdx.x;
  float largest = -INFINITY;
  for (unsigned int i = 0; i < kDown; ++i) largest = fmaxf(largest, all.largest[i][token]);
  float sum = 0;
  for (unsigned int i = 0; i < kDown; ++i) {
    if (all.largest[i][token] != -INFINITY) sum += all.sum[i][token] * exponential<T>(all.largest[i][token] - largest);
  }
  all.largest[0][token] = largest;
  all.sum[0][token] = sum;
  if (logit_of_target == nullptr) return {0.0F, 0};
  const float logit = to_float(*logit_of_target);
  return {largest + logf(sum) - logit, logit == largest ? 1 : 0};
}

/// A block per kAcross packs of tokens.
template <class T, int N>
__global__ void __launch_bounds__(kThreads) softmax_columns(CrossEntropy<T> head, float scale, RowResult* results) {
  __shared__ ColumnMeasures<N> all;
  const unsigned int across = threadIdx.x % kAcross * N;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kAcross * N;
  const std::int64_t column = first + across;
  const bool valid = column < head.rows;
  float largest[N];
  float sum[N] = {};
  for (float& one : largest) one = -INFINITY;
  if (valid) {
    for_column<N>(head, column, [&](std::int64_t, const Pack<T, N>& pack) {
#pragma unroll
      for (int i = 0; i < N; ++i) {
        const float x = to_float(pack.v[i]);
        const float most = fmaxf(largest[i], x);
        // One of the two exponents is 0.
        const float shrink = exponential<T>(fminf(largest[i], x) - most);
        sum[i] = x > largest[i] ? sum[i] * shrink + 1.0F : sum[i] + shrink;
        largest[i] = most;
      }
    });
  }
#pragma unroll
  for (int i = 0; i < N; ++i) {
    all.largest[threadIdx.x / kAcross][across + static_cast<unsigned int>(i)] = largest[i];
    all.sum[threadIdx.x / kAcross][across + static_cast<unsigned int>(i)] = sum[i];
  }
  __syncthreads();
  if (threadIdx.x < kAcross * N && first + threadIdx.x < head.rows) {
    const std::int64_t token = first + threadIdx.x;
    const std::int32_t target = head.targets[token];
    results[token] = join<T, N>(all, target < 0 ? nullptr : head.logits + target * head.rows + token);
  }
  __syncthreads();
  if (!valid) return;
  std::int32_t target[N];
  float share[N];
#pragma unroll
  for (int i = 0; i < N; ++i) {
    target[i] = head.targets[column + i];
    largest[i] = all.largest[0][across + static_cast<unsigned int>(i)];
    share[i] = 1.0F / all.sum[0][across + static_cast<unsigned int>(i)];
  }
  for_column<N>(head, column, [&](std::int64_t row, Pack<T, N> pack) {
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const float p = exponential<T>(to_float(pack.v[i]) - largest[i]) * share[i];
      const float error = (row == target[i] ? p - 1.0F : p) * scale;
      pack.v[i] = from_float<T>(target[i] < 0 ? 0.0F : error);
    }
    store(head.logits + row * head.rows + column, pack);
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

template <class T, int N>
void softmax_in_columns(const CrossEntropy<T>& head, float scale, RowResult* results, Stream stream) {
  const auto blocks = static_cast<unsigned int>(ceil_div(head.rows, std::int64_t{kAcross} * N));
  launch(softmax_columns<T, N>, {dim3(blocks), dim3(kThreads)}, stream, head, scale, results);
}

template <class T>
void cross_entropy(const CrossEntropy<T>& head, Stream stream) {
  auto* results = reinterpret_cast<RowResult*>(head.scratch);
  const auto scale = static_cast<float>(1.0 / head.loss_tokens);
  if (!head.by_columns) {
    launch(softmax_rows<T>, {dim3(static_cast<unsigned int>(head.rows)), dim3(kThreads)}, stream, head, scale, results);
  } else if (in_packs<T>(head.rows, head.logits)) {
    softmax_in_columns<T, kVector<T>>(head, scale, results, stream);
  } else {
    softmax_in_columns<T, 1>(head, scale, results, stream);
  }
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
