#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "schedules/catalogue/registry.hpp"
#include "schedules/document/methods.hpp"
#include "tests/trainer/three_factors.hpp"
#include "trainer/backends/cpu_backend.hpp"
#include "trainer/data/value_data.hpp"
#include "trainer/train.hpp"

namespace plumb::scalar {

/// Weights of stages whose only parameter is one number, by parameter, then update: the first is the initial one.
using Versions = std::map<std::string, std::vector<double>>;

/// What `RecordingStage` writes to; runs on one thread.
inline Versions& recorded() {
  static Versions versions;
  return versions;
}

/// The CPU back end in double, which notes the first weight of its stage after every update.
class RecordingStage : public StageBackend {
 public:
  explicit RecordingStage(const StageSpec& spec)
      : name_(spec.layout->parameters.front().name), cpu_(make_cpu_stage(NumberType::kFloat64, spec)) {}

  void run(Op op, const PassArguments& pass) override { cpu_->run(op, pass); }
  void initialize(std::uint64_t seed, const HolderBlocks& blocks) override { cpu_->initialize(seed, blocks); }
  void update(const UpdateStep& step, const HolderBlocks& blocks) override {
    if (recorded()[name_].empty()) note(blocks);
    cpu_->update(step, blocks);
    note(blocks);
  }
  void copy(std::byte* to, const std::byte* from) override { cpu_->copy(to, from); }
  void apply(const Elementwise& by, std::initializer_list<const std::byte*> blocks) override {
    cpu_->apply(by, blocks);
  }
  std::vector<double> products(const std::byte* a, const std::byte* b) override { return cpu_->products(a, b); }
  void scale(std::byte* block, std::span<const double> factors) override { cpu_->scale(block, factors); }
  std::vector<double> squared_norms(const HolderBlocks& blocks) override { return cpu_->squared_norms(blocks); }

 private:
  void note(const HolderBlocks& blocks) { recorded()[name_].push_back(*reinterpret_cast<double*>(blocks.weights)); }

  std::string name_;
  std::unique_ptr<StageBackend> cpu_;
};

inline std::unique_ptr<StageBackend> make_recording_stage(NumberType, const StageSpec& spec) {
  return std::make_unique<RecordingStage>(spec);
}

inline const Backend kRecording{"recording", "", make_recording_stage, add_on_cpu, scale_on_cpu};

/// x_k = 1 + (k mod 4) / 4 and 1.5 x_k (reference 11.6).
inline const ValueData& data() {
  static const ValueData data({1, 1.25, 1.5, 1.75}, 1, {1.5, 1.875, 2.25, 2.625}, 1);
  return data;
}

/// The run of the three factors on those data and this back end. (reference 11.6)
inline TrainOptions three_factors(Schedule schedule) {
  TrainOptions options = plumb::three_factors(data(), std::move(schedule));
  options.hooks.own_backend = &kRecording;
  return options;
}

/// Trains on the real executor: the versions (w1, w2, w3) by update.
inline std::vector<std::array<double, 3>> versions_of(const TrainOptions& options) {
  recorded().clear();
  train(options);
  const std::vector<double>& first = recorded().at("w1.weight");
  std::vector<std::array<double, 3>> versions;
  for (std::size_t v = 0; v < first.size(); ++v) {
    versions.push_back({first[v], recorded().at("w2.weight")[v], recorded().at("w3.weight")[v]});
  }
  return versions;
}

}  // namespace plumb::scalar
