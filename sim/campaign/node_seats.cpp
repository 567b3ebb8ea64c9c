#include "sim/campaign/node_seats.hpp"

#include <algorithm>

namespace plumb {

void NodeSeats::clear() {
  seats_.clear();
  empty_.clear();
  layout_ = {};
}

void NodeSeats::seat(JobLayout layout, std::span<const CampaignNode> nodes) {
  clear();
  layout_ = layout;
  empty_.resize(static_cast<std::size_t>(layout.stages));
  std::int32_t place = 0;
  for (const CampaignNode& node : nodes) {
    if (node.used) seats_[node.id] = {place / layout.stages, place % layout.stages};
    if (node.used) ++place;
  }
}

bool NodeSeats::leave(std::int32_t node) {
  const auto seat = seats_.find(node);
  if (seat == seats_.end()) return false;
  empty_[static_cast<std::size_t>(seat->second.stage)].push_back(seat->second.pipeline);
  seats_.erase(seat);
  return true;
}

bool NodeSeats::take_empty(std::int32_t node) {
  const auto stage = std::ranges::max_element(empty_, {}, &std::vector<std::int32_t>::size);
  if (stage == empty_.end() || stage->empty()) return false;
  seats_[node] = {stage->back(), static_cast<std::int32_t>(stage - empty_.begin())};
  stage->pop_back();
  return true;
}

std::int32_t NodeSeats::empty() const {
  std::int32_t sum = 0;
  for (const std::vector<std::int32_t>& pipelines : empty_) sum += static_cast<std::int32_t>(pipelines.size());
  return sum;
}

std::int32_t NodeSeats::empty_of(std::int32_t stage) const {
  return static_cast<std::int32_t>(empty_[static_cast<std::size_t>(stage)].size());
}

std::int32_t NodeSeats::most_empty() const {
  std::int32_t most = 0;
  for (const std::vector<std::int32_t>& pipelines : empty_) {
    most = std::max(most, static_cast<std::int32_t>(pipelines.size()));
  }
  return most;
}

bool NodeSeats::lost_stage() const { return layout_.pipelines > 0 && most_empty() == layout_.pipelines; }

double NodeSeats::balanced_factor(std::span<const CampaignNode> nodes) const {
  std::vector<double> speed(static_cast<std::size_t>(layout_.pipelines));
  for (const CampaignNode& node : nodes) {
    const auto seat = seats_.find(node.id);
    if (seat != seats_.end()) speed[static_cast<std::size_t>(seat->second.pipeline)] += 1 / node.factor;
  }
  double factor = 1;
  for (const double each : speed) {
    if (each > 0) factor = std::max(factor, layout_.stages / each);
  }
  return factor;
}

}  // namespace plumb
