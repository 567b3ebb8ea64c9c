#include "models/stages/network_costs.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "models/layers/describe_layer.hpp"
#include "models/network/flow.hpp"
#include "models/network/network_check.hpp"
#include "models/stages/lay_out_stage.hpp"

namespace plumb {

std::int64_t parameter_count(const Network& network) {
  std::int64_t count = 0;
  for (const LayerSpec& layer : network.layers) {
    for (const ParameterFacts& parameter : describe(layer, {1, network.sequence}, {}).parameters) {
      if (!parameter.tied) count += parameter.count();
    }
  }
  return count;
}

double model_flops(const Network& network, const MicrobatchShape& shape) {
  std::vector<std::int32_t> unlike(network.layers.size());
  std::iota(unlike.begin(), unlike.end(), 0);
  return model_flops(network, shape, unlike);
}

double model_flops(const Network& network, const MicrobatchShape& shape, std::span<const std::int32_t> alike,
                   bool trains_weights) {
  std::vector<double> of;
  double flops = 0;
  for (std::size_t k = 0; k < network.layers.size(); ++k) {
    const auto same = static_cast<std::size_t>(alike[k]);
    if (same == k) {
      const LayerFacts facts = describe(network.layers[k], shape, {});
      of.push_back(facts.forward.flops + facts.input_grad.flops + (trains_weights ? facts.weight_grad.flops : 0));
    } else {
      of.push_back(of[same]);
    }
    flops += of.back();
  }
  return flops;
}

std::vector<TiedWeight> tied_weights(const Network& network, const Partition& partition, const Precision& precision) {
  const LayerSpec& head = network.layers.back();
  if (head.kind != LayerKind::kHead || !head.tied || head.frozen || partition.num_stages() < 2) return {};
  const std::int64_t bytes = head.vocabulary * head.width * precision.weight_bytes;
  const auto embedding = static_cast<std::size_t>(last_embedding(network.layers) - network.layers.data());
  const auto after = std::ranges::upper_bound(partition.bounds, embedding);
  const auto stage = static_cast<std::size_t>(after - partition.bounds.begin()) - 1;
  if (stage + 1 == partition.num_stages()) return {};
  return {{static_cast<StageId>(stage), static_cast<StageId>(partition.num_stages() - 1), bytes}};
}

namespace {

/// FLOPs of the passes of one stage; tokens where a pass has none.
struct StageWork {
  double f = 0;
  double i = 0;
  double w = 0;

  StageWork(std::span<const LayerSpec> layers, const MicrobatchShape& shape) {
    for (const LayerSpec& layer : layers) {
      const LayerFacts facts = describe(layer, shape, {});
      f += facts.forward.flops;
      i += facts.input_grad.flops;
      w += facts.weight_grad.flops;
    }
    const auto tokens = static_cast<double>(shape.tokens());
    for (double* flops : {&f, &i, &w}) *flops = *flops > 0 ? *flops : tokens;
  }
};

Ticks in_proportion(Ticks time, double part, double whole) {
  return std::llround(static_cast<double>(time) * part / whole);
}

void scale_comm(CommTime& comm, double part, double whole) {
  comm = {in_proportion(comm.all, part, whole), in_proportion(comm.shown, part, whole)};
}

/// Times of pairs in proportion to the work of both passes.
void scale_pairs(PairTimes& pairs, const StageWork& part, const StageWork& whole) {
  const auto passes = [](const StageWork& work) {
    return std::array{work.f, work.i + work.w, work.i, work.w, work.f};  // in the order of kPairedPasses
  };
  const auto of_part = passes(part);
  const auto of_whole = passes(whole);
  for (std::size_t one = 0; one < of_part.size(); ++one) {
    for (std::size_t other = one; other < of_part.size(); ++other) {
      Ticks& time = pairs.ticks[PairTimes::place(one, other)];
      time = in_proportion(time, of_part[one] + of_part[other], of_whole[one] + of_whole[other]);
    }
  }
}

/// Returns the times of a stage for a part of the microbatch, in proportion to FLOPs.
StageTimes times_of_part(std::span<const LayerSpec> layers, const MicrobatchShape& part, const MicrobatchShape& usual,
                         const StageTimes& times) {
  const StageWork work(layers, part);
  const StageWork whole(layers, usual);
  StageTimes of_part = times;
  of_part.f = in_proportion(times.f, work.f, whole.f);
  of_part.i = in_proportion(times.i, work.i, whole.i);
  of_part.w = in_proportion(times.w, work.w, whole.w);
  of_part.b = in_proportion(times.b, work.i + work.w, whole.i + whole.w);
  of_part.r = in_proportion(times.r, work.f, whole.f);
  scale_comm(of_part.f_comm, work.f, whole.f);
  scale_comm(of_part.b_comm, work.i + work.w, whole.i + whole.w);
  scale_comm(of_part.i_comm, work.i, whole.i);
  scale_comm(of_part.w_comm, work.w, whole.w);
  scale_pairs(of_part.pairs, work, whole);
  return of_part;
}

/// Costs of the stages of a network for parts of its microbatches.
class NetworkParts {
 public:
  NetworkParts(const Network& network, const Partition& partition, const MicrobatchShape& usual,
               const Precision& precision)
      : layers_(network.layers), partition_(partition), usual_(usual), precision_(precision) {}

  PartCosts operator()(StageId stage, const Part& part, const StageTimes& times) const {
    const MicrobatchShape shape = place_of(part, usual_).shape;
    const LayerRange range = partition_.range(index(stage));
    const auto layers = std::span(layers_).subspan(range.begin, range.end - range.begin);
    return {times_of_part(layers, shape, usual_, times),
            stage_memory(layers_, range, shape, precision_, partition_.before(index(stage)))};
  }

 private:
  std::vector<LayerSpec> layers_;
  Partition partition_;
  MicrobatchShape usual_;
  Precision precision_;
};

}  // namespace

StageCosts untimed_costs(const Network& network, const Partition& partition, const MicrobatchShape& shape,
                         const Precision& precision) {
  assert(partition.num_layers() == network.layers.size());
  check_shape(network, shape);
  StageCosts costs;
  costs.times.resize(partition.num_stages());
  for (std::size_t s = 0; s < partition.num_stages(); ++s) {
    costs.memory.push_back(stage_memory(network.layers, partition.range(s), shape, precision, partition.before(s)));
  }
  costs.tied = tied_weights(network, partition, precision);
  costs.work.samples_per_microbatch = shape.samples;
  costs.work.tokens_per_microbatch = shape.sequence > 1 ? shape.tokens() : 0;  // rows of a sample are tokens
  costs.work.model_flops_per_microbatch = model_flops(network, shape);
  costs.part = NetworkParts(network, partition, shape, precision);
  return costs;
}

std::function<PartCosts(StageId, const Part&, const StageTimes&)> parts_in_proportion(
    std::shared_ptr<const Network> network, Partition partition, const MicrobatchShape& usual,
    std::vector<StageMemory> memory) {
  return [network = std::move(network), partition = std::move(partition), usual, memory = std::move(memory)](
             StageId stage, const Part& part, const StageTimes& times) {
    const LayerRange range = partition.range(index(stage));
    const auto layers = std::span(network->layers).subspan(range.begin, range.end - range.begin);
    return PartCosts{times_of_part(layers, place_of(part, usual).shape, usual, times),
                     share_of(part, memory[index(stage)])};
  };
}

}  // namespace plumb
