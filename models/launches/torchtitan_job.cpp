#include "models/launches/torchtitan_job.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "models/ground/error.hpp"
#include "models/launches/megatron_names.hpp"
#include "models/launches/pipeline_layout.hpp"
#include "models/launches/read_machine.hpp"
#include "models/launches/torchtitan_network.hpp"

namespace plumb {
namespace {

constexpr std::string_view kModelParts = "parallelism.module_fqns_per_model_part";

/// Returns the value of the first of `names` that is given: newer names come first.
std::string first_of(const Settings& settings, std::initializer_list<std::string_view> names) {
  std::string found;
  for (const std::string_view name : names) {
    if (settings.has(name) && found.empty()) found = name;
  }
  return found.empty() ? std::string(*names.begin()) : found;
}

std::int64_t ranks_of(const Settings& settings, std::initializer_list<std::string_view> names) {
  const std::string name = first_of(settings, names);
  const std::int64_t ranks = settings.whole(name, 1);
  if (ranks > 1 << 20) settings.fail(name, "expected at most 1048576");
  return ranks;
}

void set_titan_degrees(const Settings& settings, LaunchJob& job) {
  Parallelism& ranks = job.parallelism;
  ranks.tensor = ranks_of(settings, {"parallelism.tensor_parallel_degree", "training.tensor_parallel_degree"});
  ranks.context = ranks_of(settings, {"parallelism.context_parallel_degree", "experimental.context_parallel_degree"});
  ranks.expert = ranks_of(settings, {"parallelism.expert_parallel_degree"});
  ranks.expert_tensor = ranks_of(settings, {"parallelism.expert_tensor_parallel_degree"});
  if (ranks.expert == 1) ranks.expert_tensor = 0;  // then experts are divided as all other weights
  ranks.sequence_parallel = ranks.tensor > 1;
  ranks.data = 0;
  job.pipeline = ranks_of(settings, {"parallelism.pipeline_parallel_degree", "experimental.pipeline_parallel_degree",
                                     "training.pipeline_parallel_degree"});
  ranks.overlap_products = settings.flag("parallelism.enable_async_tensor_parallel",
                                         settings.flag("experimental.enable_async_tensor_parallel")) &&
                           ranks.tensor > 1;
  ranks.overlap_gradients = true;
  ranks.zero = ZeroStage::kWeights;
  const std::string reshard = settings.text("parallelism.fsdp_reshard_after_forward", "default");
  // "default": weights stay gathered where a pipeline would gather them for every microbatch
  if (reshard == "never" || (reshard == "default" && job.pipeline > 1)) ranks.zero = ZeroStage::kGradients;
  const std::string shard =
      first_of(settings, {"parallelism.data_parallel_shard_degree", "training.data_parallel_shard_degree",
                          "training.data_parallel_degree"});
  const std::int64_t shards = settings.whole(shard, -1, -1);
  if (shards > 1 << 20) settings.fail(shard, "expected at most 1048576");
  if (shards == 1) ranks.zero = ZeroStage::kNone;
  const std::int64_t copies =
      ranks_of(settings, {"parallelism.data_parallel_replicate_degree", "training.data_parallel_replicate_degree"});
  if (shards > 0) job.data_ranks = shards * copies;
  if (copies > 1 && shards > 0 && ranks.zero != ZeroStage::kNone) {
    ranks.shard_groups = ShardGroups::of(shards * ranks.context);
  } else if (copies > 1 && ranks.zero != ZeroStage::kNone) {
    job.note(LaunchNote::kNotModelled,
             "data_parallel_replicate_degree: weights are priced as sharded over all data ranks");
  }
}

/// Orders by PyTorch's names.
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kTitanSchedules{
    {{"1f1b", "torch-1f1b"},
     {"gpipe", "torch-gpipe"},
     {"interleaved1f1b", "torch-interleaved"},
     {"loopedbfs", "torch-looped-bfs"},
     {"interleavedzerobubble", "torch-interleaved-zb"},
     {"zbvzerobubble", "torch-zbv"},
     {"dualpipev", "torch-dualpipev"},
     {"flexibleinterleaved1f1b", "torch-interleaved"}}};

void set_titan_schedule(const Settings& settings, LaunchJob& job) {
  const std::string name =
      first_of(settings, {"parallelism.pipeline_parallel_schedule", "experimental.pipeline_parallel_schedule"});
  const std::string schedule = setting_name(settings.text(name, "1F1B"));
  if (job.pipeline == 1) return;
  job.schedule_file = settings.text("parallelism.pipeline_parallel_schedule_csv", "");
  const std::size_t parts = settings.list(kModelParts).size();
  if (parts % static_cast<std::size_t>(job.pipeline) != 0) {
    settings.fail(kModelParts, "expected a multiple of " + std::to_string(job.pipeline) +
                                   " parts, as many for every pipeline rank, found " + std::to_string(parts));
  }
  const auto known =
      std::ranges::find(kTitanSchedules, schedule, &std::pair<std::string_view, std::string_view>::first);
  if (known == kTitanSchedules.end()) settings.fail(name, "expected a schedule of PyTorch, found '" + schedule + "'");
  job.schedule = known->second;
  const bool several = schedule != "1f1b" && schedule != "gpipe";
  const std::int64_t each = settings.whole("parallelism.pipeline_parallel_layers_per_stage", 0, 0);
  job.chunks = several ? 2 : 1;
  if (each > 0 && job.network) {
    const auto layers = static_cast<std::int64_t>((job.network->layers.size() - 3) / 2);
    const std::int64_t stages = (layers + 2 + each - 1) / each;
    if (stages % job.pipeline != 0)
      settings.fail("parallelism.pipeline_parallel_layers_per_stage", "expected a number that makes a multiple of " +
                                                                          std::to_string(job.pipeline) +
                                                                          " stages, found " + std::to_string(stages));
    job.chunks = stages / job.pipeline;
  }
  if (parts > 0) job.chunks = static_cast<std::int64_t>(parts) / job.pipeline;
}

/// Decoder layers of every part of the model that `module_fqns_per_model_part` lists: "tok_embeddings,layers.0", ...
std::vector<std::int64_t> layers_of_parts(const Settings& settings, std::int64_t layers) {
  std::vector<std::int64_t> each;
  std::int64_t next = 0;
  for (const std::string& part : settings.list(kModelParts)) {
    each.push_back(0);
    for (std::size_t begin = 0; begin < part.size();) {
      const std::size_t end = std::min(part.find(',', begin), part.size());
      const std::string name = part.substr(begin, end - begin);
      begin = end + 1;
      if (!name.starts_with("layers.")) continue;
      if (name != "layers." + std::to_string(next++)) {
        settings.fail(kModelParts, "expected layers." + std::to_string(next - 1) + ", found " + name);
      }
      ++each.back();
    }
  }
  if (next != layers) {
    settings.fail(kModelParts,
                  "expected all " + std::to_string(layers) + " layers of the model, found " + std::to_string(next));
  }
  return each;
}

/// Embedding and head count as a layer each, and the first stages take what is left over.
void set_titan_partition(const Settings& settings, LaunchJob& job) {
  if (!job.network) return;
  PipelineUnits units;
  units.units.assign((job.network->layers.size() - 3) / 2, 2);
  if (job.pipeline > 1 && settings.has(kModelParts)) {
    job.partition = cut_at_units(units, layers_of_parts(settings, std::ssize(units.units)));
    return;
  }
  const std::int64_t stages = job.pipeline * job.chunks;
  const std::int64_t first = settings.whole("parallelism.pipeline_parallel_first_stage_less_layers", 1, 0);
  const std::int64_t last = settings.whole("parallelism.pipeline_parallel_last_stage_less_layers", 1, 0);
  const auto layers = static_cast<std::int64_t>(units.units.size());
  if (first > layers || last > layers) throw Error(job.source + ": expected fewer layers less in the end stages");
  const std::int64_t all = layers + first + last;
  if (stages > all) throw Error(job.source + ": more pipeline stages than layers, expected fewer");
  std::vector<std::int64_t> each;
  for (std::int64_t s = 0; s < stages; ++s) each.push_back(all / stages + (s < all % stages ? 1 : 0));
  each.front() -= first;
  each.back() -= last;
  if (each.front() < 0 || each.back() < 0) {
    throw Error(job.source + ": the first or last stage has fewer layers than it shall have less, expected more");
  }
  job.partition = cut_at_units(units, each);
}

/// "none" is a mode here, and no missing value.
std::string recompute_mode(const Settings& settings) {
  for (const char* name : {"activation_checkpoint.mode", "training.ac_mode"}) {
    const auto found = settings.all().find(name);
    settings.note_read(name);
    if (found != settings.all().end() && !found->second.values.empty()) return found->second.values.front();
  }
  return "selective";
}

void set_titan_precision(const Settings& settings, LaunchJob& job) {
  Parallelism& ranks = job.parallelism;
  for (const char* name : {"model.converters", "float8.enable_float8_linear"}) {
    for (const std::string& word : settings.list(name)) {
      if (word.find("mx") != std::string::npos) ranks.format = MatrixFormat::kMxFp8;
      if (word.find("float8") != std::string::npos || word == "true") ranks.format = MatrixFormat::kFp8Current;
    }
  }
  const std::string mode = recompute_mode(settings);
  if (mode == "full") ranks.recompute = ActivationRecompute::kFull;
  if (mode == "selective") {
    const std::string option = settings.text("activation_checkpoint.selective_ac_option", "2");
    ranks.modules.add(RecomputeModule::kNorm);
    ranks.modules.add(RecomputeModule::kActivation);
    // "op" computes every second matrix product again, too: less is kept than is priced, and more is computed.
    job.note(option == "op" ? LaunchNote::kDecides : LaunchNote::kNotModelled,
             "selective_ac_option " + option + ": priced as norms and activations computed again");
  }
  if (settings.flag("compile.enable", settings.flag("training.compile"))) {
    job.note(LaunchNote::kNotModelled, "compile: fewer and longer kernels");
  }
}

void note_titan(const Settings& settings, LaunchJob& job) {
  for (const std::string& name : settings.unread()) {
    if (name.starts_with("primus_turbo.")) {  // other kernels
      job.note(LaunchNote::kNotModelled, name);
      continue;
    }
    const Setting& setting = settings.all().at(name);
    const std::string value = setting.values.size() == 1 ? setting_name(setting.values.front()) : "set";
    const bool off = value.empty() || value == "null" || value == "none" || value == "false";
    if (name == "training.enable_cpu_offload" && !off) {
      job.note(LaunchNote::kDecides, "without " + name + ", which is not modelled");
      continue;
    }
    if (off && setting.place != kGivenPlace) continue;
    const bool harmless = is_harmless_in_titan(name) || megatron_setting_class(name) == SettingClass::kNoEffect;
    if (!harmless) settings.refuse_given(name);
    job.note(harmless ? LaunchNote::kNoEffect : LaunchNote::kUnknown, name);
  }
}

/// Samples of a microbatch and microbatches of a data rank. With a pipeline a batch is cut into microbatches (of one
/// sample by default); without, it is one. Torchtitan of today says tokens of a microbatch instead.
void set_titan_batch(const Settings& settings, LaunchJob& job) {
  constexpr std::string_view kTokens = "training.num_tokens_per_microbatch_per_dp_rank";
  const std::string local = first_of(settings, {"training.local_batch_size", "training.batch_size"});
  const std::string cut =
      first_of(settings, {"parallelism.num_pp_microbatches", "experimental.pipeline_parallel_microbatches"});
  job.batch = std::max<std::int64_t>(0, settings.whole("training.global_batch_size", 0, -1));
  const std::int64_t tokens = settings.whole(kTokens, 0, 0);
  const std::int64_t microbatch = settings.whole("parallelism.pipeline_parallel_microbatch_size", 1);
  const std::int64_t parts = settings.whole(cut, 0, 0);
  if (tokens > 0 && !settings.has(local)) {
    job.parallelism.microbatch_size = std::max<std::int64_t>(1, tokens / titan_sequence(settings));
    job.accumulation = job.pipeline > 1 ? std::max<std::int64_t>(1, parts) : 1;
    return;
  }
  const std::int64_t samples = settings.whole(local, 8);
  job.parallelism.microbatch_size = job.pipeline > 1 ? microbatch : samples;
  if (parts > 0 && job.pipeline > 1) job.parallelism.microbatch_size = std::max<std::int64_t>(1, samples / parts);
  job.accumulation = samples / job.parallelism.microbatch_size;
}

}  // namespace

LaunchJob torchtitan_job(const Settings& settings) {
  const bool known = settings.has("model.name") || settings.has("model.flavor") || settings.has("training.seq_len");
  if (!known) throw Error(settings.source() + ": expected a configuration of torchtitan with [model] and [training]");
  LaunchJob job{.source = settings.source(), .runtime = "torchtitan"};
  set_titan_degrees(settings, job);
  set_titan_batch(settings, job);
  job.network = titan_network(settings, job);
  if (!job.network) {
    job.note(LaunchNote::kAssumed, "the network '" + settings.text("model.name", "") + " " +
                                       settings.text("model.flavor", "") + "' is not known here: --network says it");
    job.network_name = settings.text("model.name", "") + "-" + settings.text("model.flavor", "");
    job.missing = settings.source() + ": the network '" + settings.text("model.name", "") + " " +
                  settings.text("model.flavor", "") + "' of torchtitan is not known here";
    job.parallelism.sequence = titan_sequence(settings);
  }
  set_titan_schedule(settings, job);
  set_titan_partition(settings, job);
  set_titan_precision(settings, job);
  set_optimizer(settings.text("optimizer.name", ""), settings.real("optimizer.momentum", 0), job);
  set_machine(settings, job);
  note_titan(settings, job);
  return job;
}

}  // namespace plumb
