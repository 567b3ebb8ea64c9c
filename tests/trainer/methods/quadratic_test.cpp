#include <array>
#include <cmath>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/trainer/methods/scalar_pipeline.hpp"

TEST_SUITE_BEGIN("trainer");

namespace plumb::scalar {
namespace {

/// Sensitivity to the difference between the weights of forward and backward.
double& discrepancy() {
  static double value = 0;
  return value;
}

/// A back end whose gradient is that of the quadratic test problem, (1 + Delta) u_fwd - Delta u_bkwd, where u are the
/// weights that forward and backward are given. (reference 2.7)
class QuadraticStage : public RecordingStage {
 public:
  using RecordingStage::RecordingStage;

  void run(Op op, const PassArguments& pass) override {
    RecordingStage::run(op, pass);
    const auto weight = [&] { return *reinterpret_cast<const double*>(pass.weights); };
    if (op == Op::kF) forwards_.push_back(weight());
    if (op != Op::kB) return;
    *reinterpret_cast<double*>(pass.gradients) = (1 + discrepancy()) * forwards_.front() - discrepancy() * weight();
    forwards_.pop_front();
  }

 private:
  std::deque<double> forwards_;  ///< weights of the forwards whose backwards are still to come
};

std::unique_ptr<StageBackend> make_quadratic_stage(NumberType, const StageSpec& spec) {
  return std::make_unique<QuadraticStage>(spec);
}

const Backend kQuadratic{"quadratic", "", make_quadratic_stage, add_on_cpu, scale_on_cpu};

/// Stage 0 of four in 1F1B order: its forwards are three updates late. Every other stage is a quadratic of its own.
TrainOptions quadratic(const std::string& schedule, const std::string& methods, std::int64_t updates) {
  ScheduleParams params{.num_devices = 4, .num_microbatches = 1, .updates = updates};
  if (schedule == "pipemare") params.options = {{"timing", "1f1b"}};
  TrainOptions options = three_factors(with_methods(generate(schedule, params), methods));
  options.model.network.layers.insert(
      options.model.network.layers.end() - 1,
      {.kind = LayerKind::kLinear, .name = "w4", .width = 1, .outputs = 1, .bias = false});
  options.model.partition = {{0, 2, 3, 4, 6}};
  options.model.initial_parameters = {{"w1.weight", {1}}, {"w2.weight", {1}}, {"w3.weight", {1}}, {"w4.weight", {1}}};
  options.optimization.learning_rate.base = 0.3;
  options.hooks.own_backend = &kQuadratic;
  return options;
}

struct Variant {
  std::string name;
  std::string schedule;
  std::string methods;
  double delta = 1;
  std::array<double, 10> iterates{};
};

std::vector<Variant> variants() {
  return {
      {"sync",
       "1f1b",
       "",
       1,
       {0.700000, 0.490000, 0.343000, 0.240100, 0.168070, 0.117649, 0.082354, 0.057648, 0.040354, 0.028248}},
      {"delay only",
       "pipemare",
       "",
       0,
       {0.700000, 0.400000, 0.100000, -0.200000, -0.410000, -0.530000, -0.560000, -0.500000, -0.377000, -0.218000}},
      {"naive",
       "pipemare",
       "",
       1,
       {0.700000, 0.310000, -0.197000, -0.856100, -1.532930, -2.178809, -2.714252, -3.014867, -2.999569, -2.592155}},
      {"T1 p=1",
       "pipemare",
       "t1:K=0",
       1,
       {0.900000, 0.790000, 0.669000, 0.535900, 0.409490, 0.292439, 0.187883, 0.099491, 0.027542, -0.028191}},
      {"T1 anneal",
       "pipemare",
       "t1:K=8",
       1,
       {0.900000, 0.773808, 0.612432, 0.402936, 0.160958, -0.114573, -0.419899, -0.740445, -1.059153, -1.308155}},
      {"T2",
       "pipemare",
       "t2",
       1,
       {0.700000, 0.445000, 0.160750, -0.171988, -0.384333, -0.541452, -0.617044, -0.573301, -0.471544, -0.312353}},
      {"T1 p=1 + T2",
       "pipemare",
       "t1:K=0,t2",
       1,
       {0.900000, 0.805000, 0.707250, 0.603513, 0.512193, 0.430275, 0.358072, 0.297116, 0.245503, 0.202296}},
      {"T1 anneal + T2",
       "pipemare",
       "t1:K=8,t2",
       1,
       {0.900000, 0.791016, 0.663290, 0.508402, 0.351850, 0.192594, 0.037416, -0.098567, -0.209147, -0.272637}},
  };
}

std::vector<double> iterates(const Variant& of, std::int64_t updates) {
  discrepancy() = of.delta;
  recorded().clear();
  train(quadratic(of.schedule, of.methods, updates));
  return recorded().at("w1.weight");
}

}  // namespace

TEST_CASE("the quadratic with delay 3 has the published first ten iterates on the real executor, in 8 variants") {
  for (const Variant& of : variants()) {
    CAPTURE(of.name);
    const std::vector<double> w = iterates(of, 16);
    for (std::size_t t = 1; t <= 10; ++t) {
      CAPTURE(t);
      CHECK(std::abs(w.at(t) - of.iterates[t - 1]) < 5.1e-7);
    }
  }
}

TEST_CASE("after a hundred updates of the quadratic t1 and t2 have converged as published, the naive run has not") {
  const std::map<std::string, double> published{{"naive", 1.819e4},     {"T1 p=1", 2.443e-7},
                                                {"T2", 1.944e-3},       {"T1 p=1 + T2", 5.393e-9},
                                                {"T1 anneal", 1.828e4}, {"T1 anneal + T2", 1.351e-3}};
  for (const Variant& of : variants()) {
    const auto expected = published.find(of.name);
    if (expected == published.end()) continue;
    CAPTURE(of.name);
    CHECK(std::abs(iterates(of, 104).at(100)) == doctest::Approx(expected->second).epsilon(1e-3));
  }
}

}  // namespace plumb::scalar

TEST_SUITE_END();
