#include <algorithm>
#include <string_view>

#include "models/ground/error.hpp"
#include "models/ground/text_stream.hpp"
#include "models/stages/whole_layers.hpp"
#include "tools/formats/schedule_guide.hpp"
#include "tools/plans/plan_search_text.hpp"

namespace plumb {
namespace {

/// The part of a guide that begins with `title`, with the line end before it; empty where there is none.
std::string guide_part(const std::string& guide, std::string_view title) {
  const std::size_t begin = guide.find("\n" + std::string(title));
  if (begin == std::string::npos) return {};
  const std::size_t end = guide.find("\n\n", begin + 1);
  return guide.substr(begin, end == std::string::npos ? end : end + 1 - begin);
}

std::string guide_of(const SimulatedPlan& best, const std::vector<LayerCounts>& stages) {
  std::vector<std::int64_t> decoders;
  for (const LayerCounts& stage : stages) decoders.push_back(static_cast<std::int64_t>(stage.decoders));
  try {
    return schedule_guide(best.schedule, decoders);
  } catch (const Error& error) {
    return "\nPyTorch (torch.distributed.pipelining)\n  no: " + std::string(error.what()) + "\n";
  }
}

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
      add("lm_head");
    }
    text += (text.empty() ? "[[" : ", [") + names + "]";
  }
  return text + "]";
}

/// FSDP's degree and that of plain copies.
void add_torchtitan(const PipelinePlan& plan, const std::vector<LayerCounts>& stages, TextStream& out) {
  const Parallelism& job = plan.parallelism;
  const bool shards = job.zero != ZeroStage::kNone;
  out << "\ntorchtitan's configuration\n"
      << "  parallelism.data_parallel_replicate_degree = " << (shards ? 1 : job.data) << "\n"
      << "  parallelism.data_parallel_shard_degree = " << (shards ? job.data : 1) << "\n"
      << "  parallelism.tensor_parallel_degree = " << job.tensor << "\n"
      << "  parallelism.context_parallel_degree = " << job.context << "\n"
      << "  parallelism.expert_parallel_degree = " << job.expert << "\n"
      << "  parallelism.pipeline_parallel_degree = " << plan.places << "\n"
      << "  parallelism.num_pp_microbatches = " << plan.microbatches << "\n"
      << "  parallelism.module_fqns_per_model_part = " << modules_of(stages) << "\n"
      << "  training.local_batch_size = " << plan.microbatches * job.microbatch_size << "\n"
      << "  activation_checkpoint.mode = \"" << (job.recompute == ActivationRecompute::kFull ? "full" : "none")
      << "\"\n";
  if (job.zero == ZeroStage::kWeights) out << "  parallelism.fsdp_reshard_after_forward = \"always\"\n";
}

void add_deepspeed(const PlanQuestion& question, const PipelinePlan& plan, TextStream& out) {
  const Parallelism& job = plan.parallelism;
  const std::int64_t again = job.recompute == ActivationRecompute::kFull ? 1 : 0;
  out << "\nDeepSpeed\n"
      << "  PipelineModule(layers, num_stages=" << plan.places << ", partition_method=\"type:transformer\", "
      << "activation_checkpoint_interval=" << again << ")  # the class of the decoder layers\n"
      << "  {\"train_batch_size\": " << question.job.batch
      << ", \"train_micro_batch_size_per_gpu\": " << job.microbatch_size
      << ", \"gradient_accumulation_steps\": " << plan.microbatches
      << ", \"bf16\": {\"enabled\": true}, \"zero_optimization\": {\"stage\": " << static_cast<int>(job.zero) << "}}\n";
}

void add_megatron(const PlanQuestion& question, const SimulatedPlan& best, TextStream& out) {
  const PlanCommand command = megatron_command(question, best);
  out << "\nMegatron-LM\n" << (command.refused.empty() ? command.text : "  no: " + command.refused) << "\n";
  if (!command.note.empty()) out << "# " << command.note << "\n";
}

}  // namespace

std::string plan_guide(const PlanQuestion& question, const SimulatedPlan& best) {
  const PipelinePlan& plan = best.score.plan;
  const std::string_view name = question.runtime == nullptr ? "" : question.runtime->name;
  const std::vector<LayerCounts> stages = layer_counts(question.network, plan.partition);
  const std::string guide = guide_of(best, stages);
  TextStream out;
  out << plan.schedule << ": " << plan.places << " devices, " << plan.partition.num_stages() << " stages, "
      << plan.microbatches << " microbatches\n";
  const bool torch = name == "pytorch" || name == "torchtitan";
  if (torch || name.empty()) out << guide_part(guide, "PyTorch");
  if (name == "torchtitan" && !stages.empty()) add_torchtitan(plan, stages, out);
  if (name == "megatron" || name.empty()) add_megatron(question, best, out);
  if (name == "deepspeed") add_deepspeed(question, plan, out);
  if (torch || name.empty()) out << guide_part(guide, "Transfers");
  const Parallelism& job = plan.parallelism;
  out << "\nDevice mesh (PyTorch init_device_mesh): pp " << plan.places << ", dp " << job.data
      << (job.context > 1 ? ", cp " + std::to_string(job.context) : "") << ", tp " << job.tensor
      << (job.expert > 1 ? "; experts over " + std::to_string(job.expert) + " of dp x cp x tp" : "") << "\n";
  return out.str();
}

}  // namespace plumb
