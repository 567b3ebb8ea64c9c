#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "models/network/lora.hpp"
#include "schedules/document/methods.hpp"
#include "schedules/document/teacher.hpp"
#include "tests/trainer/training_cases.hpp"

namespace plumb {

/// Visits runs on `devices` devices that need everything that devices may tell each other: every schedule of the
/// catalogue that does so many, those with slots, validated ones that take updates back, and PipeMare's methods.
inline void for_each_process_case(std::int32_t devices,
                                  const std::function<void(const std::string& name, TrainOptions options)>& visit) {
  const auto run = [&](const ScheduleSpec& spec, const std::string& key, const std::string& value) {
    ScheduleParams params{.num_devices = devices, .num_microbatches = 4, .updates = 2};
    if (!key.empty()) params.options = {{key, value}};
    auto options = tiny_run(spec, params, spec.name == "chimera");
    if (!options) return;
    options->model.numbers = NumberType::kFloat32;
    if (key == "validation") {
      options->optimization.clip_norm = 0.05;
      options->optimization.clip_scope = ClipScope::kGlobal;
    }
    if (spec.name == "pipemare" && key == "timing") {
      options->schedule = with_methods(options->schedule, "t1:K=2,t2:D=0.135,t3:updates=1");
    }
    if (has_teacher(options->schedule)) options->optimization.teacher.weight = 0.5;
    if (key == "adapters") {
      options->model.network = with_adapters(std::move(options->model.network), {.rank = 2, .alpha = 4});
    }
    visit(std::string(spec.name) + (key.empty() ? "" : " " + key + "=" + value), *std::move(options));
  };
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    run(spec, "", "");
    if (spec.has_option("timing")) run(spec, "timing", "slots");
    if (spec.has_option("validation")) run(spec, "validation", "post");
    if (spec.has_option("adapters")) run(spec, "adapters", "2");
  }
}

/// A small run on four devices, for what may go wrong between them.
inline TrainOptions small_process_run(const std::string& name, std::int64_t updates = 5) {
  TrainOptions options =
      tiny_run(name, {.num_devices = 4, .num_microbatches = 4, .updates = updates}, 4, name == "chimera");
  options.model.numbers = NumberType::kFloat32;
  return options;
}

}  // namespace plumb
