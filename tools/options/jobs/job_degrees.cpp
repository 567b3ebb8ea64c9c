#include "tools/options/jobs/job_degrees.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "models/ground/error.hpp"
#include "models/jobs/layer_recompute.hpp"
#include "tools/options/parse_range.hpp"

namespace plumb {
namespace {

constexpr std::array<std::string_view, 7> kLayerRecompute{"none",       "selective", "full",       "norm",
                                                          "activation", "moe",       "mla_up_proj"};

/// Every one of `jobs` with every value of the range.
void spread(std::vector<JobDegrees>& jobs, std::optional<std::int64_t> JobDegrees::*degree, const std::string& range,
            const char* where, NumberRange within = {1, 1'000'000}) {
  if (range.empty()) return;
  std::vector<JobDegrees> all;
  for (const JobDegrees& job : jobs) {
    for (const std::int64_t value : parse_range(range, where, within)) {
      all.push_back(job);
      all.back().*degree = value;
    }
  }
  jobs = std::move(all);
}

void spread_recompute(std::vector<JobDegrees>& jobs, const std::string& names) {
  if (names.empty()) return;
  std::vector<JobDegrees> all;
  for (const JobDegrees& job : jobs) {
    for (const std::string& name : split(names, ',')) {
      if (!layer_recompute_of(name)) {
        throw_unknown("--recompute choice", name, kLayerRecompute);
      }
      all.push_back(job);
      all.back().recompute = name;
    }
  }
  jobs = std::move(all);
}

}  // namespace

std::string JobDegrees::text() const {
  std::string text;
  const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  const auto degree = [&](const char* name, const std::optional<std::int64_t>& value) {
    if (value) add(name + (" " + std::to_string(*value)));
  };
  degree("tp", tensor);
  degree("cp", context);
  degree("ep", expert);
  degree("etp", expert_tensor);
  degree("dp", data);
  degree("zero", zero);
  degree("size", microbatch_size);
  if (!recompute.empty()) add(recompute + " recompute");
  return text;
}

void JobRanges::add_to(OptionTable& parser) {
  parser.text("tp", tensor, "RANGE", "tensor-parallel degree")
      .text("cp", context, "RANGE", "context-parallel degree: parts that each sequence is split into")
      .text("ep", expert, "RANGE", "expert-parallel degree, part of the TP x CP x DP ranks")
      .text("etp", expert_tensor, "RANGE", "ranks that divide every expert (default: as TP)")
      .text("dp", data, "RANGE", "data-parallel degree: copies of the pipeline")
      .text("zero", zero, "RANGE",
            "ZeRO stage: shard 1 the optimizer state, 2 also the gradients, 3 also the weights (FSDP)")
      .text("microbatch-size", microbatch_size, "RANGE",
            "samples per microbatch and data-parallel rank (default: as in the network)")
      .text("recompute", recompute, "LIST",
            "recomputation within layers: none, selective, full, or modules such as norm+activation; several with "
            "commas (default: none)");
}

std::vector<JobDegrees> JobRanges::all() const {
  std::vector<JobDegrees> jobs{JobDegrees{}};
  spread(jobs, &JobDegrees::tensor, tensor, "sweep: --tp");
  spread(jobs, &JobDegrees::context, context, "sweep: --cp");
  spread(jobs, &JobDegrees::expert, expert, "sweep: --ep");
  spread(jobs, &JobDegrees::expert_tensor, expert_tensor, "sweep: --etp");
  spread(jobs, &JobDegrees::data, data, "sweep: --dp");
  spread(jobs, &JobDegrees::zero, zero, "sweep: --zero", {0, 3});
  spread(jobs, &JobDegrees::microbatch_size, microbatch_size, "sweep: --microbatch-size");
  spread_recompute(jobs, recompute);
  return jobs;
}

}  // namespace plumb
