#include "sim/campaign/freezing.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

namespace plumb {
namespace {

/// A hair below what doubles make of a whole number, so that it is not rounded up.
constexpr double kHair = 1e-9;
constexpr double kParameterMillion = 1e6;

double variance(std::span<const double> sizes) {
  if (sizes.empty()) return 0;
  const auto count = static_cast<double>(sizes.size());
  const double mean = std::accumulate(sizes.begin(), sizes.end(), 0.0) / count;
  double sum = 0;
  for (const double size : sizes) sum += (size - mean) * (size - mean);
  return sum / count;
}

/// Millions of parameters of what is cut: attention and MLP of every layer apart, the last norm and the head.
std::vector<double> sizes_of(const LayerFreezing& network, std::int32_t frozen) {
  const double square = network.width * network.width;
  std::vector<double> sizes;
  if (frozen == 0) sizes.push_back(network.embedding_millions);
  for (std::int32_t layer = frozen; layer < network.layers; ++layer) {
    sizes.push_back((4 * square + 6 * network.width) / kParameterMillion);
    sizes.push_back((8 * square + 7 * network.width) / kParameterMillion);
  }
  sizes.push_back(2 * network.width / kParameterMillion);
  sizes.push_back(network.head_millions);
  return sizes;
}

/// Returns the largest of `stages` stages as the released program fills them: one after the other, each up to the mean
/// of what is left for it and those behind it, and the variance of these sizes divided by their number.
double largest_stage(const std::vector<double>& sizes, std::int32_t stages) {
  double left = std::accumulate(sizes.begin(), sizes.end(), 0.0);
  double largest = 0;
  std::size_t next = 0;
  for (std::int32_t stage = 0; stage < stages; ++stage) {
    const double mean = left / (stages - stage);
    const double more = variance(std::span(sizes).subspan(next)) / (stages - stage);
    double size = 0;
    for (; next < sizes.size(); ++next) {
      if (stage + 1 < stages && size + sizes[next] >= mean + more) break;
      size += sizes[next];
    }
    left -= size;
    largest = std::max(largest, size);
  }
  return largest;
}

}  // namespace

std::int32_t LayerFreezing::frozen_after(std::int32_t epochs) const {
  const double share = 1 - std::pow(1 - alpha, epochs);
  return std::clamp(static_cast<std::int32_t>(std::ceil(layers * share - kHair)), 0, layers);
}

std::int32_t LayerFreezing::pipeline_length(std::int32_t length, std::int32_t epochs) const {
  const std::int32_t frozen = frozen_after(epochs);
  if (frozen == 0) return length;
  const double room = largest_stage(sizes_of(*this, 0), length);
  const std::vector<double> left = sizes_of(*this, frozen);
  while (length >= 2 && largest_stage(left, length / 2) <= room) length /= 2;
  return length;
}

}  // namespace plumb
