#include "models/kernels/expert_exchange.hpp"

#include <algorithm>

namespace plumb {
namespace {

/// Returns how many of `parts` equal parts of the experts the experts of a token lie in, on average.
double parts_hit(const ExpertExchange& exchange, std::int64_t parts) {
  const auto elsewhere = static_cast<double>(exchange.experts) * (1 - 1 / static_cast<double>(parts));
  double missed = 1;
  for (std::int64_t copy = 0; copy < exchange.copies; ++copy) {
    const auto drawn = static_cast<double>(copy);
    missed *= std::max(0.0, elsewhere - drawn) / (static_cast<double>(exchange.experts) - drawn);
  }
  return static_cast<double>(parts) * (1 - missed);
}

}  // namespace

ExchangeBytes exchange_bytes(const ExpertExchange& exchange, const DeviceGroup& group) {
  const auto ranks = static_cast<double>(group.size());
  const auto near = static_cast<double>(group.per_node);
  const auto nodes = static_cast<double>(group.nodes);
  if (exchange.dispatcher == Dispatcher::kAllToAll) {
    const double sent = exchange.bytes * static_cast<double>(exchange.copies);
    return {sent * (near - 1) / ranks, sent * (ranks - near) / ranks};
  }
  return {exchange.bytes * parts_hit(exchange, group.size()) * (near - 1) / near,
          exchange.bytes * parts_hit(exchange, group.nodes) * (nodes - 1) / nodes};
}

double exchange_seconds(const ExpertExchange& exchange, const DeviceGroup& group) {
  if (group.size() < 2) return 0;
  const ExchangeBytes bytes = exchange_bytes(exchange, group);
  const double inside = group.per_node > 1 ? group.inside.seconds(bytes.inside) : 0;
  const double between = group.nodes > 1 ? group.between.seconds(bytes.between) : 0;
  return std::max(inside, between);
}

}  // namespace plumb
