#include "models/stages/partition.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <numeric>

#include "models/ground/error.hpp"
#include "models/network/flow.hpp"

namespace plumb {
namespace {

constexpr std::size_t kResidualsPerBlock = 2;  // a transformer block: attention and MLP

void refuse_more_stages(std::size_t num_layers, std::int32_t num_stages) {
  if (num_stages < 1) throw Error("partition: expected at least 1 stage, found " + std::to_string(num_stages));
  if (static_cast<std::size_t>(num_stages) > num_layers) {
    throw Error("partition: " + std::to_string(num_stages) + " stages need at least as many layers, found " +
                std::to_string(num_layers));
  }
}

/// `units` things in `stages` groups as equal as can be, larger ones first: how many precede group `s`.
std::size_t units_before(std::size_t units, std::size_t stages, std::size_t s) {
  return s * (units / stages) + std::min(s, units % stages);
}

/// Returns what `equal_partition` counts: the layers at which its units begin.
std::vector<std::size_t> equal_units(const Network& network, std::size_t stages) {
  const std::vector<LayerSpec>& layers = network.layers;
  std::vector<std::size_t> units;
  for (std::size_t k = 0; k < layers.size(); ++k) {
    if (layers[k].kind == LayerKind::kResidual) units.push_back(k);
  }
  if (units.size() < stages) {
    units.resize(layers.size());
    std::iota(units.begin(), units.end(), std::size_t{0});
    return units;
  }
  const std::size_t blocks = units.size() / kResidualsPerBlock;
  const bool whole_blocks = units.size() % kResidualsPerBlock == 0 && blocks % stages == 0;
  const bool has_ends = layers.front().kind == LayerKind::kEmbedding && layers.back().kind == LayerKind::kHead;
  const bool ends_fit = units.size() % kResidualsPerBlock == 0 && (blocks + 2) % stages == 0 && blocks + 2 > stages;
  if (!whole_blocks && has_ends && ends_fit) {
    units.insert(units.begin(), kResidualsPerBlock, 0);
    units.insert(units.end(), kResidualsPerBlock, layers.size() - 1);
  }
  return units;
}

/// Returns whether stages of at most `most` each can hold `costs` in at most `num_stages` stages.
bool fits(std::span<const std::int64_t> costs, std::size_t num_stages, std::int64_t most) {
  std::size_t stages = 1;
  std::int64_t load = 0;
  for (const std::int64_t cost : costs) {
    if (load + cost > most) {
      if (++stages > num_stages) return false;
      load = 0;
    }
    load += cost;
  }
  return true;
}

/// Returns the smallest possible largest stage. Empty stages do not help: splitting one never makes the largest larger.
std::int64_t smallest_bottleneck(std::span<const std::int64_t> costs, std::size_t num_stages) {
  std::int64_t low = *std::max_element(costs.begin(), costs.end());
  std::int64_t high = std::accumulate(costs.begin(), costs.end(), std::int64_t{0});
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (fits(costs, num_stages, middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

/// Among the cuts whose stages cost at most `most`, one with the smallest sum of squares.
///
/// best[s][j]: of the first j layers in s + 1 stages; from[s][j]: where the last of them begins.
Partition smoothest_cut(std::span<const std::int64_t> costs, std::size_t num_stages, std::int64_t most) {
  const std::size_t n = costs.size();
  std::vector<std::int64_t> before(n + 1, 0);
  std::partial_sum(costs.begin(), costs.end(), before.begin() + 1);
  constexpr double kNever = std::numeric_limits<double>::infinity();
  std::vector<double> best(n + 1, kNever);
  best[0] = 0;
  std::vector<std::vector<std::uint32_t>> from(num_stages, std::vector<std::uint32_t>(n + 1, 0));
  for (std::size_t s = 0; s < num_stages; ++s) {
    std::vector<double> next(n + 1, kNever);
    for (std::size_t j = s + 1; j <= n; ++j) {
      for (std::size_t i = j; i-- > s && before[j] - before[i] <= most;) {
        const auto load = static_cast<double>(before[j] - before[i]);
        if (best[i] + load * load < next[j]) {
          next[j] = best[i] + load * load;
          from[s][j] = static_cast<std::uint32_t>(i);
        }
      }
    }
    best = std::move(next);
  }
  Partition partition;
  partition.bounds.assign(num_stages + 1, n);
  for (std::size_t s = num_stages; s-- > 0;) partition.bounds[s] = from[s][partition.bounds[s + 1]];
  return partition;
}

}  // namespace

Partition equal_partition(const Network& network, std::int32_t num_stages) {
  const std::size_t num_layers = network.layers.size();
  refuse_more_stages(num_layers, num_stages);
  const auto stages = static_cast<std::size_t>(num_stages);
  const std::vector<std::size_t> units = equal_units(network, stages);
  Partition partition;
  for (std::size_t s = 0; s < stages; ++s) partition.bounds.push_back(units[units_before(units.size(), stages, s)]);
  partition.bounds.front() = 0;
  partition.bounds.push_back(num_layers);
  return partition;
}

Partition finest_partition(const Network& network, std::int32_t num_stages) {
  std::vector<std::size_t> units;
  for (std::size_t k = 0; k < network.layers.size(); ++k) {
    if (has_weights(network.layers[k])) units.push_back(k);
  }
  if (num_stages < 1 || static_cast<std::size_t>(num_stages) > units.size()) {
    throw Error("partition: finest has " + std::to_string(units.size()) + " stages, expected 1 to as many, found " +
                std::to_string(num_stages));
  }
  const auto stages = static_cast<std::size_t>(num_stages);
  Partition partition;
  for (std::size_t s = 0; s < stages; ++s) partition.bounds.push_back(units[units_before(units.size(), stages, s)]);
  partition.bounds.front() = 0;
  partition.bounds.push_back(network.layers.size());
  return partition;
}

Partition balanced_partition(std::span<const std::int64_t> costs, std::int32_t num_stages) {
  refuse_more_stages(costs.size(), num_stages);
  std::int64_t total = 0;
  for (const std::int64_t cost : costs) {
    if (cost < 0) throw Error("partition: costs must be at least 0, found " + std::to_string(cost));
    if (__builtin_add_overflow(total, cost, &total)) throw Error("partition: the costs add up to more than 64 bits");
  }
  const auto stages = static_cast<std::size_t>(num_stages);
  return smoothest_cut(costs, stages, smallest_bottleneck(costs, stages));
}

std::vector<std::size_t> parse_layer_counts(std::string_view counts) {
  std::vector<std::size_t> all;
  std::string_view rest = counts;
  while (true) {
    const std::size_t comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    std::size_t count = 0;
    const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), count);
    if (error != std::errc{} || end != item.data() + item.size()) {
      throw Error("partition '" + std::string(counts) + "': '" + std::string(item) +
                  "' is not a number of layers, expected how many each stage has, such as 3,4,4,3");
    }
    all.push_back(count);
    if (comma == std::string_view::npos) return all;
    rest.remove_prefix(comma + 1);
  }
}

Partition partition_of(std::span<const std::size_t> counts, std::size_t num_layers) {
  Partition partition{{0}};
  for (const std::size_t count : counts) {
    const bool fits = count <= num_layers && partition.bounds.back() <= num_layers;
    partition.bounds.push_back(fits ? partition.bounds.back() + count : num_layers + 1);
  }
  std::string text;
  for (const std::size_t count : counts) text += (text.empty() ? "" : ",") + std::to_string(count);
  if (counts.front() == 0 || counts.back() == 0) {
    throw Error("partition '" + text + "': the first or last stage has no layers, expected at least one in each");
  }
  if (partition.num_layers() == num_layers) return partition;
  const std::size_t sum = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  throw Error("partition '" + text + "': adds up to " + std::to_string(sum) + " layers, expected " +
              std::to_string(num_layers));
}

std::string to_string(const Partition& partition) {
  std::string text;
  for (std::size_t s = 0; s < partition.num_stages(); ++s) {
    const LayerRange range = partition.range(s);
    text += (s == 0 ? "" : ",") + std::to_string(range.end - range.begin);
  }
  return text;
}

}  // namespace plumb
