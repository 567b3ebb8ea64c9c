#include "models/jobs/vocabulary_shares.hpp"

#include <utility>
#include <vector>

#include "models/costs/time_limits.hpp"
#include "models/ground/error.hpp"
#include "models/jobs/job_shape.hpp"
#include "models/kernels/collectives.hpp"
#include "models/stages/network_costs.hpp"

namespace plumb {
namespace {

/// Bytes that a token's largest logit, or a sum over its logits, is made of.
constexpr double kStatisticBytes = 4;

void check_ends(const Network& network) {
  const bool whole = network.layers.size() > 2 && network.layers.front().kind == LayerKind::kEmbedding &&
                     network.layers.back().kind == LayerKind::kHead;
  if (whole) return;
  throw Error("network '" + network.name +
              "': a vocabulary is divided over all devices; expected an embedding first, a head last, and layers "
              "between");
}

std::int64_t share_of_rows(std::int64_t rows, std::size_t shares) {
  const auto parts = static_cast<std::int64_t>(shares);
  return (rows + parts - 1) / parts;
}

void add_communication(Ticks& time, CommTime& comm, Ticks more) {
  time += more;
  comm.all += more;
  comm.shown += more;
}

/// Collectives over all devices, beside which none of them has anything else to do.
void add_collectives_of_head(const JobCosts& job, const DeviceGroup& devices, double tokens, StageTimes& head) {
  const auto takes = [&](CollectiveOp op, double bytes) {
    return checked_ticks(job.rates.collective_s(op, devices, bytes) * kNsPerSecond, "a collective of the head");
  };
  const auto values = static_cast<double>(job.costs.memory.back().input_bytes);
  const Ticks forward =
      takes(CollectiveOp::kBroadcast, values) + 3 * takes(CollectiveOp::kAllReduce, kStatisticBytes * tokens);
  const Ticks backward = takes(CollectiveOp::kAllReduce, values);
  add_communication(head.f, head.f_comm, forward);
  add_communication(head.i, head.i_comm, backward);
  add_communication(head.b, head.b_comm, backward);
}

/// Rows of positions are not divided: takes theirs out of what a share of the embedding holds, and gives it to
/// `first`.
void move_positions(const LayerSpec& embedding, StageMemory& share, StageMemory& first) {
  for (const auto bytes : {&StageMemory::weight_bytes, &StageMemory::frozen_bytes, &StageMemory::gradient_bytes,
                           &StageMemory::optimizer_bytes}) {
    const std::int64_t part = share.*bytes * embedding.positions / (embedding.vocabulary + embedding.positions);
    share.*bytes -= part;
    first.*bytes += part;
  }
}

}  // namespace

Network without_vocabulary(const Network& network) {
  check_ends(network);
  Network layers = network;
  layers.layers.erase(layers.layers.begin());
  layers.layers.pop_back();
  return layers;
}

Network with_vocabulary_share(const Network& network, std::size_t shares) {
  check_ends(network);
  Network share = network;
  LayerSpec& embedding = share.layers.front();
  embedding.vocabulary = share_of_rows(embedding.vocabulary, shares);
  LayerSpec& head = share.layers.back();
  head.vocabulary = share_of_rows(head.vocabulary, shares);
  return share;
}

Partition around_layers(const Partition& layers) {
  Partition whole{.bounds = {0}};
  for (const std::size_t bound : layers.bounds) whole.bounds.push_back(bound + 1);
  whole.bounds.push_back(layers.num_layers() + 2);
  return whole;
}

StageCosts dealt_out(StageCosts chain, const VocabularyStages& stages, const Network& network,
                     const MicrobatchShape& shape) {
  const auto num_stages = static_cast<std::int32_t>(chain.times.size() - 2 + stages.input.size() +
                                                    stages.output.size() + (stages.loss ? 1 : 0));
  const std::vector<std::size_t> places = chain_places(stages, num_stages);
  const Network share = with_vocabulary_share(network, stages.output.size());
  if (!chain.memory.empty()) move_positions(share.layers.front(), chain.memory.front(), chain.memory[1]);
  StageCosts costs = chain;
  costs.times.assign(places.size(), {});
  if (!chain.memory.empty()) costs.memory.assign(places.size(), {});
  for (std::size_t stage = 0; stage < places.size(); ++stage) {
    if (places[stage] == kLossStage) continue;
    costs.times[stage] = chain.times[places[stage]];
    if (!chain.memory.empty()) costs.memory[stage] = chain.memory[places[stage]];
  }
  costs.work.model_flops_per_microbatch *= model_flops(network, shape) / model_flops(share, shape);
  costs.tied.clear();
  for (const TiedWeight& tied : chain.tied) {
    for (std::size_t k = 0; k < stages.input.size(); ++k) {
      costs.tied.push_back({stages.input[k], stages.output[k], tied.bytes});
    }
  }
  if (chain.part) {
    costs.part = [part = std::move(chain.part), places](StageId stage, const Part& of, const StageTimes& times) {
      const std::size_t place = places[index(stage)];
      return place == kLossStage ? PartCosts{} : part(StageId{static_cast<std::int32_t>(place)}, of, times);
    };
  }
  return costs;
}

JobCosts vocabulary_job_costs(const Network& network, const Partition& layers, const JobMachine& machine,
                              const Parallelism& parallelism, const VocabularyStages& stages) {
  const Network share = with_vocabulary_share(network, stages.output.size());
  const Partition chain = around_layers(layers);
  JobCosts job = job_costs(share, chain, machine, parallelism);
  const JobShape shape(network, parallelism);
  job.costs.part = parts_in_proportion(std::make_shared<const Network>(share), chain, {shape.samples, shape.sequence},
                                       job.costs.memory);
  if (stages.at_once) {
    const DeviceGroup devices = device_group(job.pipeline, machine.places, 1);
    add_collectives_of_head(job, devices, static_cast<double>(shape.tokens()), job.costs.times.back());
  }
  job.costs = dealt_out(std::move(job.costs), stages, network, {shape.samples, shape.sequence});
  std::vector<UpdateSeconds> updates;
  for (const std::size_t place : chain_places(stages, static_cast<std::int32_t>(job.costs.times.size()))) {
    updates.push_back(place == kLossStage ? UpdateSeconds{} : job.updates[place]);
  }
  job.updates = std::move(updates);
  return job;
}

}  // namespace plumb
