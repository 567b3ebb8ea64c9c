#include "tools/measured_steps/step_partition.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "models/ground/error.hpp"

namespace plumb {
namespace {

/// Returns the number behind `option` in the notes of a row, 0 where there is none.
std::int64_t noted_number(const MeasuredStep& row, const std::string& option) {
  const std::size_t found = row.note.find(option + "=");
  return found == std::string::npos ? 0 : std::strtoll(row.note.c_str() + found + option.size() + 1, nullptr, 10);
}

/// Returns the layers of the last stage when its head counts as the layers that have its FLOPs.
std::int64_t redistributed_last(const MeasuredStep& row, std::int32_t stages) {
  const auto h = static_cast<double>(row.hidden);
  const double layer = 24 * h * h + 4 * h * static_cast<double>(row.sequence);  // per token, forward
  const double head = 2 * h * static_cast<double>(row.vocabulary) / layer;
  const double share = (static_cast<double>(row.layers) + head) / stages;
  return std::max<std::int64_t>(0, std::llround(std::ceil(share - head)));
}

/// `layers` over `stages`, the longer ones last.
void deal_out(std::int64_t layers, std::int64_t stages, std::vector<std::int64_t>& sizes) {
  for (std::int64_t k = 0; k < stages; ++k) sizes.push_back(layers * (k + 1) / stages - layers * k / stages);
  std::sort(sizes.end() - stages, sizes.end());
}

Partition partition_of(const std::vector<std::int64_t>& sizes, const Network& network) {
  constexpr std::size_t kResidualsPerLayer = 2;
  Partition partition;
  std::size_t next = 1;  // behind the embedding
  for (const std::int64_t size : sizes) {
    partition.bounds.push_back(next);
    next += kResidualsPerLayer * static_cast<std::size_t>(size);
  }
  partition.bounds.front() = 0;
  partition.bounds.push_back(network.layers.size());
  return partition;
}

/// Returns the layers of the stages of a layout. Those of further tokens are the network's last.
std::vector<std::int64_t> layout_sizes(const MeasuredStep& row, std::int32_t stages, const std::string& layout) {
  std::vector<std::int64_t> sizes{0};
  for (const char letter : layout) {
    if (letter == '|') sizes.push_back(0);
    if (letter == 't') ++sizes.back();
  }
  const std::int64_t layers = std::ranges::count(layout, 't');
  if (std::ssize(sizes) != stages || layers != row.layers) {
    throw Error(row.id + ": expected a layout of " + std::to_string(stages) + " stages and " +
                std::to_string(row.layers) + " layers, found " + std::to_string(sizes.size()) + " and " +
                std::to_string(layers));
  }
  return sizes;
}

}  // namespace

Partition step_partition(const MeasuredStep& row, const Network& network, std::int32_t stages,
                         const std::string& layout) {
  if (!layout.empty()) return partition_of(layout_sizes(row, stages, layout), network);
  std::vector<std::int64_t> sizes;
  const std::int64_t first = noted_number(row, "decoder-first-pipeline-num-layers");
  const std::int64_t last = noted_number(row, "decoder-last-pipeline-num-layers");
  if (first > 0 && last > 0) {
    sizes.push_back(first);
    deal_out(row.layers - first - last, stages - 2, sizes);
    sizes.push_back(last);
    return partition_of(sizes, network);
  }
  if (row.schedule.find("redistributed") != std::string::npos) {
    const std::int64_t rest = redistributed_last(row, stages);
    deal_out(row.layers - rest, stages - 1, sizes);
    sizes.push_back(rest);
    return partition_of(sizes, network);
  }
  if (row.note.find("embedding and head count as layers") != std::string::npos) {
    sizes.assign(static_cast<std::size_t>(stages), (row.layers + 2) / stages);
    sizes.front() -= 1;
    sizes.back() -= 1;
    return partition_of(sizes, network);
  }
  if (row.note.find("first stages are filled up") != std::string::npos) {
    const std::int64_t full = (row.layers + stages - 1) / stages;
    for (std::int64_t left = row.layers; sizes.size() < static_cast<std::size_t>(stages); left -= sizes.back()) {
      sizes.push_back(std::min(full, left));
    }
    return partition_of(sizes, network);
  }
  if (row.layers > 0 && row.layers + 2 == stages) {
    sizes.assign(static_cast<std::size_t>(stages), 1);
    sizes.front() = sizes.back() = 0;
    return partition_of(sizes, network);
  }
  return equal_partition(network, stages);
}

}  // namespace plumb
