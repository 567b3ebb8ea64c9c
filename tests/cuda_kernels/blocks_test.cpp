#include <array>
#include <cstring>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "tests/cuda_kernels/device_buffer.hpp"
#include "trainer/cuda/kernels/blocks.hpp"
#include "trainer/cuda/kernels/optimizer.hpp"
#include "trainer/numbers/optimizer.hpp"

TEST_SUITE_BEGIN("cuda_kernels");

using namespace plumb;
using namespace plumb::kernels;

namespace {

/// Parameters that end in the middle of a piece, more than one kernel takes at a time, and one of several pieces.
std::vector<ParameterFacts> parameters() {
  std::vector<ParameterFacts> all;
  for (std::int64_t i = 0; i < 125; ++i) {
    all.push_back({.name = std::to_string(i), .shape = {i == 3 ? 5000 : 1 + i % 3}, .decayed = i % 2 == 1});
  }
  return all;
}

std::vector<Segment> segments_of(const std::vector<ParameterFacts>& all) {
  std::vector<Segment> segments;
  for (const ParameterFacts& one : all)
    segments.push_back({one.count(), one.decayed, 0.5 + 0.01 * static_cast<double>(segments.size())});
  return segments;
}

std::size_t count_of(const std::vector<Segment>& segments) {
  std::int64_t count = 0;
  for (const Segment& segment : segments) count += segment.count;
  return static_cast<std::size_t>(count);
}

std::vector<float> floats(const std::vector<double>& values) { return {values.begin(), values.end()}; }

bool same_bits(const DeviceBuffer<float>& device, const std::vector<float>& host) {
  return device.intact() && device.count() == host.size() &&
         std::memcmp(device.read().data(), host.data(), host.size() * sizeof(float)) == 0;
}

struct UpdateCase {
  const char* name;
  OptimizerOptions options;
  UpdateStep step;
};

std::vector<UpdateCase> update_cases() {
  const UpdateStep step{.update = 3, .learning_rate = 0.01, .gradient_scale = 0.125};
  UpdateStep other = step;
  other.velocity_weight = 0.9;
  other.gradient_weight = 1.5;
  other.beta1 = 0.8;
  return {{"sgd", {.kind = OptimizerKind::kSgd, .momentum = 0}, step},
          {"momentum", {.kind = OptimizerKind::kSgd}, other},
          {"adam", {.kind = OptimizerKind::kAdam}, step},
          {"adamw", {.kind = OptimizerKind::kAdamW}, other},
          {"nadam", {.kind = OptimizerKind::kNAdam}, step}};
}

}  // namespace

TEST_CASE("updates in float have the CPU's bits, followers included") {
  const std::vector<ParameterFacts> all = parameters();
  const std::vector<Segment> segments = segments_of(all);
  const std::size_t count = count_of(segments);
  const std::vector<double> start = random_numbers(count, 1);
  const std::vector<double> gradients = random_numbers(count, 2);
  std::vector<double> state = random_numbers(2 * count, 3);
  for (double& value : state) value = std::abs(value);
  for (const UpdateCase& of : update_cases()) {
    CAPTURE(of.name);
    std::vector<float> weights = floats(start);
    std::vector<float> follower = floats(gradients);
    std::vector<float> kept = floats(state);
    UpdateStep step = of.step;
    step.followers = {{reinterpret_cast<std::byte*>(follower.data()), 0.3, 2}};
    const std::vector<float> g = floats(gradients);
    plumb::update<float>(of.options, step, all, {weights.data(), g.data(), kept.data()});

    const DeviceBuffer<float> on_device(start), gradients_there(gradients), state_there(state), followers(gradients);
    step.followers = {{reinterpret_cast<std::byte*>(followers.data()), 0.3, 2}};
    update_weights<float>(of.options, step, segments, {on_device.data(), gradients_there.data(), state_there.data()},
                          nullptr);
    CHECK(same_bits(on_device, weights));
    CHECK(same_bits(state_there, kept));
    CHECK(same_bits(followers, follower));
  }
}

TEST_CASE("updates in bf16 work on the weights in float and round copies") {
  const std::vector<ParameterFacts> all = parameters();
  const std::vector<Segment> segments = segments_of(all);
  const std::size_t count = count_of(segments);
  const std::vector<double> start = random_numbers(count, 1);
  const std::vector<double> gradients = random_numbers(count, 2);
  std::vector<double> state = start;  // the weights, then both moments
  state.resize(3 * count, 0.0);
  const OptimizerOptions options;
  const UpdateStep step{.learning_rate = 0.01};
  CHECK(state_count<BFloat16>(options) == 3);
  std::vector<float> weights = floats(start);
  std::vector<float> moments(2 * count, 0.0F);
  const std::vector<float> g = floats(gradients);
  plumb::update<float>(options, step, all, {weights.data(), g.data(), moments.data()});
  const DeviceBuffer<BFloat16> copies(start);
  const DeviceBuffer<float> gradients_there(gradients), state_there(state);
  update_weights<BFloat16>(options, step, segments, {copies.data(), gradients_there.data(), state_there.data()},
                           nullptr);
  weights.insert(weights.end(), moments.begin(), moments.end());
  CHECK(same_bits(state_there, weights));
  for (std::size_t i = 0; i < count; ++i) REQUIRE(copies.read()[i] == to_bfloat16(weights[i]));
}

TEST_CASE("more followers than a kernel takes are refused") {
  const DeviceBuffer<float> block(1);
  UpdateStep step;
  step.followers.resize(kMostFollowers + 1);
  const std::vector<Segment> one{{1, false, 1}};
  CHECK_THROWS_AS(update_weights<float>({}, step, one, {block.data(), block.data(), block.data()}, nullptr), Error);
}

TEST_CASE("operations of corrections have the CPU's bits") {
  const std::vector<Segment> segments = segments_of(parameters());
  const std::size_t count = count_of(segments);
  const std::vector<Elementwise> operations{Combine{0.3, 0.7},
                                            AdamStep{0.01, 1.2, 1e-8, 0.99},
                                            CompensateDelay{0.4},
                                            CompensateDelayAdaptively{0.4, 0.5, 0.9, 1e-6},
                                            PunishGap{0.1, 1.1, 1e-8, 0.01},
                                            MeanSquare{0.9},
                                            PullTogether{0.2}};
  for (const Elementwise& operation : operations) {
    CAPTURE(operation.index());
    std::vector<DeviceBuffer<float>> device;
    std::vector<std::vector<float>> host;
    std::vector<float*> pointers;
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      std::vector<double> values = random_numbers(count, seed);
      for (double& value : values) value = seed == 4 ? std::abs(value) : value;
      device.emplace_back(values);
      host.push_back(floats(values));
      pointers.push_back(device.back().data());
    }
    if (operation.index() == 1) {  // what a root is taken of is the fourth block only
      for (std::size_t i = 0; i < count; ++i) REQUIRE(host[3][i] >= 0);
    }
    apply<float>(operation, pointers, segments, nullptr);
    std::size_t i = 0;
    for (const Segment& segment : segments) {
      for (std::int64_t n = 0; n < segment.count; ++n, ++i) {
        std::visit(
            [&](const auto& by) {
              using Operation = std::decay_t<decltype(by)>;
              if constexpr (Operation::kBlocks == 2) by(segment.decayed, host[0][i], host[1][i]);
              if constexpr (Operation::kBlocks == 3) by(segment.decayed, host[0][i], host[1][i], host[2][i]);
              if constexpr (Operation::kBlocks == 4)
                by(segment.decayed, host[0][i], host[1][i], host[2][i], host[3][i]);
            },
            operation);
      }
    }
    for (std::size_t block = 0; block < 4; ++block) CHECK(same_bits(device[block], host[block]));
  }
}

TEST_CASE("products and scales go by segment") {
  const std::vector<Segment> segments = segments_of(parameters());
  const std::vector<double> a = random_numbers(count_of(segments), 1);
  const std::vector<double> b = random_numbers(count_of(segments), 2);
  const DeviceBuffer<float> first(a), second(b);
  const DeviceBuffer<double> sums(segments.size());
  const DeviceBytes scratch(static_cast<std::size_t>(products_scratch_bytes(segments)));
  products<float>({first.data(), second.data(), sums.data(), scratch.begin()}, segments, nullptr);
  scale<float>(first.data(), segments, nullptr);
  std::size_t i = 0;
  for (std::size_t s = 0; s < segments.size(); ++s) {
    double sum = 0;
    for (std::int64_t n = 0; n < segments[s].count; ++n, ++i) {
      sum += a[i] * b[i];
      REQUIRE(first.read()[i] == static_cast<float>(a[i]) * static_cast<float>(segments[s].factor));
    }
    CHECK(sums.read()[s] == doctest::Approx(sum).epsilon(1e-12));
  }
  CHECK(first.intact());
  CHECK(sums.intact());
  CHECK(scratch.intact());
}

TEST_CASE("sums, copies, zeros and conversions of any length, wherever they begin") {
  for (std::size_t place = 0; place < 16; ++place) {
    const std::size_t count = std::array<std::size_t, 4>{1, 7, 64, 1000}[place % 4];
    const bool both = place >= 12;
    CAPTURE(place);
    const std::vector<double> a = random_numbers(count, 1);
    const std::vector<double> b = random_numbers(count, 2);
    const DeviceBuffer<BFloat16> sum(a, both || place / 4 == 1), term(b, both || place / 4 == 2),
        copy(count, place / 4 == 2), rounded(count, both);
    const DeviceBuffer<float> wide(b, both);
    add(sum.data(), term.data(), static_cast<std::int64_t>(count), nullptr);
    copy_bytes(copy.data(), sum.data(), static_cast<std::int64_t>(2 * count), nullptr);
    convert(rounded.data(), wide.data(), static_cast<std::int64_t>(count), nullptr);
    CHECK(rounded.values() == b);
    for (std::size_t i = 0; i < count; ++i) REQUIRE(copy.read()[i] == to_bfloat16(static_cast<float>(a[i] + b[i])));
    const DeviceBuffer<float> grown(a, both);
    add_rounded(grown.data(), term.data(), static_cast<std::int64_t>(count), nullptr);
    const std::vector<double> terms = term.values();
    for (std::size_t i = 0; i < count; ++i) {
      REQUIRE(grown.read()[i] == static_cast<float>(a[i]) + static_cast<float>(terms[i]));
    }
    CHECK(grown.intact());
    clear(sum.data(), static_cast<std::int64_t>(2 * count), nullptr);
    CHECK(sum.values() == std::vector<double>(count, 0.0));
    CHECK((sum.intact() && copy.intact() && rounded.intact()));
  }
}

TEST_SUITE_END();
