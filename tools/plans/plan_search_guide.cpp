#include <algorithm>
#include <string_view>

#include "models/ground/error.hpp"
#include "models/ground/text_stream.hpp"
#include "models/stages/whole_layers.hpp"
#include "tools/formats/schedule_guide.hpp"
#include "tools/plans/launch_changes.hpp"
#include "tools/plans/plan_search_text.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

/// The part of a guide that begins with `title`, with the line end before it; empty where there is none.
std::string guide_part(const std::string& guide, std::string_view title) {
  const std::size_t begin = guide.find("\n" + std::string(title));
  if (begin == std::string::npos) return {};
  const std::size_t end = guide.find("\n\n", begin + 1);
  return guide.substr(begin, end == std::string::npos ? end : end + 1 - begin);
}

std::string guide_of(const SimulatedPlan& best, const std::vector<LayerCounts>& stages, const PlanShown& shown) {
  std::vector<std::int64_t> decoders;
  for (const LayerCounts& stage : stages) decoders.push_back(static_cast<std::int64_t>(stage.decoders));
  try {
    const std::string written = shown.written ? "" : "  # after -o " + shell_word(shown.document);
    return schedule_guide(best.schedule, decoders,
                          "plumbline convert " + shell_word(shown.document) + " schedule.csv" + written);
  } catch (const Error& error) {
    return "\nPyTorch (torch.distributed.pipelining)\n  no: " + std::string(error.what()) + "\n";
  }
}

/// The launch for the system that the plan is for, or why there is none.
void add_launch(const PlanQuestion& question, const SimulatedPlan& best, const PlanShown& shown, TextStream& out) {
  const auto command = launch_command(question, best);
  if (!command) return;
  if (shown.said) {
    const PlanCommand changes = launch_changes_text(*shown.said, question, best);
    out << "\n" << question.runtime->title << ": change in " << shown.said->settings.source() << "\n";
    out << (changes.refused.empty() ? changes.text : "  no: " + changes.refused + "\n");
    if (changes.refused.empty() || !command->refused.empty()) return;
  }
  out << "\n" << question.runtime->title << (question.runtime->name == "megatron" ? "" : "'s configuration") << "\n";
  if (!command->refused.empty()) {
    out << "  no: " << command->refused << "\n";
    return;
  }
  out << command->text << (command->text.ends_with('\n') ? "" : "\n");
  if (!command->note.empty()) out << "# " << command->note << "\n";
}

/// What DeepSpeed's configuration cannot say, because the model's own code does.
void add_pipeline_module(const PipelinePlan& plan, TextStream& out) {
  const std::int64_t again = plan.parallelism.recompute == ActivationRecompute::kFull ? 1 : 0;
  out << "  model = PipelineModule(layers, num_stages=" << plan.places << ", partition_method=\"type:transformer\", "
      << "activation_checkpoint_interval=" << again << ")  # the class of the decoder layers\n";
}

void add_megatron(const PlanQuestion& question, const SimulatedPlan& best, TextStream& out) {
  const PlanCommand command = megatron_command(question, best);
  out << "\nMegatron-LM\n" << (command.refused.empty() ? command.text : "  no: " + command.refused) << "\n";
  if (!command.note.empty()) out << "# " << command.note << "\n";
}

}  // namespace

std::string plan_guide(const PlanQuestion& question, const SimulatedPlan& best, const PlanShown& shown) {
  const PipelinePlan& plan = best.score.plan;
  const std::string_view name = question.runtime == nullptr ? "" : question.runtime->name;
  const std::vector<LayerCounts> stages = layer_counts(question.network, plan.partition);
  const std::string guide = guide_of(best, stages, shown);
  TextStream out;
  out << plan.schedule << ": " << plan.places << " devices, " << plan.partition.num_stages() << " stages, "
      << plan.microbatches << " microbatches\n";
  const bool torch = name == "pytorch" || name == "torchtitan";
  if (torch || name.empty()) out << guide_part(guide, "PyTorch");
  if (name.empty()) add_megatron(question, best, out);
  add_launch(question, best, shown, out);
  if (name == "deepspeed" && !shown.said) add_pipeline_module(plan, out);
  if (torch || name.empty()) out << guide_part(guide, "Transfers");
  const Parallelism& job = plan.parallelism;
  out << "\nDevice mesh (PyTorch init_device_mesh): pp " << plan.length() << ", dp " << job.data
      << (plan.shares.empty()
              ? ""
              : ", " + std::to_string(plan.copies()) + " copies that take " + shares_text(plan) + " microbatches")
      << (job.context > 1 ? ", cp " + std::to_string(job.context) : "") << ", tp " << tensor_text(plan)
      << (job.expert > 1 ? "; experts over " + std::to_string(job.expert) + " of dp x cp x tp" : "") << "\n";
  return out.str();
}

}  // namespace plumb
