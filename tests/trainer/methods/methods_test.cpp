#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "tests/trainer/methods/plain_trainer.hpp"
#include "tests/trainer/methods/scalar_pipeline.hpp"

TEST_SUITE_BEGIN("trainer");

namespace plumb::scalar {
namespace {

constexpr std::size_t kMethodUpdates = 14;
constexpr double kMethodRate = 0.01;
constexpr double kBeta = 0.9;
constexpr OptimizerOptions kSgd{.kind = OptimizerKind::kSgd, .momentum = kBeta, .weight_decay = 0};
constexpr OptimizerOptions kAdam{.kind = OptimizerKind::kAdam, .weight_decay = 0};

/// A real run: 1F1B with D = 2, 1, 0, or slots with D = 5, 3, 1.
struct Real {
  std::string schedule;
  std::string methods;
  OptimizerOptions optimizer = kSgd;
  std::int64_t n = 1;
  bool slots = false;
};

TrainOptions options_of(const Real& real) {
  ScheduleParams params{
      .num_devices = 3, .num_microbatches = real.n, .updates = static_cast<std::int64_t>(kMethodUpdates)};
  if (real.schedule == "pipemare") params.options = {{"timing", real.slots ? "slots" : "1f1b"}};
  TrainOptions options = three_factors(with_methods(generate(real.schedule, params), real.methods));
  options.optimization.optimizer = real.optimizer;
  options.optimization.learning_rate.base = kMethodRate;
  return options;
}

/// The loop with the versions of PipeMare: forwards late, backwards on the newest.
PlainTrainer plain(const Real& real) {
  PlainTrainer trainer;
  if (real.slots) trainer.distance = {5, 3, 1};
  if (!real.slots) trainer.distance = {2, 1, 0};
  trainer.n = real.n;
  trainer.forward = [](const PlainStage& stage, const PlainPass& pass) { return stage.w[pass.read]; };
  trainer.backward = [](const PlainStage& stage, const PlainPass& pass) { return stage.w[pass.t]; };
  if (real.optimizer.kind == OptimizerKind::kSgd) {
    trainer.update = [](PlainStage& stage, const PlainUpdate& of) { sgd(stage, of.g, kMethodRate, kBeta); };
  } else {
    trainer.update = [](PlainStage& stage, const PlainUpdate& of) { adam(stage, of.t, of.g, kMethodRate); };
  }
  return trainer;
}

void check_equal(const Real& real, const PlainTrainer& trainer) {
  CAPTURE(real.schedule);
  CAPTURE(real.methods);
  const auto versions = versions_of(options_of(real));
  const auto expected = trainer.run(kMethodUpdates);
  REQUIRE(versions.size() == expected.size());
  for (std::size_t v = 0; v < expected.size(); ++v) {
    for (std::size_t i = 0; i < 3; ++i) {
      CAPTURE(v);
      CAPTURE(i);
      CHECK(std::abs(versions[v][i] - expected[v][i]) < 1e-13);
    }
  }
  const auto uncorrected = plain(real).run(kMethodUpdates);
  CHECK(std::abs(versions.back()[0] - uncorrected.back()[0]) > 1e-7);  // the method does something
}

/// Backwards read what the forwards read.
void stash(PlainTrainer& trainer) {
  trainer.backward = [](const PlainStage& stage, const PlainPass& pass) { return stage.w[pass.read]; };
}

/// Adam's direction from version v on, with powers (or constants) as corrections.
double direction(const PlainStage& stage, std::size_t v, bool powers = true) {
  if (v == 0) return 0;
  const double t = powers ? static_cast<double>(v) : 1;
  return stage.m[v] / (1 - std::pow(0.9, t)) / (std::sqrt(stage.s[v] / (1 - std::pow(0.999, t))) + 1e-8);
}

}  // namespace

TEST_CASE("t1 and t2 are their formulas with sgd, adam and adamw: the velocity kept as delta") {
  for (const OptimizerKind kind : {OptimizerKind::kSgd, OptimizerKind::kAdam, OptimizerKind::kAdamW}) {
    OptimizerOptions optimizer = kSgd;
    optimizer.kind = kind;
    if (kind == OptimizerKind::kAdamW) optimizer.weight_decay = 0.1;
    const Real real{"pipemare", "t1:K=6,t2:D=0.3", optimizer, 2, true};
    PlainTrainer trainer = plain(real);
    std::array<std::vector<double>, 3> delta{std::vector<double>{0}, std::vector<double>{0}, std::vector<double>{0}};
    trainer.backward = [&](const PlainStage& stage, const PlainPass& pass) {
      return stage.w[pass.t] - trainer.tau(pass.stage) * delta[pass.stage][pass.t];
    };
    trainer.update = [&](PlainStage& stage, const PlainUpdate& of) {
      const double tau = trainer.tau(of.stage);
      const double rate = kMethodRate / std::pow(std::max(tau, 1.0), 1 - std::min(static_cast<double>(of.t) / 6, 1.0));
      kind == OptimizerKind::kSgd ? sgd(stage, of.g, rate, kBeta)
                                  : adam(stage, of.t, of.g, rate, optimizer.weight_decay);
      const double gamma = std::pow(0.3, 1 / tau);
      delta[of.stage].push_back(gamma * delta[of.stage].back() +
                                (1 - gamma) * (stage.w.back() - stage.w[stage.newest() - 1]));
    };
    check_equal(real, trainer);
  }
}

TEST_CASE("t3 drains, starts t1 and t2 at the switch and leaves the synchronous updates alone") {
  const Real real{"pipemare", "t1:K=4,t2,t3:updates=5", kSgd, 1, true};
  const auto versions = versions_of(options_of(real));
  const auto synchronous = versions_of([] {
    TrainOptions options = options_of({"pipemare", "", kSgd, 1, true});
    options.schedule = generate("gpipe", {.num_devices = 3, .num_microbatches = 1, .updates = 5});
    return options;
  }());
  for (std::size_t v = 0; v <= 5; ++v) CHECK(versions[v] == synchronous[v]);
  // After the switch the first forwards of all stages read version 5, and k counts from there.
  const double rate = kMethodRate / 5;
  const std::array<double, 3>& w = versions[5];
  const double x = 1 + 0.25 * 1;
  const double g3 = (w[0] * w[1] * w[2] - 1.5) * x * w[0] * w[1] * x;
  const double v3 = (versions[4][2] - versions[5][2]) / kMethodRate;
  CHECK(std::abs(versions[6][2] - (w[2] - kMethodRate * (kBeta * v3 + g3))) < 1e-13);  // tau = 1
  const double g1 = (w[0] * w[1] * w[2] - 1.5) * x * w[2] * w[1] * x;
  const double v1 = (versions[4][0] - versions[5][0]) / kMethodRate;
  CHECK(std::abs(versions[6][0] - (w[0] - rate * (kBeta * v1 + g1))) < 1e-13);
}

TEST_CASE("spectrain predicts towards the end of the round trip, as released for the own backward with one tensor") {
  const Real paper{"spectrain", ""};
  PlainTrainer trainer = plain(paper);
  constexpr std::array<double, 3> kForward{2, 1, 1};
  constexpr std::array<double, 3> kBackward{0, 0, 1};
  trainer.forward = [&](const PlainStage& stage, const PlainPass& pass) {
    return stage.w[pass.read] - kMethodRate * kForward[pass.stage] * stage.m[pass.read];
  };
  trainer.backward = [&](const PlainStage& stage, const PlainPass& pass) {
    return stage.w[pass.t] - kMethodRate * kBackward[pass.stage] * stage.m[pass.t];
  };
  check_equal(paper, trainer);
  trainer.forward = [&](const PlainStage& stage, const PlainPass& pass) {
    return stage.w[pass.read] - kMethodRate * static_cast<double>(2 - pass.stage) * stage.m[pass.read];
  };
  trainer.backward = trainer.forward;
  check_equal({"pipemare", "spectrain:released=1"}, trainer);
}

TEST_CASE("with two microbatches per update predictions are as many updates ahead as the order says") {
  for (const bool slots : {false, true}) {
    CAPTURE(slots);
    const auto along = [](const PlainStage& stage, std::size_t v, std::size_t target) {
      return stage.w[v] - kMethodRate * static_cast<double>(target - v) * stage.m[v];
    };
    const Real own{"pipemare", "pipeoptim", kSgd, 2, slots};
    PlainTrainer trainer = plain(own);
    trainer.forward = [&](const PlainStage& stage, const PlainPass& pass) { return along(stage, pass.read, pass.t); };
    check_equal(own, trainer);
    trainer.backward = trainer.forward;
    check_equal({"pipemare", "spectrain:released=1", kSgd, 2, slots}, trainer);
    // The end of the round trip, a slot or half a turn for each stage; no further than the run.
    const auto target = [slots](const PlainPass& pass) {
      const auto backward = static_cast<std::size_t>(pass.k) + (slots ? pass.stage : pass.stage / 2);
      return std::min(backward / 2, kMethodUpdates);
    };
    trainer.forward = [&](const PlainStage& stage, const PlainPass& pass) {
      return along(stage, pass.read, target(pass));
    };
    trainer.backward = [&](const PlainStage& stage, const PlainPass& pass) {
      return along(stage, pass.t, target(pass));
    };
    check_equal({"pipemare", "spectrain", kSgd, 2, slots}, trainer);
  }
}

TEST_CASE("xpipe predicts at the first microbatch of an update for all of them, with constant corrections") {
  for (const OptimizerOptions& optimizer : {kSgd, kAdam}) {
    const Real real{"xpipe", "", optimizer, 2};
    PlainTrainer trainer = plain(real);
    constexpr std::array<double, 3> kForward{2, 1, 1};   // round((3 + 2 - r/2 - 2) / 2) = 1.5, 1.25, 1
    constexpr std::array<double, 3> kBackward{0, 0, 1};  // round((2 + floor(r/2) - 1) / 2) = 0.5, 0.5, 1
    const auto predicted = [&](const PlainStage& stage, std::size_t v, double steps) {
      const double along =
          &optimizer == &kSgd || optimizer.kind == OptimizerKind::kSgd ? stage.m[v] : direction(stage, v, false);
      return v == 0 ? stage.w[0] : stage.w[v] - kMethodRate * steps * along;
    };
    trainer.forward = [&](const PlainStage& stage, const PlainPass& pass) {
      const std::int64_t first = pass.k / 2 * 2;  // the bellwether's newest version
      const std::int64_t d = trainer.distance[pass.stage];
      const std::size_t v = first < d ? 0 : static_cast<std::size_t>((first - d) / 2);
      return kForward[pass.stage] == 0 ? stage.w[pass.read] : predicted(stage, v, kForward[pass.stage]);
    };
    trainer.backward = [&](const PlainStage& stage, const PlainPass& pass) {
      return predicted(stage, pass.t, kBackward[pass.stage]);
    };
    check_equal(real, trainer);
  }
}

TEST_CASE("pipeoptim predicts the forward's weights from the optimizer's own direction") {
  for (const OptimizerOptions& optimizer : {kSgd, kAdam}) {
    for (const bool released : {false, true}) {
      const Real real{"pipemare", released ? "pipeoptim:released=1" : "pipeoptim", optimizer};
      PlainTrainer trainer = plain(real);
      trainer.forward = [&](const PlainStage& stage, const PlainPass& pass) {
        const double steps = static_cast<double>(2 - pass.stage) + (released ? 1 : 0);
        const bool by_velocity = optimizer.kind == OptimizerKind::kSgd;
        return stage.w[pass.read] -
               kMethodRate * steps * (by_velocity ? stage.m[pass.read] : direction(stage, pass.read));
      };
      check_equal(real, trainer);
    }
  }
}

TEST_CASE("msnag makes the updates before the backward with momentum alone") {
  PlainTrainer trainer = plain({"pipemare", ""});
  trainer.forward = [](const PlainStage& stage, const PlainPass& pass) {
    double w = stage.w[pass.read];
    for (std::size_t q = 1; q <= pass.t - pass.read; ++q) {
      w -= kMethodRate * std::pow(kBeta, static_cast<double>(q)) * stage.m[pass.read];
    }
    return w;
  };
  check_equal({"pipemare", "msnag"}, trainer);
  trainer = plain({"pipemare", "", kAdam});
  trainer.forward = [](const PlainStage& stage, const PlainPass& pass) {
    double w = stage.w[pass.read];
    double m = stage.m[pass.read];
    for (std::size_t q = 1; pass.read > 0 && q <= pass.t - pass.read; ++q) {
      const auto t = static_cast<double>(pass.read + q);
      m *= 0.9;
      w -= kMethodRate * m / (1 - std::pow(0.9, t)) / (std::sqrt(stage.s[pass.read] / (1 - std::pow(0.999, t))) + 1e-8);
    }
    return w;
  };
  check_equal({"pipemare", "msnag", kAdam}, trainer);
}

TEST_CASE("linear prediction goes along the velocity or the last change, and composes with spike compensation") {
  for (const bool difference : {false, true}) {
    const Real real{"pipelined-backpropagation", difference ? "lwp:difference=1:scale=2,spike" : "lwp,spike"};
    PlainTrainer trainer = plain(real);
    trainer.distance = {4, 2, 0};
    trainer.forward = [&](const PlainStage& stage, const PlainPass& pass) {
      const std::size_t v = pass.read;
      const double by = difference ? -2 * (v == 0 ? 0 : stage.w[v] - stage.w[v - 1]) : kMethodRate * stage.m[v];
      return stage.w[v] - trainer.tau(pass.stage) * by;
    };
    trainer.update = [&](PlainStage& stage, const PlainUpdate& of) {
      const double a = std::pow(kBeta, trainer.tau(of.stage));
      stage.m.push_back(kBeta * stage.m.back() + of.g);
      stage.w.push_back(stage.w.back() - kMethodRate * (a * stage.m.back() + (1 - a) / (1 - kBeta) * of.g));
    };
    check_equal(real, trainer);
  }
}

TEST_CASE("adaptive braking damps gradients along the velocity") {
  const Real real{"pipemare", "adaptive-braking:rho=0.3", kSgd, 2};
  PlainTrainer trainer = plain(real);
  trainer.update = [](PlainStage& stage, const PlainUpdate& of) {
    const double product = of.g * stage.m.back();
    const double cosine = product > 0 ? 1 : product < 0 ? -1 : 0;
    sgd(stage, of.g * (1 - 0.3 * cosine), kMethodRate, kBeta);
  };
  check_equal(real, trainer);
}

TEST_CASE("gap-aware divides gradient and decay by the gap in usual steps") {
  OptimizerOptions decaying = kSgd;
  decaying.weight_decay = 0.01;
  for (const std::string schedule : {"pipedream", "pipemare"}) {
    const Real real{schedule, "gap-aware:keep=0.8", decaying};
    PlainTrainer trainer = plain(real);
    if (schedule == "pipedream") stash(trainer);
    trainer.update = [](PlainStage& stage, const PlainUpdate& of) {
      double p = 1;
      const double now = stage.w.back();
      if (of.t > 0) {
        const double r = stage.extra / (1 - std::pow(0.8, static_cast<double>(of.t)));
        p = 1 + std::abs(now - stage.w[of.read]) / (kMethodRate * (std::sqrt(r) + 1e-8));
      }
      sgd(stage, of.g / p + 0.01 * now / p, kMethodRate, kBeta);
      stage.extra = 0.8 * stage.extra + 0.2 * stage.m.back() * stage.m.back();
    };
    check_equal(real, trainer);
  }
}

TEST_CASE("dc-asgd adds the first term of the delay, adaptively divided by the root of a mean square") {
  for (const bool adaptive : {false, true}) {
    const Real real{"pipedream", adaptive ? "dc-asgd:lambda=0.5:adaptive=1" : "dc-asgd:lambda=0.5"};
    PlainTrainer trainer = plain(real);
    stash(trainer);
    trainer.update = [&](PlainStage& stage, const PlainUpdate& of) {
      stage.extra = 0.95 * stage.extra + 0.05 * of.g * of.g;
      const double lambda = adaptive ? 0.5 / std::sqrt(stage.extra + 1e-7) : 0.5;
      sgd(stage, of.g + lambda * of.g * of.g * (stage.w.back() - stage.w[of.read]), kMethodRate, kBeta);
    };
    check_equal(real, trainer);
  }
}

TEST_CASE("asyncpp's nesterov is its published recursion, read at the look-ahead") {
  const Real real{"pipedream", "nesterov"};
  PlainTrainer trainer = plain(real);  // w: what passes read, y = w + d; m: the weights w themselves
  stash(trainer);
  trainer.update = [](PlainStage& stage, const PlainUpdate& of) {
    if (of.t == 0) stage.m.back() = stage.w.back();
    const double before = stage.m.back();
    const double after = stage.w.back() - kMethodRate * (1 - kBeta) * of.g;
    stage.m.push_back(after);
    stage.w.push_back(after + kBeta * (after - before));
  };
  check_equal(real, trainer);
}

TEST_CASE("nadam with momentum by stage is asyncpp's practice") {
  const Real real{"pipedream", "adaptive-momentum", {.kind = OptimizerKind::kNAdam, .weight_decay = 0.01}};
  PlainTrainer trainer = plain(real);
  stash(trainer);
  trainer.update = [&](PlainStage& stage, const PlainUpdate& of) {
    const double beta = 0.9 + trainer.tau(of.stage) * (0.99 - 0.9) / 3;
    const auto mu = [&](std::size_t i) { return beta * (1 - 0.5 * std::pow(0.96, 0.004 * static_cast<double>(i))); };
    double product = 1;
    for (std::size_t i = 1; i <= of.t + 1; ++i) product *= mu(i);
    stage.m.push_back(beta * stage.m.back() + (1 - beta) * of.g);
    stage.s.push_back(0.999 * stage.s.back() + 0.001 * of.g * of.g);
    const double second = stage.s.back() / (1 - std::pow(0.999, static_cast<double>(of.t + 1)));
    const double numerator =
        mu(of.t + 2) * stage.m.back() / (1 - product * mu(of.t + 2)) + (1 - mu(of.t + 1)) * of.g / (1 - product);
    stage.w.push_back((1 - kMethodRate * 0.01) * stage.w.back() - kMethodRate * numerator / (std::sqrt(second) + 1e-8));
  };
  check_equal(real, trainer);
}

}  // namespace plumb::scalar

TEST_SUITE_END();
