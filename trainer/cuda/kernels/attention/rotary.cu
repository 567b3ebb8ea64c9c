#include "trainer/cuda/kernels/attention/rotary.hpp"

#include "trainer/cuda/kernels/platform.cuh"

namespace plumb::kernels {

namespace {

constexpr unsigned int kThreads = 256;

/// Cosines, then sines of a position. In double, as positions times frequencies lose all digits in float.
__global__ void fill_angles(RotaryFrequencies frequencies, float* angles, std::int64_t sequence, std::int64_t before,
                            std::int64_t half) {
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (at >= sequence * half) return;
  const std::int64_t position = at / half;
  const std::int64_t i = at % half;
  const double angle = static_cast<double>(before + position) * frequencies.of[i];
  angles[position * 2 * half + i] = static_cast<float>(cos(angle));
  angles[position * 2 * half + half + i] = static_cast<float>(sin(angle));
}

template <class T>
__global__ void turn_rows(RotaryTurn<T> rotary) {
  const std::int64_t half = rotary.head_width / 2;
  const std::int64_t pairs = rotary.heads * half;
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (at >= rotary.tokens * pairs) return;
  const std::int64_t token = at / pairs;
  const std::int64_t i = at % half;
  T* row = rotary.rows + token * rotary.stride + at % pairs / half * rotary.head_width;
  const float* angle = rotary.angles + token % rotary.sequence * rotary.head_width;
  const float cosine = angle[i];
  const float sine = rotary.back ? -angle[half + i] : angle[half + i];
  const float a = to_float(row[i]);
  const float b = to_float(row[half + i]);
  row[i] = from_float<T>(a * cosine - b * sine);
  row[half + i] = from_float<T>(b * cosine + a * sine);
}

LaunchShape thread_each(std::int64_t count) {
  return {dim3(static_cast<unsigned int>(ceil_div(count, kThreads))), dim3(kThreads)};
}

}  // namespace

template <class T>
void turn(const RotaryTurn<T>& rotary, const RotaryFrequencies& frequencies, Stream stream) {
  const std::int64_t half = rotary.head_width / 2;
  launch(fill_angles, thread_each(rotary.sequence * half), stream, frequencies, rotary.angles, rotary.sequence,
         rotary.before, half);
  launch(turn_rows<T>, thread_each(rotary.tokens * rotary.heads * half), stream, rotary);
}

template void turn(const RotaryTurn<float>&, const RotaryFrequencies&, Stream);
template void turn(const RotaryTurn<BFloat16>&, const RotaryFrequencies&, Stream);

}  // namespace plumb::kernels
