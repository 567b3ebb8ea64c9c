#include "tools/options/plan_search_arguments.hpp"

#include <algorithm>

#include "models/cluster/cluster_io.hpp"
#include "models/ground/error.hpp"
#include "models/ground/plain_name.hpp"
#include "tools/options/cost_arguments.hpp"

namespace plumb {

void PlanSearchArguments::add_job_to(OptionTable& parser) {
  parser.group("Job")
      .text("network", network, "NAME|FILE", "model, see `plumbline networks`")
      .text("cluster", cluster, "NAME|FILE", "devices and links, see `plumbline clusters`")
      .whole("devices", devices, {1, 65536}, "devices of a built-in cluster (--cluster h100 --devices 64 is h100-8x8)")
      .whole("batch", batch, {}, "global batch size: samples per optimizer update")
      .whole("sequence", sequence, {}, "tokens per sample (default: as in the network)")
      .text("precision", precision, "NAME",
            "mixed (bf16 compute), single, or mixed with products in fp8 (delayed scaling), fp8-current, fp8-block, "
            "mxfp8 or nvfp4 (default: mixed; single on the cluster host)")
      .words(kPrecisionNames)
      .text("rates", rates, "FILE", "speeds that kernels reach (default: built in for the device's name)")
      .text("memory-limit", memory_limit, "X", "memory of each device, such as 80GiB (default: as in the cluster)")
      .text("host-bandwidth", host_bandwidth, "RATE",
            "bytes/s between a device and its host, such as 25GB: allows schedules that offload activations")
      .text("runtime", runtime, "SYSTEM",
            "the system that will run the plan: megatron, pytorch, torchtitan or deepspeed; only what it can run is "
            "searched, and timed as it sends and receives (default: none, plans that some system runs)")
      .words(plan_runtime_names());
}

void PlanSearchArguments::add_to(OptionTable& parser) {
  add_job_to(parser);
  parser.group("Search space; a RANGE is 1,2,4 or 2:8:2")
      .text("tp", tensor, "RANGE", "tensor-parallel degrees (default: powers of 2 up to the devices of a node)")
      .flag("unlike-tp", unlike_tensor, "devices of unlike kinds may also have unlike tensor-parallel degrees")
      .text("cp", context, "RANGE",
            "context-parallel degrees (default: powers of 2 that leave each rank at least 4096 tokens)")
      .text("ep", expert, "RANGE",
            "expert-parallel degrees, part of the CP x DP ranks (default: divisors of the number of experts)")
      .text("dp", data, "RANGE", "data-parallel degrees (default: divisors of the batch)")
      .text("pp", places, "RANGE", "pipeline-parallel degrees: devices of the pipeline (default: 1 to 64)")
      .text("copies", copies, "RANGE",
            "copies of the whole pipeline on unlike devices, each with a share of the batch that suits its devices "
            "(default: 1 to 16, or 1 where --dp or --runtime is given)")
      .text("microbatch-size", microbatch_sizes, "RANGE",
            "samples per microbatch and data-parallel rank (default: divisors of the batch up to 8)")
      .text("chunks,v", chunks, "RANGE",
            "stages per device, for interleaved and other looped schedules (default: 2,3,4, and as many as there are "
            "layers where all stages have equally many)")
      .text("cut", cut, "NAME",
            "where stages may begin: at whole decoder layers (layers), or also between attention and MLP (blocks), "
            "which no system runs (default: layers)")
      .words(kPlanCuts)
      .text("zero", zero, "LIST",
            "ZeRO stages, 0 to 3, or of every stage as few layers by ZeRO 3 as fit (fitted), separated by commas "
            "(default: 0,1; without --runtime and --schedule also 2)")
      .text("recompute", recompute, "LIST",
            "recomputation within layers: none, selective, full, or of every stage as few layers as fit (fitted), "
            "separated by commas (default: none,full)")
      .words(kPlanRecomputes)
      .flag("offload", offload, "stashes may wait on the host, of every stage as many as let it fit")
      .text("schedule", schedules, "LIST",
            "names of schedules, separated by commas (default: those that some system runs)")
      .flag("all", all, "also search plans that no system is known to run; so do --schedule and options of such plans")
      .flag("asynchronous", asynchronous,
            "also search asynchronous schedules, which compute with weights that are some updates old");
  parser.text("planners", planners, "LIST",
              "published planners (`plumbline plan --list`) whose plans the search begins with, and whose steps the "
              "answer tells: all, none, or names separated by commas (default: all, not told)");
  parser.group("What ranks send each other, of all layouts");
  traffic.add_to(parser);
  parser.group("Prices").real("price", price, {0, 1e9},
                              "price of one device per hour, in any currency (default: as in the cluster's document)");
  parser.group("Limits of the search")
      .real("time-limit", time_limit_s, {}, "stop after this many seconds and print the best plan found (default: 60)")
      .whole("simulations", simulations, {},
             "stop after this many simulations, not counting the plans of published planners (default: 100000); "
             "unlike --time-limit this gives the same answer on every machine");
}

void size_cluster(PlanSearchArguments& arguments) {
  if (!arguments.devices || arguments.cluster.empty()) return;
  const std::int64_t wanted = *arguments.devices;
  const Cluster cluster = load_cluster(arguments.cluster);
  if (std::ssize(cluster.devices) == wanted) return;
  const std::string where = "plan: --devices " + std::to_string(wanted) + ": ";
  const bool built_in = std::ranges::any_of(
      builtin_clusters(), [&](std::string_view known) { return plain_name(known) == plain_name(arguments.cluster); });
  if (!built_in) {
    throw Error(where + "cluster '" + arguments.cluster + "' has " + std::to_string(cluster.devices.size()) +
                " devices, expected these or the name of a built-in cluster without a size");
  }
  try {
    arguments.cluster = load_cluster(arguments.cluster + "-" + std::to_string(wanted)).name;
  } catch (const Error&) {
    throw Error(where + "a node of '" + arguments.cluster + "' has " + std::to_string(cluster.devices_per_node) +
                " devices, expected a number that nodes, each more than half full, have equally many of");
  }
}

PlanJob PlanQuestion::job_on(const Cluster& other, const PricingLimits& other_limits) const {
  PlanJob changed = job;
  changed.price = job_pricing(network, other, rates, other_limits);
  return changed;
}

}  // namespace plumb
