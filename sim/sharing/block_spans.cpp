#include "sim/sharing/block_spans.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace plumb {
namespace {

/// How much of a server's speed does not count when places are compared.
constexpr double kAlmostEqual = 1e-3;

/// Servers with their blocks, as one of them imagines that they move.
class ImaginedSwarm {
 public:
  ImaginedSwarm(std::span<const BlockSpan> spans, std::span<const double> speed, std::int32_t all)
      : spans_(spans.begin(), spans.end()), speed_(speed), throughput_(block_throughput(all, spans, speed)) {}

  double slowest() const { return *std::ranges::min_element(throughput_); }

  /// The blocks of `server` without it, and a hair less, so that its own place is the best of equal ones.
  void leave(std::size_t server) { add(server, -(1 + kAlmostEqual)); }
  std::int32_t best_start(std::size_t server) const { return petals_start(throughput_, spans_[server].length()); }
  /// Behind `leave`. True: at another place than before.
  bool enter(std::size_t server, std::int32_t start) {
    add(server, kAlmostEqual);
    const bool moved = spans_[server].begin != start;
    spans_[server] = {start, start + spans_[server].length()};
    add(server, 1);
    return moved;
  }

  /// Every server takes its best place, one after another, until none moves.
  void settle() {
    bool moved = true;
    for (int round = 0; moved && round < kMostSwarmRounds; ++round) {
      moved = false;
      for (std::size_t server = 0; server < spans_.size(); ++server) {
        leave(server);
        const bool other = enter(server, best_start(server));
        moved = moved || other;
      }
    }
  }

 private:
  void add(std::size_t server, double times) {
    for (std::int32_t block = spans_[server].begin; block < spans_[server].end; ++block) {
      throughput_[static_cast<std::size_t>(block)] += times * speed_[server];
    }
  }

  std::vector<BlockSpan> spans_;
  std::span<const double> speed_;
  std::vector<double> throughput_;
};

}  // namespace

std::int32_t petals_start(std::span<const double> throughput, std::int32_t blocks) {
  std::vector<std::int32_t> ends;
  for (auto end = blocks; end <= static_cast<std::int32_t>(throughput.size()); ++end) ends.push_back(end);
  return petals_start(throughput, ends);
}

std::int32_t petals_start(std::span<const double> throughput, std::span<const std::int32_t> ends) {
  std::vector<double> least;
  std::int32_t start = 0;
  for (std::size_t begin = 0; begin < ends.size(); ++begin) {
    const auto end = static_cast<std::size_t>(ends[begin]);
    if (end <= begin) continue;
    std::vector<double> window(throughput.begin() + static_cast<std::ptrdiff_t>(begin),
                               throughput.begin() + static_cast<std::ptrdiff_t>(end));
    std::ranges::sort(window);
    window.push_back(std::numeric_limits<double>::infinity());
    if (!least.empty() && window >= least) continue;
    least = std::move(window);
    start = static_cast<std::int32_t>(begin);
  }
  return start;
}

std::vector<double> block_throughput(std::int32_t all, std::span<const BlockSpan> spans,
                                     std::span<const double> speed) {
  std::vector<double> throughput(static_cast<std::size_t>(all), 0);
  for (std::size_t server = 0; server < spans.size(); ++server) {
    for (std::int32_t block = spans[server].begin; block < spans[server].end; ++block) {
      throughput[static_cast<std::size_t>(block)] += speed[server];
    }
  }
  return throughput;
}

Swarm joined_swarm(std::int32_t all, std::span<const std::int32_t> blocks, std::span<const double> speed) {
  Swarm swarm{.spans = {}, .throughput = std::vector<double>(static_cast<std::size_t>(all), 0)};
  for (std::size_t server = 0; server < blocks.size(); ++server) {
    const std::int32_t begin = petals_start(swarm.throughput, blocks[server]);
    swarm.spans.push_back({begin, begin + blocks[server]});
    swarm.throughput = block_throughput(all, swarm.spans, speed);
  }
  return swarm;
}

Swarm joined_swarm(std::span<const std::vector<std::int32_t>> ends, std::span<const double> speed) {
  const auto all = static_cast<std::int32_t>(ends.front().size());
  Swarm swarm{.spans = {}, .throughput = std::vector<double>(ends.front().size(), 0)};
  for (const std::vector<std::int32_t>& held : ends) {
    const std::int32_t begin = petals_start(swarm.throughput, held);
    swarm.spans.push_back({begin, held[static_cast<std::size_t>(begin)]});
    swarm.throughput = block_throughput(all, swarm.spans, speed);
  }
  return swarm;
}

bool petals_moves(std::span<const BlockSpan> spans, std::span<const double> speed, std::int32_t all, std::size_t mover,
                  double quality) {
  if (quality > 1) return true;
  ImaginedSwarm swarm(spans, speed, all);
  const double now = swarm.slowest();
  swarm.leave(mover);
  if (now > kAlmostEqual && swarm.slowest() <= 0) return false;  // it would leave a block to nobody
  const std::int32_t start = swarm.best_start(mover);
  if (start == spans[mover].begin) return false;
  swarm.enter(mover, start);
  swarm.settle();
  const double then = swarm.slowest();
  if (then < now || then < kAlmostEqual) return false;
  return now / then < quality - kAlmostEqual;
}

}  // namespace plumb
