#include "tools/options/launch_arguments.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "models/cluster/cluster_io.hpp"
#include "models/ground/error.hpp"
#include "models/ground/plain_name.hpp"
#include "models/ground/text_file.hpp"
#include "models/import/load_network.hpp"
#include "models/jobs/layer_recompute.hpp"
#include "schedules/catalogue/registry.hpp"
#include "tools/formats/schedule_formats.hpp"
#include "tools/formats/schedule_program.hpp"

namespace plumb {
namespace {

/// "h100-16x8": whether the name says how many nodes and devices.
bool says_size(const std::string& spelled) {
  const std::string name = dashed_name(spelled);
  const std::size_t dash = name.rfind('-');
  if (dash == std::string::npos) return false;
  const std::string size = name.substr(dash + 1);
  const std::size_t by = size.find('x');
  const auto is_number = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  return by != std::string::npos && is_number(std::string_view(size).substr(0, by)) &&
         is_number(std::string_view(size).substr(by + 1));
}

/// The batch becomes what so many microbatches of every rank are.
void take_microbatches(std::int64_t microbatches, LaunchJob& job) {
  job.batch = 0;
  job.accumulation = microbatches;
  job.batch_assumed = false;
}

/// Degrees of the command line replace those of the file.
void take_degrees(const LaunchedRun& run, LaunchJob& job) {
  const JobDegrees& given = run.costs.job.degrees;
  const auto take = [](const std::optional<std::int64_t>& value, std::int64_t& field) {
    if (!value) return false;
    field = *value;
    return true;
  };
  take(given.tensor, job.parallelism.tensor);
  take(given.context, job.parallelism.context);
  take(given.expert, job.parallelism.expert);
  take(given.expert_tensor, job.parallelism.expert_tensor);
  if (take(given.microbatch_size, job.parallelism.microbatch_size) && job.batch > 0 && job.runtime == "deepspeed") {
    job.accumulation = 0;  // follows from the batch
  }
  if (const auto again = layer_recompute_of(given.recompute); again && !given.recompute.empty()) {
    job.parallelism.recompute = again->all;
    job.parallelism.modules = again->modules;
    job.parallelism.recompute_layers = 0;
  }
  if (given.zero) job.parallelism.zero = static_cast<ZeroStage>(*given.zero);
  const bool other_devices = take(run.size.devices, job.pipeline);
  const bool recut = take(run.size.chunks, job.chunks) || other_devices;
  if (recut) job.partition = {};
  if (recut && job.chunks > 1 && job.schedule == "1f1b") job.schedule = "interleaved";
  if (recut && job.chunks == 1 && job.schedule == "interleaved") job.schedule = "1f1b";
  if (run.size.microbatches) take_microbatches(*run.size.microbatches, job);
}

/// A schedule of the command line replaces that of the file; the stages of a rank stay where both are cut alike.
void take_schedule(const LaunchedRun& run, LaunchJob& job) {
  if (run.schedule.empty() || is_schedule_program(run.schedule)) return;
  if (is_schedule_file(run.schedule)) {
    const Schedule schedule = read_schedule(run.schedule);
    if (schedule.num_devices != job.pipeline || schedule.num_stages != job.pipeline * job.chunks) job.partition = {};
    job.pipeline = schedule.num_devices;
    job.chunks = std::max<std::int64_t>(1, schedule.num_stages / schedule.num_devices);
    take_microbatches(schedule.per_update(StageId{0}), job);
    return;
  }
  const std::string name(schedule_named(run.schedule).name);
  if (name != job.schedule && !run.size.chunks && job.chunks > 1) {
    job.chunks = 1;
    job.partition = {};
  }
  job.schedule = name;
}

/// The document with the order of `job`, which its launch file names. It is never a program, and never a pipe.
std::string schedule_beside(const LaunchJob& job) {
  const std::filesystem::path path = std::filesystem::path(job.source).parent_path() / job.schedule_file;
  const bool is_input = path == "-";
  const bool is_other = file_exists(path) && !is_plain_file(path);
  if (is_schedule_program(path.string()) || is_input || is_other) {
    throw Error(job.source + ": names '" + job.schedule_file +
                "' as the order of its passes, expected a regular file with a schedule; it runs no programs");
  }
  return path.string();
}

void fill_size(const LaunchJob& job, const LaunchedRun& run) {
  if (!run.schedule.empty() && is_schedule_file(run.schedule)) return;
  if (run.schedule.empty()) {
    run.schedule = job.schedule;
    for (const auto& [key, value] : job.schedule_options) run.size.options.push_back(key + "=" + value);
  }
  if (!run.size.devices) run.size.devices = job.pipeline;
  if (!run.size.microbatches) run.size.microbatches = job.microbatches;
  if (!run.size.chunks && job.chunks > 1) run.size.chunks = job.chunks;
}

}  // namespace

void LaunchArguments::add_to(OptionTable& parser, const std::string& name) {
  parser.group("Launch file")
      .text(name, file, "FILE",
            "launch script or log of Megatron-LM, or a configuration of torchtitan (.toml), DeepSpeed (.json), NeMo, "
            "Megatron-Bridge, Primus or GPT-NeoX (.yaml). It sets network, degrees, batch and schedule; other options "
            "replace its values")
      .brief("launch file: Megatron-LM, torchtitan, DeepSpeed, NeMo, Primus")
      .texts("job-set", set, "NAME=VALUE",
             "a variable of the script, or a setting (--job-set NNODES=16, --job-set vocab_size=32000)")
      .text("job-args", arguments, "WORDS", "the arguments that the script is called with");
}

namespace {

std::int64_t whole_nodes(std::int64_t devices, std::int64_t per_node) {
  return per_node < 1 ? devices : (devices + per_node - 1) / per_node * per_node;
}

/// "h100-64x8": as many nodes of the cluster as the degrees of the file take, where that is known and more than it has.
std::string cluster_of_degrees(const LaunchJob& job, const std::string& name) {
  const Cluster cluster = load_cluster(name);
  const auto per_node = static_cast<std::int64_t>(cluster.devices_per_node);
  const std::int64_t devices = job.devices() > 0 ? job.devices() : whole_nodes(job.least_devices(), per_node);
  if (devices <= std::ssize(cluster.devices) || per_node < 1 || devices % per_node != 0) return name;
  return name + "-" + std::to_string(devices / per_node) + "x" + std::to_string(per_node);
}

}  // namespace

std::string launch_cluster(const LaunchJob& job, const std::string& name) {
  if (name.empty()) {
    const std::string size = job.nodes * job.per_node > 0 ? " (the file says " + std::to_string(job.nodes) +
                                                                (job.nodes == 1 ? " node of " : " nodes of ") +
                                                                std::to_string(job.per_node) + " devices)"
                                                          : "";
    throw Error("--job: the cluster is missing, expected --cluster NAME" + size + " or --cluster NAME-NODESxDEVICES");
  }
  if (is_document_path(name) || says_size(name)) return name;
  if (job.nodes * job.per_node == 0) return cluster_of_degrees(job, name);
  return name + "-" + std::to_string(job.nodes) + "x" + std::to_string(job.per_node);
}

namespace {

/// Devices of the cluster that the job takes: a job that the file puts on fewer leaves the others alone, which decides
/// the answer where the user named the size of the cluster.
std::int64_t devices_of(LaunchJob& job, const std::string& cluster, bool sized) {
  const auto all = static_cast<std::int64_t>(load_cluster(cluster).devices.size());
  const std::int64_t taken = job.devices() > 0 ? std::min(all, job.devices()) : all;
  if (sized && taken < all) {
    const std::int64_t copies = all / std::max<std::int64_t>(1, job.model_ranks());
    job.note(LaunchNote::kDecides, std::to_string(taken) + " of the " + std::to_string(all) + " devices of " + cluster +
                                       ", as many as the file says (--dp " + std::to_string(copies) + " takes " +
                                       std::to_string(copies * job.model_ranks()) + ")");
  }
  return taken;
}

}  // namespace

namespace {

/// A file that loads its network says no more of it than a name: that of a built-in one is that one.
void take_named_network(LaunchJob& job) {
  if (!job.network) {
    const std::string model = job.network_name.substr(job.network_name.rfind('/') + 1);
    const std::string_view known = model.empty() ? std::string_view{} : builtin_network_called(model);
    if (known.empty()) {
      throw Error("--job: " + (job.missing.empty() ? job.source + " says nothing of the network" : job.missing) +
                  ", expected --network NAME|FILE with it");
    }
    job.network = load_network(known);
    job.note(LaunchNote::kAssumed,
             "the network " + std::string(known) + ", as the file names '" + job.network_name + "'");
  }
  if (job.stage_layers == 0) return;
  const std::int64_t layers = std::max<std::int64_t>(0, std::ssize(job.network->layers) - 3) / 2;
  const std::int64_t stages = (layers + job.stage_layers - 1) / job.stage_layers;
  job.chunks = std::max<std::int64_t>(1, stages / job.pipeline);
  if (job.chunks > 1 && job.schedule == "1f1b") job.schedule = "interleaved";
}

}  // namespace

void apply_launch(LaunchJob& job, const LaunchedRun& run) {
  const bool sized = is_document_path(run.costs.cluster) || says_size(run.costs.cluster);
  run.costs.cluster = launch_cluster(job, run.costs.cluster);
  if (!run.costs.network.empty()) {
    job.network = load_network(run.costs.network);
    job.network_name.clear();
    job.partition = {};
  }
  take_named_network(job);
  if (run.schedule.empty() && !job.schedule_file.empty() && !run.size.devices && !run.size.chunks) {
    run.schedule = schedule_beside(job);
  }
  take_schedule(run, job);
  take_degrees(run, job);
  const std::optional<std::int64_t> copies = run.costs.job.degrees.data;
  place_launch(job, copies ? *copies * job.model_ranks() : devices_of(job, run.costs.cluster, sized));
  fill_size(job, run);
  run.costs.described = job.network;
  run.costs.job.described = job.parallelism;
  if (run.costs.partition.empty())
    run.costs.partition = job.partition.bounds.empty() ? "equal" : to_string(job.partition);
  if (run.rules.runtime.empty()) {
    run.rules.runtime = !job.rules.empty() && run.schedule == job.schedule ? job.rules
                        : job.runtime == "megatron" && !job.hides_messages ? "megatron-batched"
                                                                           : job.runtime;
  }
}

}  // namespace plumb
