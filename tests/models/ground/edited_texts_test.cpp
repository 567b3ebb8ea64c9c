// What the readers of models make of the texts of their corpora and of every small edit of them: a line for each text
// in tests/golden/readers. Where a format or a message is changed on purpose, the lines say which texts it concerns.
#include <string>

#include <doctest/doctest.h>

#include "models/cluster/cluster_io.hpp"
#include "models/import/graph_text.hpp"
#include "models/import/model_config.hpp"
#include "models/import/published_network.hpp"
#include "models/kernels/kernel_rates_io.hpp"
#include "models/launches/read_launch.hpp"
#include "models/network/network_io.hpp"
#include "models/sources/abstract_costs.hpp"
#include "models/sources/measured_messages.hpp"
#include "models/sources/profile.hpp"
#include "models/sources/run_profile.hpp"
#include "models/stages/partition.hpp"
#include "tests/support/read_corpus.hpp"

TEST_SUITE_BEGIN("models");

namespace plumb::testing {
namespace {

template <class... Values>
std::string joined_numbers(Values... values) {
  std::string text;
  ((text += std::to_string(values) + " "), ...);
  return text + "\n";
}

/// The first line is `--cost`, the rest `--memory`, as its fuzzer has it.
std::string costs_read(const std::string& text) {
  const std::size_t line = text.find('\n');
  const std::string memory = line == std::string::npos ? "" : text.substr(line + 1);
  const StageCosts costs =
      abstract_costs(text.substr(0, line), memory, {.num_stages = 2, .stages_together = 3, .recompute = true});
  std::string out = joined_numbers(costs.base.ticks_per_ns, costs.comm.value_or(-1), costs.memory_units_per_one);
  for (StageTimes times : costs.times) {
    for (const Ticks* time : times_per_microbatch(times)) out += joined_numbers(*time);
    out += joined_numbers(times.u, times.x, times.evict, times.load, times.all_reduce);
  }
  for (const StageMemory& memory_of : costs.memory) {
    for (const StashTensor& tensor : memory_of.stash) {
      out += tensor.name +
             joined_numbers(tensor.bytes, static_cast<int>(tensor.last_use), static_cast<int>(tensor.made_by));
    }
  }
  return out;
}

std::string launch_read(const std::string& text, const std::string& name) {
  LaunchJob job = read_launch(text, name);
  std::string out =
      job.runtime + " " + job.schedule + " " + job.schedule_file + " " +
      joined_numbers(job.pipeline, job.chunks, job.batch, job.accumulation, job.nodes, job.per_node, job.data_ranks,
                     job.devices(), job.model_ranks(), job.half ? 1 : 0, job.hides_messages ? 1 : 0);
  for (const auto& [key, value] : job.schedule_options) out += key + "=" + value + " ";
  for (const LaunchNote& note : job.notes) out += std::to_string(static_cast<int>(note.kind)) + note.text + "\n";
  for (const std::size_t bound : job.partition.bounds) out += joined_numbers(bound);
  const Parallelism& ranks = job.parallelism;
  out += joined_numbers(ranks.tensor, ranks.context, ranks.expert, ranks.expert_tensor, ranks.microbatch_size,
                        static_cast<int>(ranks.zero), static_cast<int>(ranks.recompute), ranks.recompute_layers,
                        ranks.sequence_parallel ? 1 : 0, ranks.flash_attention ? 1 : 0, static_cast<int>(ranks.format),
                        ranks.overlap_gradients ? 1 : 0, ranks.overlap_products ? 1 : 0, ranks.expert_capacity,
                        ranks.precision.gradient_bytes, ranks.precision.optimizer_bytes);
  if (job.network) out += network_to_json(*job.network);
  place_launch(job, 2 * job.model_ranks());
  return out + joined_numbers(job.microbatches, job.parallelism.data);
}

std::string profile_read(const std::string& text) {
  if (text.find("run-profile") != std::string::npos) return run_profile_to_json(run_profile_from_json(text, "x.json"));
  return profile_to_json(profile_from_json(text, "x.json"));
}

std::string ping_pong_read(const std::string& text) {
  std::string out;
  for (const PingPong& one : ping_pong_from_csv(text, "x.csv")) {
    out += joined_numbers(one.bytes, one.time.median_ns, one.time.p10_ns, one.time.p90_ns, one.time.count);
  }
  return out;
}

}  // namespace

TEST_CASE("networks and clusters are read, or refused, as they were, with every edit of a letter") {
  check_corpus_lines(
      corpus_lines("network_json",
                   [](const std::string& text) { return network_to_json(network_from_json(text, "x.json")); }) +
          corpus_lines("cluster_json",
                       [](const std::string& text) { return cluster_to_json(cluster_from_json(text, "x.json")); }),
      "readers/networks.txt");
}

TEST_CASE("what others publish of networks is read, or refused, as it was, with every edit of a letter") {
  check_corpus_lines(corpus_lines("model_config",
                                  [](const std::string& text) {
                                    return network_to_json(network_from_model_config(text, "m/config.json"));
                                  }) +
                         corpus_lines("published_network",
                                      [](const std::string& text) {
                                        return layer_graph_to_text(published_network(text, "x.txt").layers);
                                      }),
                     "readers/imports.txt");
}

TEST_CASE("costs, profiles, rates and partitions are read, or refused, as they were, with every edit of a letter") {
  check_corpus_lines(
      corpus_lines("abstract_costs", costs_read) + corpus_lines("profile_json", profile_read) +
          corpus_lines("ping_pong", ping_pong_read) +
          corpus_lines(
              "kernel_rates_json",
              [](const std::string& text) { return kernel_rates_to_json(kernel_rates_from_json(text, "x.json")); }) +
          corpus_lines("partition", [](const std::string& text) { return to_string(parse_partition(text, 12)); }),
      "readers/costs.txt");
}

TEST_CASE("launch scripts and configurations are read, or refused, as they were, with every edit of a letter") {
  std::string lines;
  for (const char* kind : {"json", "script", "toml", "yaml"}) {
    const std::string ending = std::string(kind) == "script" ? "sh" : kind;
    lines += corpus_lines(
        std::string("launch_") + kind, [&](const std::string& text) { return launch_read(text, "x." + ending); }, 16);
  }
  check_corpus_lines(lines, "readers/launches.txt");
}

}  // namespace plumb::testing

TEST_SUITE_END();
