#include "trainer/plan/run_identity.hpp"

#include <array>
#include <charconv>
#include <cstdio>
#include <string_view>

#include "models/network/network_io.hpp"
#include "models/stages/partition.hpp"
#include "schedules/document/methods.hpp"
#include "schedules/document/schedule_io.hpp"

namespace plumb {
namespace {

std::string hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  std::array<char, 17> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(hash));
  return digits.data();
}

/// Returns the shortest text that reads back as the same number.
std::string text_of(double value) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

/// Describes the adapters of the first layer that has any: all others are alike.
std::string adapters_text(const std::vector<LayerSpec>& layers) {
  for (const LayerSpec& layer : layers) {
    const Lora& lora = layer.lora;
    if (lora.rank > 0) {
      return " adapters " + std::to_string(lora.rank) + " " + text_of(lora.alpha) + " " +
             std::to_string(static_cast<int>(lora.targets));
    }
    if (std::string inside = adapters_text(layer.body); !inside.empty()) return inside;
  }
  return "";
}

std::string text_of(const OptimizerOptions& of) {
  constexpr std::array kNames{"sgd", "adam", "adamw", "nadam"};
  return std::string(kNames[static_cast<std::size_t>(of.kind)]) + ", momentum " + text_of(of.momentum) + ", beta " +
         text_of(of.beta1) + " " + text_of(of.beta2) + ", epsilon " + text_of(of.epsilon) + ", weight decay " +
         text_of(of.weight_decay);
}

/// Returns what of it decides about rates.
std::string text_of(const LearningRateOptions& of) {
  std::string text = text_of(of.base) + ", warm-up " + std::to_string(of.warmup);
  switch (of.kind) {
    case LearningRateKind::kConstant:
      return "constant " + text;
    case LearningRateKind::kCosine:
      return "cosine " + text + ", total " + std::to_string(of.total) + ", floor " + text_of(of.floor);
    case LearningRateKind::kInverseSqrt:
      return "inverse square root " + text;
    case LearningRateKind::kStep:
      return "step " + text + ", every " + std::to_string(of.every) + ", factor " + text_of(of.factor);
  }
  return text;
}

/// What is likely to differ comes before the hash of all of it.
std::string text_of(const Schedule& schedule) {
  std::string text = schedule.name + ", " + std::to_string(schedule.num_devices) + " devices, " +
                     std::to_string(schedule.per_update(StageId{0})) + " microbatches per update";
  if (!schedule.weights.methods.empty()) text += ", methods " + to_string(schedule.weights.methods);
  return text + " (" + hash_of(schedule_to_json(schedule)) + ")";
}

/// Returns the weights that are given: their names and bits.
std::string text_of(const NamedValues& weights) {
  if (weights.empty()) return "";
  std::string all;
  for (const auto& [name, values] : weights) {
    const auto* bytes = reinterpret_cast<const char*>(values.data());
    all += name + " " + hash_of({bytes, values.size() * sizeof(double)}) + "\n";
  }
  return " weights " + hash_of(all);
}

std::string text_of(const TeacherOptions& of) {
  return "weight " + text_of(of.weight) + ", temperature " + text_of(of.temperature) + ", decay " + text_of(of.decay);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> run_identity(const RunPlan& plan, std::int64_t passes) {
  const TrainOptions& options = plan.options;
  // The first that differs is reported: steps before what follows from them, as the schedule of an asynchronous run.
  std::vector<std::pair<std::string, std::string>> identity{
      {"steps", std::to_string(passes * plan.document_updates)},
      {"schedule", text_of(options.schedule)},
      {"network", options.model.network.name + " " + hash_of(network_to_json(options.model.network)) +
                      adapters_text(options.model.network.layers)},
      {"partition", to_string(options.model.partition)},
      {"microbatch", std::to_string(options.model.shape.samples) + "x" + std::to_string(options.model.shape.sequence)},
      {"data", options.data->facts().identity},
      {"seed", std::to_string(options.model.seed) + text_of(options.model.initial_parameters)},
      {"optimizer", text_of(options.optimization.optimizer)},
      {"learning_rate", text_of(options.optimization.learning_rate)},
      {"clip_norm", text_of(options.optimization.clip_norm) +
                        (options.optimization.clip_scope == ClipScope::kGlobal ? " global" : "")},
      {"numbers", std::string(name_of(options.model.numbers)) + (plan.backend.paced ? " that nothing computes" : "")}};
  if (plan.program.has_teacher) {
    identity.emplace_back("teacher", text_of(options.optimization.teacher) + text_of(options.model.teacher_parameters));
  }
  return identity;
}

}  // namespace plumb
