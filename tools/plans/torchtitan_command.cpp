#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/ground/error.hpp"
#include "models/launches/read_launch.hpp"
#include "models/launches/torchtitan_network.hpp"
#include "models/stages/whole_layers.hpp"
#include "schedules/document/schedule_io.hpp"
#include "tools/plans/launch_check.hpp"
#include "tools/plans/plan_commands.hpp"

namespace plumb {
namespace {

/// Lines of a TOML document.
class TomlLines {
 public:
  void table(const std::string& name) { text_ += (text_.empty() ? "[" : "\n[") + name + "]\n"; }
  void raw(const std::string& key, const std::string& value) { text_ += key + " = " + value + "\n"; }
  void text(const std::string& key, std::string_view value) { raw(key, '"' + std::string(value) + '"'); }
  void number(const std::string& key, std::int64_t value) { raw(key, std::to_string(value)); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// Modules of every stage by torchtitan's names: [["tok_embeddings", "layers.0"], ...].
std::string modules_of(const std::vector<LayerCounts>& stages) {
  std::string text;
  std::size_t layer = 0;
  for (const LayerCounts& stage : stages) {
    std::string names = stage.embedding ? "\"tok_embeddings\"" : "";
    const auto add = [&](const std::string& name) { names += (names.empty() ? "\"" : ", \"") + name + "\""; };
    for (std::size_t k = 0; k < stage.decoders; ++k) add("layers." + std::to_string(layer++));
    if (stage.head) {
      add("norm");
      add("output");
    }
    text += (text.empty() ? "[\n  [" : ",\n  [") + names + "]";
  }
  return text + "\n]";
}

/// PyTorch's classes that make an order of the catalogue themselves.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kTitanClasses{
    {{"1f1b", "1F1B"},
     {"torch-1f1b", "1F1B"},
     {"gpipe", "GPipe"},
     {"torch-gpipe", "GPipe"},
     {"torch-interleaved", "Interleaved1F1B"}}};

std::string_view titan_class(std::string_view schedule) {
  for (const auto& [ours, theirs] : kTitanClasses) {
    if (ours == schedule) return theirs;
  }
  return {};
}

/// "v" where stages go there and back over the devices, "loop" where they begin anew; anything else is refused.
bool is_v(const Schedule& schedule) {
  const std::int32_t p = schedule.num_devices;
  const auto fits = [&](auto device_of_stage) {
    for (std::int32_t stage = 0; stage < schedule.num_stages; ++stage) {
      const std::vector<DeviceId> expected{DeviceId{device_of_stage(stage)}};
      if (schedule.placement[0][static_cast<std::size_t>(stage)] != expected) return false;
    }
    return true;
  };
  if (fits([&](std::int32_t stage) { return stage % p; })) return false;
  if (fits([&](std::int32_t stage) { return stage / p % 2 == 0 ? stage % p : p - 1 - stage % p; })) return true;
  throw Error("torchtitan places stages in a loop or in a V only");
}

/// Names the order, or the file that says it; returns that file's text.
std::string add_schedule(const SimulatedPlan& plan, TomlLines& out) {
  const std::string_view theirs = titan_class(plan.score.plan.schedule);
  if (!theirs.empty()) {
    out.text("pipeline_parallel_schedule", theirs);
    return {};
  }
  // The class decides where stages lie, the file what is done when.
  out.text("pipeline_parallel_schedule", is_v(plan.schedule) ? "ZBVZeroBubble" : "Interleaved1F1B");
  out.text("pipeline_parallel_schedule_csv", "schedule.csv");
  return schedule_to_torch_csv(plan.schedule);
}

void add_model(const PlanQuestion& question, const Parallelism& job, TomlLines& out) {
  const auto model = titan_model_of(question.network);
  if (!model) throw Error("torchtitan has no preset of network '" + question.network.name + "'");
  out.table("model");
  out.text("name", model->name);
  out.text("flavor", model->flavor);
  if (job.format == MatrixFormat::kFp8Current) out.raw("converters", "[\"float8\"]");
  if (job.format == MatrixFormat::kMxFp8) out.raw("converters", "[\"mx\"]");
}

void add_sharding(const Parallelism& job, TomlLines& out) {
  const bool shards = job.zero != ZeroStage::kNone;
  out.number("data_parallel_replicate_degree", shards ? 1 : job.data);
  out.number("data_parallel_shard_degree", shards ? job.data : 1);
  if (shards) out.text("fsdp_reshard_after_forward", job.zero == ZeroStage::kWeights ? "always" : "never");
  out.number("tensor_parallel_degree", job.tensor);
  out.number("context_parallel_degree", job.context);
  out.number("expert_parallel_degree", job.expert);
  if (job.expert > 1) out.number("expert_tensor_parallel_degree", job.expert_parts());
  if (job.overlap_products) out.raw("enable_async_tensor_parallel", "true");
}

/// The whole configuration; the order goes to `csv` where no class of PyTorch makes it.
std::string titan_text(const PlanQuestion& question, const SimulatedPlan& plan, std::string& csv) {
  const PipelinePlan& choice = plan.score.plan;
  const Parallelism& job = choice.parallelism;
  TomlLines out;
  add_model(question, job, out);
  out.table("training");
  out.number("local_batch_size", (choice.places > 1 ? choice.microbatches : 1) * job.microbatch_size);
  out.number("global_batch_size", question.job.batch);
  out.number("seq_len", question.network.sequence);
  out.table("parallelism");
  add_sharding(job, out);
  out.number("pipeline_parallel_degree", choice.places);
  if (choice.places > 1) {
    out.number("pipeline_parallel_microbatch_size", job.microbatch_size);
    csv = add_schedule(plan, out);
    out.raw("module_fqns_per_model_part", modules_of(layer_counts(question.network, choice.partition)));
  }
  out.table("activation_checkpoint");
  out.text("mode", job.recompute == ActivationRecompute::kFull ? "full" : "none");
  return out.text();
}

}  // namespace

PlanCommand torchtitan_command(const PlanQuestion& question, const SimulatedPlan& plan) {
  try {
    PlanCommand command;
    command.text = titan_text(question, plan, command.csv);
    LaunchJob launch = read_launch(command.text, "torchtitan.toml");
    place_launch(launch, plan.score.plan.num_devices());
    check_launch(launch, question, plan);
    return command;
  } catch (const Error& error) {
    return {.refused = error.what()};
  }
}

}  // namespace plumb
