#include <algorithm>

#include "models/ground/text_stream.hpp"
#include "tools/formats/schedule_guide.hpp"
#include "tools/plans/plan_search_text.hpp"

namespace plumb {
namespace {

bool is_block_part(const LayerSpec& layer) { return layer.kind == LayerKind::kResidual; }

/// Transformer layers (attention and MLP) of every stage; empty where a stage begins inside of one.
std::vector<std::int64_t> decoder_layers(const Network& network, const Partition& partition) {
  std::vector<std::int64_t> layers;
  for (std::size_t s = 0; s < partition.num_stages(); ++s) {
    const LayerRange range = partition.range(s);
    const auto begin = network.layers.begin() + static_cast<std::ptrdiff_t>(range.begin);
    const auto end = network.layers.begin() + static_cast<std::ptrdiff_t>(range.end);
    const auto parts = std::count_if(begin, end, is_block_part);
    if (parts % 2 != 0) return {};
    layers.push_back(parts / 2);
  }
  return layers;
}

void add_option(std::ostream& out, const char* name, std::int64_t value) {
  out << "  " << name << " " << value << "\n";
}

void add_megatron(std::ostream& out, const PlanQuestion& question, const Parallelism& job) {
  add_option(out, "--tensor-model-parallel-size", job.tensor);
  if (job.sequence_parallel) out << "  --sequence-parallel\n";
  if (job.context > 1) add_option(out, "--context-parallel-size", job.context);
  if (job.expert > 1) add_option(out, "--expert-model-parallel-size", job.expert);
  if (job.expert_parts() != job.tensor) add_option(out, "--expert-tensor-parallel-size", job.expert_parts());
  add_option(out, "--micro-batch-size", job.microbatch_size);
  add_option(out, "--global-batch-size", question.job.batch);
  if (job.zero == ZeroStage::kOptimizer) out << "  --use-distributed-optimizer\n";
  if (job.recompute == ActivationRecompute::kFull) {
    out << "  --recompute-granularity full --recompute-method uniform --recompute-num-layers 1\n";
  }
  if (job.recompute == ActivationRecompute::kSelective) out << "  --recompute-granularity selective\n";
}

}  // namespace

std::string plan_guide(const PlanQuestion& question, const SimulatedPlan& best) {
  const PipelinePlan& plan = best.score.plan;
  const Parallelism& job = plan.parallelism;
  TextStream out;
  TextStream guide(schedule_guide(best.schedule, decoder_layers(question.network, plan.partition)));
  bool megatron = false;  // the line before was its title
  for (std::string line; std::getline(guide, line);) {
    // The plan knows what the guide of a bare schedule has to leave open.
    const bool replaced =
        line.find("--micro-batch-size") != std::string::npos || line.find("--global-batch-size") != std::string::npos;
    if (megatron && !line.starts_with("  no:")) add_megatron(out, question, job);
    if (!replaced) out << line << "\n";
    megatron = line == "Megatron-LM";
  }
  out << "\nDevice mesh (PyTorch init_device_mesh): pp " << plan.places << ", dp " << job.data
      << (job.context > 1 ? ", cp " + std::to_string(job.context) : "") << ", tp " << job.tensor
      << (job.expert > 1 ? "; experts over " + std::to_string(job.expert) + " of dp x cp x tp" : "") << "\n";
  return out.str();
}

}  // namespace plumb
