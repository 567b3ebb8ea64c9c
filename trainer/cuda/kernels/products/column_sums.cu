#include "trainer/cuda/kernels/products/column_sums.cuh"

namespace plumb::kernels {

namespace {

template <class T, int N>
struct Entries {
  const T* matrix;
  std::int64_t width;

  __device__ void operator()(std::int64_t row, std::int64_t column, float (&out)[1][N]) const {
    const Pack<T, N> pack = load<N>(matrix + row * width + column);
#pragma unroll
    for (int i = 0; i < N; ++i) out[0][i] = to_float(pack.v[i]);
  }
};

}  // namespace

std::int64_t column_scratch_bytes(std::int64_t rows, std::int64_t width, int sums) {
  return ceil_div(rows, rows_per_chunk(rows)) * width * sums * static_cast<std::int64_t>(sizeof(float));
}

template <class T>
void add_column_sums(const ColumnSums<T>& columns, Stream stream) {
  const ColumnSums<float> shape{nullptr, columns.rows, columns.width, nullptr, columns.scratch};
  const AddToGradients finish{{columns.sums, nullptr}};
  if (in_packs<T>(columns.width, columns.matrix)) {
    sum_columns_in<1, kVector<T>>(Entries<T, kVector<T>>{columns.matrix, columns.width}, finish, shape, stream);
  } else {
    sum_columns_in<1, 1>(Entries<T, 1>{columns.matrix, columns.width}, finish, shape, stream);
  }
}

template void add_column_sums(const ColumnSums<float>&, Stream);
template void add_column_sums(const ColumnSums<BFloat16>&, Stream);

}  // namespace plumb::kernels
