#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace plumb::scalar {

/// A stage of the three factors with its whole past, by version.
struct PlainStage {
  std::vector<double> w;
  std::vector<double> m{0.0};  ///< velocity, or first moment
  std::vector<double> s{0.0};  ///< second moment
  double extra = 0;            ///< what a method carries along

  std::size_t newest() const { return w.size() - 1; }
};

/// A microbatch in a stage.
struct PlainPass {
  std::size_t stage = 0;
  std::int64_t k = 0;    ///< microbatch
  std::size_t t = 0;     ///< its update
  std::size_t read = 0;  ///< newest version at its forward
};

/// An update of a stage.
struct PlainUpdate {
  std::size_t stage = 0;
  std::size_t t = 0;
  double g = 0;          ///< mean gradient
  std::size_t read = 0;  ///< newest version at the forward of its last microbatch
};

/// y = w3 w2 w1 x as a loop over microbatches that keeps every version: the reference that the executors are held to.
/// Versions follow the closed forms of reference 1.2.
struct PlainTrainer {
  std::array<std::int64_t, 3> distance{};  ///< D by stage
  std::int64_t n = 1;
  std::function<double(const PlainStage&, const PlainPass&)> forward;
  std::function<double(const PlainStage&, const PlainPass&)> backward;
  std::function<void(PlainStage&, const PlainUpdate&)> update;  ///< appends to w, m and s

  double tau(std::size_t stage) const { return static_cast<double>(distance[stage]) / static_cast<double>(n); }

  std::vector<std::array<double, 3>> run(std::size_t updates) const {
    std::array<PlainStage, 3> stages{PlainStage{{0.9}}, PlainStage{{0.8}}, PlainStage{{0.7}}};
    for (std::size_t t = 0; t < updates; ++t) {
      std::array<double, 3> sum{};
      std::array<std::size_t, 3> read{};
      for (std::int64_t j = 0; j < n; ++j) microbatch(stages, static_cast<std::int64_t>(t) * n + j, sum, read);
      for (std::size_t i = 0; i < 3; ++i) update(stages[i], {i, t, sum[i] / static_cast<double>(n), read[i]});
    }
    std::vector<std::array<double, 3>> versions;
    for (std::size_t v = 0; v <= updates; ++v) versions.push_back({stages[0].w[v], stages[1].w[v], stages[2].w[v]});
    return versions;
  }

 private:
  void microbatch(const std::array<PlainStage, 3>& stages, std::int64_t k, std::array<double, 3>& sum,
                  std::array<std::size_t, 3>& read) const {
    const double x = 1 + 0.25 * static_cast<double>(k % 4);
    std::array<double, 4> a{x};
    std::array<PlainPass, 3> pass;
    for (std::size_t i = 0; i < 3; ++i) {
      read[i] = k < distance[i] ? 0 : static_cast<std::size_t>((k - distance[i]) / n);
      pass[i] = {i, k, static_cast<std::size_t>(k / n), read[i]};
      a[i + 1] = a[i] * forward(stages[i], pass[i]);
    }
    double g = a[3] - 1.5 * x;
    for (std::size_t i = 3; i-- > 0;) {
      sum[i] += g * a[i];
      g *= backward(stages[i], pass[i]);
    }
  }
};

/// SGD with momentum `beta`, or Adam's kin, as in trainer/numbers/optimizer.hpp, written out.
inline void sgd(PlainStage& stage, double g, double rate, double beta) {
  stage.m.push_back(beta * stage.m.back() + g);
  stage.w.push_back(stage.w.back() - rate * stage.m.back());
}

inline void adam(PlainStage& stage, std::size_t t, double g, double rate, double decay = 0) {
  const auto steps = static_cast<double>(t + 1);
  stage.m.push_back(0.9 * stage.m.back() + 0.1 * g);
  stage.s.push_back(0.999 * stage.s.back() + 0.001 * g * g);
  const double direction =
      stage.m.back() / (1 - std::pow(0.9, steps)) / (std::sqrt(stage.s.back() / (1 - std::pow(0.999, steps))) + 1e-8);
  stage.w.push_back((1 - rate * decay) * stage.w.back() - rate * direction);
}

}  // namespace plumb::scalar
