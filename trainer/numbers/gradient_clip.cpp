#include "trainer/numbers/gradient_clip.hpp"

#include <algorithm>
#include <cmath>

#include "trainer/numbers/row.hpp"

namespace plumb {

template <class T>
std::vector<double> squared_norms(std::span<const ParameterFacts> parameters, const T* gradients) {
  std::vector<double> norms;
  for (const ParameterFacts& parameter : parameters) {
    const auto square = [gradients](std::int64_t i) {
      const auto g = static_cast<double>(gradients[i]);
      return g * g;
    };
    norms.push_back(parameter.tied ? 0.0 : row_sum<double>(parameter.count(), square));
    gradients += parameter.count();
  }
  return norms;
}

double clip_factor(std::span<const double> squared, double gradient_scale, double max_norm) {
  double sum = 0;
  for (double part : squared) sum += part;
  const double norm = std::sqrt(sum) * gradient_scale;
  return std::min(1.0, max_norm / (norm + 1e-6));
}

template std::vector<double> squared_norms(std::span<const ParameterFacts>, const float*);
template std::vector<double> squared_norms(std::span<const ParameterFacts>, const double*);

}  // namespace plumb
