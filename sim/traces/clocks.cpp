#include "sim/traces/clocks.hpp"

#include <algorithm>
#include <cmath>

namespace plumb {
namespace {

constexpr int kRounds = 1000;
constexpr double kSettledNs = 0.1;

/// Returns by how much the worst message precedes its cause.
std::int64_t worst(const Slacks& slacks, const std::vector<std::int64_t>& add) {
  std::int64_t most = 0;
  for (std::size_t from = 0; from < slacks.ranks(); ++from) {
    for (std::size_t to = 0; to < slacks.ranks(); ++to) {
      const std::int64_t slack = slacks.at(from, to);
      if (slack != Slacks::kNoMessage) most = std::max(most, add[from] - add[to] - slack);
    }
  }
  return most;
}

/// Returns the least squares over the pairs with messages both ways, by Gauss and Seidel. Rank 0 keeps its clock.
std::vector<std::int64_t> centred(const Slacks& slacks) {
  std::vector<double> add(slacks.ranks(), 0);
  for (int round = 0; round < kRounds; ++round) {
    double moved = 0;
    for (std::size_t rank = 1; rank < add.size(); ++rank) {
      double sum = 0;
      int count = 0;
      for (std::size_t other = 0; other < add.size(); ++other) {
        const std::int64_t out = slacks.at(rank, other);
        const std::int64_t in = slacks.at(other, rank);
        if (out == Slacks::kNoMessage || in == Slacks::kNoMessage) continue;
        sum += add[other] + (static_cast<double>(out) - static_cast<double>(in)) / 2;
        ++count;
      }
      if (count == 0) continue;
      moved = std::max(moved, std::abs(sum / count - add[rank]));
      add[rank] = sum / count;
    }
    if (moved < kSettledNs) break;
  }
  std::vector<std::int64_t> whole(add.size());
  std::ranges::transform(add, whole.begin(), [](double ns) { return static_cast<std::int64_t>(std::llround(ns)); });
  return whole;
}

/// Offsets that keep every bound, where there are some.
std::vector<std::int64_t> feasible(const Slacks& slacks) {
  std::vector<std::int64_t> add(slacks.ranks(), 0);
  bool changed = true;
  for (std::size_t round = 0; round < add.size() && changed; ++round) {
    changed = false;
    for (std::size_t from = 0; from < add.size(); ++from) {
      for (std::size_t to = 0; to < add.size(); ++to) {
        const std::int64_t slack = slacks.at(from, to);
        if (slack == Slacks::kNoMessage || add[from] <= add[to] + slack) continue;
        add[from] = add[to] + slack;
        changed = true;
      }
    }
  }
  return add;
}

}  // namespace

Slacks message_slacks(std::span<const RankRun> runs, const TracedProducers& producers,
                      std::optional<std::int32_t> step) {
  Slacks slacks(runs.size());
  for (std::size_t rank = 0; rank < runs.size(); ++rank) {
    for (const TracedAction& work : runs[rank].work) {
      if (step && work.step != *step) continue;
      if (work.start_ns == work.end_ns) continue;  // it did nothing on the GPU, which does not tell when
      const auto producer = producers.of(work);
      if (producer && producer->rank != rank) {
        slacks.add(producer->rank, rank, work.start_ns - runs[producer->rank].work[producer->at].end_ns);
      }
    }
  }
  return slacks;
}

ClockOffsets clock_offsets(const Slacks& slacks) {
  ClockOffsets offsets{.add_ns = std::vector<std::int64_t>(slacks.ranks(), 0)};
  if (worst(slacks, offsets.add_ns) == 0) return offsets;
  offsets.add_ns = centred(slacks);
  if (worst(slacks, offsets.add_ns) == 0) return offsets;
  offsets.add_ns = feasible(slacks);
  offsets.residual_ns = worst(slacks, offsets.add_ns);
  return offsets;
}

}  // namespace plumb
