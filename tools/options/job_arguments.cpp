#include "tools/options/job_arguments.hpp"

#include <array>

#include "models/ground/error.hpp"
#include "models/ground/text_file.hpp"
#include "models/jobs/kernel_rates_io.hpp"

namespace plumb {
namespace {

constexpr std::array<std::string_view, 3> kRecompute{"none", "selective", "full"};

}  // namespace

void JobArguments::add_to(ArgumentParser& parser, JobRanges* ranges) {
  const std::string title = "Parallelism inside a stage, with --network and --cluster";
  if (ranges != nullptr) {
    parser.group(title);
    ranges->add_to(parser);
  } else {
    parser.group(title + " (also --recompute selective or full)")
        .whole("tp", degrees.tensor, {}, "tensor-parallel degree")
        .whole("cp", degrees.context, {}, "context-parallel degree: parts that each sequence is split into")
        .whole("ep", degrees.expert, {}, "expert-parallel degree, part of the CP x DP ranks")
        .whole("dp", degrees.data, {}, "data-parallel degree: copies of the pipeline")
        .whole("zero", degrees.zero, {0, 3},
               "ZeRO stage: shard 1 the optimizer state, 2 also the gradients, 3 also the weights (FSDP)")
        .whole("microbatch-size", degrees.microbatch_size, {},
               "samples per microbatch and data-parallel rank (default: as in the network)");
  }
  parser
      .flag("sequence-parallel", sequence_parallel,
            "sequence parallelism: split norms and dropout over the TP ranks as well")
      .real("capacity", capacity, {}, "load of the busiest expert relative to the average (default: 1)")
      .flag("no-flash-attention", no_flash_attention, "attention stores its score matrix")
      .flag("dropout", dropout, "store dropout masks (default: for networks whose attention has biases)")
      .flag("overlap-gradients", overlap_gradients, "overlap the reduction of gradients with the last backward")
      .flag("overlap-tensor", overlap_tensor, "overlap the TP all-reduce of input gradients with W")
      .text("rates", rates, "FILE", "speeds that kernels reach (default: built in for the device's name)");
}

bool JobArguments::any() const {
  return degrees.any() || capacity || sequence_parallel || no_flash_attention || dropout || overlap_gradients ||
         overlap_tensor || !rates.empty();
}

void JobArguments::take_recompute(std::string& schedule_recompute) {
  for (const std::string_view name : kRecompute) {
    if (schedule_recompute != name) continue;
    degrees.recompute = name;
    schedule_recompute.clear();
    return;
  }
}

Parallelism JobArguments::parallelism(const Precision& precision) const {
  Parallelism job;
  job.tensor = degrees.tensor.value_or(1);
  job.context = degrees.context.value_or(1);
  job.expert = degrees.expert.value_or(1);
  job.data = degrees.data.value_or(1);
  job.zero = static_cast<ZeroStage>(degrees.zero.value_or(0));
  job.microbatch_size = degrees.microbatch_size.value_or(0);
  job.sequence_parallel = sequence_parallel;
  job.flash_attention = !no_flash_attention;
  if (dropout) job.dropout = true;
  job.overlap_gradients = overlap_gradients;
  job.overlap_tensor = overlap_tensor;
  job.precision = precision;
  if (degrees.recompute == "selective") job.recompute = ActivationRecompute::kSelective;
  if (degrees.recompute == "full") job.recompute = ActivationRecompute::kFull;
  if (capacity) {
    if (!(*capacity >= 1 && *capacity <= 1000)) throw Error("--capacity: expected a factor from 1 to 1000");
    job.expert_capacity = *capacity;
  }
  return job;
}

KernelRates JobArguments::rates_of(const DeviceSpec& device) const {
  return rates.empty() ? kernel_rates_of(device)
                       : kernel_rates_from_json(read_text_file(rates, kKernelRatesFile), rates);
}

}  // namespace plumb
