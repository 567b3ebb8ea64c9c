#pragma once

#include <cstdint>

#include "models/kernels/collectives.hpp"
#include "models/kernels/dispatcher.hpp"

namespace plumb {

/// Tokens of one rank on their way to their experts, or back: the two take the same time.
struct ExpertExchange {
  double bytes = 0;         ///< bytes of the rank's tokens, each counted once
  std::int64_t copies = 1;  ///< experts that a token goes to
  std::int64_t experts = 1;
  Dispatcher dispatcher{};

  friend bool operator==(const ExpertExchange&, const ExpertExchange&) = default;
};

/// What one rank sends to ranks of its node and to other nodes, in bytes.
struct ExchangeBytes {
  double inside = 0;
  double between = 0;
};

/// Experts lie evenly on the ranks of `group`, and tokens choose evenly among them, each expert at most once. Of R
/// ranks on N nodes, r of them on each:
///
///     all-to-all       inside  k n (r-1)/R         between  k n (R-r)/R
///     once per node    inside  n hit(R) (r-1)/r    between  n hit(N) (N-1)/N
///
/// with n bytes, k copies, and hit(P) = P (1 - C(E - E/P, k) / C(E, k)), the number of P equal parts of E experts that
/// the k experts of a token lie in on average. A token that crossed to a node is copied from there to the ranks that it
/// goes to, once to each (DeepSeek-AI 2024, arXiv 2412.19437, section 3.2.2).
ExchangeBytes exchange_bytes(const ExpertExchange& exchange, const DeviceGroup& group);

/// Both kinds of messages travel at once.
double exchange_seconds(const ExpertExchange& exchange, const DeviceGroup& group);

}  // namespace plumb
