#include "models/jobs/parallelism.hpp"

#include <array>
#include <string>

#include "models/ground/error.hpp"
#include "models/kernels/format_costs.hpp"
#include "models/network/layer_shape.hpp"

namespace plumb {
namespace {

std::string in_brackets(std::int64_t value) { return " (" + std::to_string(value) + ")"; }

void divides(const LayerSpec& layer, const char* degree, std::int64_t by, const char* what, std::int64_t size) {
  if (size % by == 0) return;
  throw Error(std::string(degree) + " " + std::to_string(by) + " does not divide the " + std::to_string(size) + " " +
              what + " of layer '" + layer.name + "'");
}

/// Returns whether a layer has experts, itself or inside.
bool check_layer(const LayerSpec& layer, const Parallelism& job) {
  bool experts = layer.kind == LayerKind::kMoe;
  for (const LayerSpec& inner : layer.body) experts = check_layer(inner, job) || experts;
  for (const LayerSpec& inner : layer.shortcut) experts = check_layer(inner, job) || experts;
  switch (layer.kind) {
    case LayerKind::kAttention:
    case LayerKind::kLatentAttention:
      divides(layer, "tp", job.tensor, "attention heads", layer.heads);
      if (job.context_by_heads) {
        divides(layer, "cp", job.context, "heads of a TP rank", layer.heads / job.tensor);
      }
      break;
    case LayerKind::kMlp:
      divides(layer, "tp", job.tensor, "hidden features", layer.hidden);
      break;
    case LayerKind::kMoe:
      divides(layer, "etp", job.expert_parts(), "hidden features", layer.hidden);
      divides(layer, "ep", job.expert, "experts", layer.experts);
      break;
    case LayerKind::kMamba:
      divides(layer, "tp", job.tensor, "heads", layer.heads);
      if (layer.state > 0) divides(layer, "tp", job.tensor, "groups", layer.groups);
      if (job.context > 1) divides(layer, "cp", job.context, "heads of a TP rank", layer.heads / job.tensor);
      break;
    case LayerKind::kFurtherToken:
      break;
    case LayerKind::kEmbedding:
    case LayerKind::kHead:
    case LayerKind::kLayerNorm:
    case LayerKind::kRmsNorm:
    case LayerKind::kResidual:
      break;
    default:
      if (job.tensor * job.context > 1) {
        throw Error("layer '" + layer.name + "': has no tensor or context parallel form, expected a degree of 1");
      }
  }
  return experts;
}

void check_expert_ranks(const Parallelism& job) {
  const std::int64_t ranks = job.expert_parts() * job.expert;
  if (job.devices_per_stage() % ranks != 0) {
    throw Error("etp x ep" + in_brackets(ranks) + " must divide tp x cp x dp" + in_brackets(job.devices_per_stage()));
  }
  if (job.expert_parts() != job.tensor && !job.sequence_parallel && job.tensor > 1) {
    throw Error("etp" + in_brackets(job.expert_parts()) + " differs from tp" + in_brackets(job.tensor) +
                ", expected sequence parallelism, which divides the tokens");
  }
}

/// A rank updates what it has the gradient of, and hands on what it has updated: groups lie in each other.
void check_shard_groups(const Parallelism& job, bool experts) {
  if (!job.shard_groups.any()) return;
  struct Part {
    const char* name;
    std::int64_t ranks;
  };
  const std::array parts{Part{"weights", job.shard_ranks(&ShardGroups::weights)},
                         Part{"gradients", job.shard_ranks(&ShardGroups::gradients)},
                         Part{"optimizer", job.shard_ranks(&ShardGroups::optimizer)}};
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const std::string group = "parallelism: shard group" + in_brackets(parts[k].ranks);
    if (parts[k].ranks < 0 || job.replicas() % parts[k].ranks != 0) {
      throw Error(group + " must divide context x data" + in_brackets(job.replicas()));
    }
    if (job.zero == ZeroStage::kNone) throw Error(group + ": expected a ZeRO stage of at least 1");
    if (experts) throw Error(group + ": expected a network without experts, whose copies are other ranks");
    if (k + 1 < parts.size() && parts[k + 1].ranks % parts[k].ranks != 0) {
      throw Error(group + " of " + parts[k].name + " must divide that of " + parts[k + 1].name +
                  in_brackets(parts[k + 1].ranks) + ": expected weights in gradients in optimizer");
    }
  }
}

void check_shards(const Parallelism& job, bool experts) {
  if (!(job.gradient_share > 0 && job.gradient_share <= 1)) {
    throw Error("parallelism: expected a share of the bytes of gradients above 0 and up to 1");
  }
  if (!(job.storage_bytes_per_s >= 0)) throw Error("parallelism: expected a rate of storage devices of at least 0");
  if (job.gradient_share < 1 && job.zero >= ZeroStage::kGradients) {
    throw Error(
        "parallelism: compressed gradients: expected a ZeRO stage of at most 1, which reduces them once an update");
  }
  if (job.zero_by_layer && (job.zero == ZeroStage::kWeights || job.adapter_rank > 0 || job.gradient_share < 1)) {
    throw Error(
        "parallelism: sharded layers: expected a ZeRO stage of at most 2 for the others, and neither adapters nor "
        "compressed gradients");
  }
  for (const std::int32_t bits : {job.activation_bits, job.activation_grad_bits}) {
    if (bits < 0 || bits > 8 * job.precision.activation_bytes) {
      throw Error("parallelism: compressed activations: expected 1 to " +
                  std::to_string(8 * job.precision.activation_bytes) + " bits, found " + std::to_string(bits));
    }
  }
  check_shard_groups(job, experts);
}

}  // namespace

double Parallelism::gathered_weight_bytes() const {
  const FormatCosts& costs = format_costs(format);
  return costs.gathers ? costs.number_bytes : static_cast<double>(precision.weight_bytes);
}

double Parallelism::gathered_share() const {
  return format_costs(format).number_bytes / format_costs(MatrixFormat::kBf16).number_bytes;
}

void check_parallelism(const Network& network, const Parallelism& job) {
  for (const std::int64_t degree : {job.tensor, job.context, job.expert, job.data, job.expert_parts()}) {
    if (degree < 1) throw Error("parallelism: expected degrees of at least 1, found " + std::to_string(degree));
  }
  bool experts = false;
  for (const LayerSpec& layer : network.layers) experts = check_layer(layer, job) || experts;
  if (job.expert > 1 && !experts) {
    throw Error("network '" + network.name + "': has no experts, expected an expert degree of 1, found " +
                std::to_string(job.expert));
  }
  check_expert_ranks(job);
  check_shards(job, experts);
  const std::int64_t sequence = job.sequence > 0 ? job.sequence : network.sequence;
  const std::int64_t parts = job.context * (job.sequence_parallel ? job.tensor : 1);
  if (sequence % parts != 0) {
    throw Error(std::string(job.sequence_parallel && job.tensor > 1 ? "cp x tp, which divides the tokens," : "cp") +
                in_brackets(parts) + " must divide the sequence" + in_brackets(sequence));
  }
}

}  // namespace plumb
