#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace plumb {

/// Blocks [begin, end) that a server holds.
struct BlockSpan {
  std::int32_t begin = 0;
  std::int32_t end = 0;

  std::int32_t length() const { return end - begin; }
  friend bool operator==(const BlockSpan&, const BlockSpan&) = default;
};

/// Where a server that can hold `blocks` joins a swarm whose blocks have these throughputs: the window whose sorted
/// throughputs are lexicographically least; of equal ones the first.
std::int32_t petals_start(std::span<const double> throughput, std::int32_t blocks);
/// The same for a server that can hold the blocks from b on up to `ends[b]`, with blocks of unlike size. A window that
/// ends sooner than another one counts as one whose other blocks nobody lacks, so that of equal ones the longest is
/// taken. Starts at which `ends[b]` is b are none.
std::int32_t petals_start(std::span<const double> throughput, std::span<const std::int32_t> ends);

/// Servers that join one after another, and the throughput of every block after the last.
struct Swarm {
  std::vector<BlockSpan> spans;  ///< by server
  std::vector<double> throughput;
};

/// Server k holds `blocks[k]` of `all` blocks and computes `speed[k]` of them per unit of time.
Swarm joined_swarm(std::int32_t all, std::span<const std::int32_t> blocks, std::span<const double> speed);
/// Server k can hold the blocks from b on up to `ends[k][b]`; one that can hold none has an empty span.
Swarm joined_swarm(std::span<const std::vector<std::int32_t>> ends, std::span<const double> speed);

/// The throughput of each of `all` blocks: the sum of the speeds of the servers that hold it.
std::vector<double> block_throughput(std::int32_t all, std::span<const BlockSpan> spans, std::span<const double> speed);

/// Whether server `mover` of a swarm should take other blocks, as Petals' servers decide it from time to time
/// (github.com/bigscience-workshop/petals 22afba6, block_selection.py). It looks for its best place, and then plays
/// what all servers would do, each moving to its own best place in turn until none does. It moves if the throughput of
/// the slowest block is now less than `quality` times what it would be then. It stays where it holds some block alone,
/// and where the slowest block would get slower. Places that are as good within a thousandth of a server's speed are no
/// reason to move. Servers take turns in the order given here (there: in a random one), at most `kMostSwarmRounds`
/// times.
bool petals_moves(std::span<const BlockSpan> spans, std::span<const double> speed, std::int32_t all, std::size_t mover,
                  double quality);
inline constexpr int kMostSwarmRounds = 1000;

}  // namespace plumb
