#include <doctest/doctest.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "schedules/catalogue/registry.hpp"
#include "tests/support/versions_read.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

/// Parameters of ResNet-50, one entry for each convolution, batch norm and the classifier, in order of execution; the
/// downsampling of a group comes after the third batch norm of its first block. (He et al., arXiv 1512.03385)
std::vector<std::int64_t> resnet50(std::int64_t stem_kernel, std::int64_t classes) {
  std::vector<std::int64_t> sizes;
  const auto convolution = [&](std::int64_t in, std::int64_t out, std::int64_t kernel) {
    sizes.push_back(in * out * kernel * kernel);
    sizes.push_back(2 * out);  // scale and shift of its batch norm
  };
  convolution(3, 64, stem_kernel);
  std::int64_t in = 64;
  std::int64_t width = 64;
  for (const int blocks : {3, 4, 6, 3}) {
    for (int block = 0; block < blocks; ++block) {
      convolution(in, width, 1);
      convolution(width, width, 3);
      convolution(width, 4 * width, 1);
      if (block == 0) convolution(in, 4 * width, 1);
      in = 4 * width;
    }
    width *= 2;
  }
  sizes.push_back(in * classes + classes);
  return sizes;
}

/// sum w_i x_i / sum w_i.
template <class Value>
double weighted(const std::vector<std::int64_t>& sizes, Value value) {
  double sum = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) sum += static_cast<double>(sizes[i]) * value(i);
  return sum / static_cast<double>(std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}));
}

/// Mean delay of stage i (from 0) in the slots model: (2 (P - 1 - i) + 1) / N.
double mean_of_sizes(const std::vector<std::int64_t>& sizes, std::int64_t n) {
  return weighted(sizes, [&](std::size_t i) {
    return static_cast<double>(2 * (sizes.size() - 1 - i) + 1) / static_cast<double>(n);
  });
}

/// Old versions that pipedream really keeps, as copies of the whole model.
double kept_copies(const std::vector<std::int64_t>& sizes, std::int64_t n) {
  const auto p = static_cast<std::int32_t>(sizes.size());
  const Schedule schedule = generate("pipedream", {.num_devices = p,
                                                   .num_microbatches = n,
                                                   .updates = 2 * ceil_div(2 * p, n) + 2,
                                                   .options = {{"timing", "slots"}}});
  const std::vector<std::int64_t> versions = most_versions(schedule);
  return weighted(sizes, [&](std::size_t i) { return static_cast<double>(versions[i] - 1); });
}

}  // namespace

TEST_CASE("ResNet-50 in 107 stages has the published numbers of parameters") {
  const std::vector<std::int64_t> cifar = resnet50(3, 10);
  const std::vector<std::int64_t> imagenet = resnet50(7, 1000);
  CHECK(cifar.size() == 107);
  CHECK(std::accumulate(cifar.begin(), cifar.end(), std::int64_t{0}) == 23520842);
  CHECK(std::accumulate(imagenet.begin(), imagenet.end(), std::int64_t{0}) == 25557032);
}

TEST_CASE("the stash of pipedream on ResNet-50 costs 2.67 times the weights and optimizer state of pipemare") {
  const std::vector<std::int64_t> cifar = resnet50(3, 10);
  CHECK(mean_of_sizes(cifar, 8) == doctest::Approx(6.006).epsilon(1e-4));
  CHECK((2 + mean_of_sizes(cifar, 8)) / 3 == doctest::Approx(2.669).epsilon(2e-4));
  CHECK((2 + mean_of_sizes(cifar, 8)) / 4 == doctest::Approx(2.002).epsilon(2e-4));
  CHECK((2 + mean_of_sizes(cifar, 16)) / 3 == doctest::Approx(1.668).epsilon(2e-4));
  CHECK((2 + mean_of_sizes(resnet50(7, 1000), 8)) / 3 == doctest::Approx(2.515).epsilon(2e-4));
  CHECK((2 + mean_of_sizes(resnet50(7, 1000), 16)) / 3 == doctest::Approx(1.591).epsilon(2e-4));
  CHECK((2 + mean_of_sizes(resnet50(7, 1000), 32)) / 3 == doctest::Approx(1.129).epsilon(3e-4));
}

TEST_CASE("in whole versions pipedream keeps 6.606 old copies of ResNet-50 at N = 8 and 3.566 at N = 16") {
  const std::vector<std::int64_t> cifar = resnet50(3, 10);
  CHECK(kept_copies(cifar, 8) == doctest::Approx(6.606).epsilon(2e-4));
  CHECK(kept_copies(cifar, 16) == doctest::Approx(3.566).epsilon(2e-4));
}

TEST_CASE("with equal stages the mean delay is P / N") {
  CHECK(mean_of_sizes(std::vector<std::int64_t>(107, 5), 8) == doctest::Approx(107.0 / 8));
}

}  // namespace plumb::testing

TEST_SUITE_END();
