#include "models/pricing/cut_network.hpp"

#include "models/ground/error.hpp"

namespace plumb {
namespace {

Partition given_partition(const LayerCut& cut, const Network& network, std::int32_t num_stages) {
  Partition given = partition_of(cut.counts, network.layers.size());
  if (given.num_stages() == static_cast<std::size_t>(num_stages)) return given;
  throw Error("--partition: " + to_string(given) + " has " + std::to_string(given.num_stages()) + " stages, expected " +
              std::to_string(num_stages));
}

}  // namespace

LayerCut parse_cut(const std::string& text) {
  if (text == "balanced") return {};
  if (text == "equal") return {.kind = LayerCut::Kind::kEqual};
  if (text == "finest") return {.kind = LayerCut::Kind::kFinest};
  if (!text.empty() && text.find_first_not_of("0123456789,") == std::string::npos) {
    return {.kind = LayerCut::Kind::kGiven, .counts = parse_layer_counts(text)};
  }
  throw Error(
      "--partition: expected balanced, equal, finest, or the number of layers of each stage, such as 3,4,4,3; "
      "found '" +
      text + "'");
}

LayerCut cut_as(const Partition& partition) {
  LayerCut cut{.kind = LayerCut::Kind::kGiven};
  for (std::size_t s = 0; s < partition.num_stages(); ++s) {
    cut.counts.push_back(partition.range(s).end - partition.range(s).begin);
  }
  return cut;
}

Partition cut_network(const LayerCut& cut, const NamedNetwork& network, std::int32_t num_stages,
                      const std::function<std::vector<std::int64_t>()>& layer_times) {
  if (cut.kind == LayerCut::Kind::kGiven) return given_partition(cut, network.network, num_stages);
  const std::vector<std::int64_t> times =
      cut.kind == LayerCut::Kind::kBalanced ? layer_times() : std::vector<std::int64_t>{};
  try {
    switch (cut.kind) {
      case LayerCut::Kind::kEqual:
        return equal_partition(network.network, num_stages);
      case LayerCut::Kind::kFinest:
        return finest_partition(network.network, num_stages);
      default:
        return balanced_partition(times, num_stages);
    }
  } catch (const Error& error) {
    fail_at_layers(network, error.what());
  }
}

}  // namespace plumb
