#include "sim/order_search/repetend.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace plumb {
namespace {

/// Largest whole number that is at most a / b.
std::int64_t floor_of(Ticks a, Ticks b) {
  const std::int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

/// By block: which part of a microbatch it belongs to. Parts share no edge.
std::vector<std::size_t> parts_of(const BlockProblem& problem) {
  std::vector<std::size_t> part(problem.blocks.size());
  std::iota(part.begin(), part.end(), std::size_t{0});
  for (std::size_t b = 0; b < part.size(); ++b) {
    for (const WorkBlock::Input& input : problem.blocks[b].inputs) {
      const std::size_t joined = part[static_cast<std::size_t>(input.block)];
      const std::size_t own = part[b];
      std::ranges::replace(part, own, joined);
    }
  }
  return part;
}

/// Whether block `b` and all that follow it add at most 0 to the stash of every device: then they may run earlier. Of
/// blocks with one input each.
bool only_frees(const BlockProblem& problem, std::size_t b) {
  std::vector<bool> follows(problem.blocks.size(), false);
  std::vector<std::int64_t> stash(static_cast<std::size_t>(problem.num_devices), 0);
  follows[b] = true;
  for (std::size_t c = b; c < follows.size(); ++c) {
    for (const WorkBlock::Input& input : problem.blocks[c].inputs) {
      if (follows[static_cast<std::size_t>(input.block)]) follows[c] = true;
    }
    if (!follows[c]) continue;
    for (const std::int32_t device : problem.blocks[c].devices) {
      stash[static_cast<std::size_t>(device)] += problem.blocks[c].stash;
    }
  }
  return std::ranges::all_of(stash, [](std::int64_t sum) { return sum <= 0; });
}

}  // namespace

RepetendTree::RepetendTree(const BlockProblem& problem, std::int32_t microbatches, Ticks period, Ticks most_span)
    : problem_(problem),
      microbatches_(microbatches),
      period_(period),
      size_(problem.blocks.size() * static_cast<std::size_t>(microbatches)),
      on_(static_cast<std::size_t>(problem.num_devices)),
      root_(size_ * size_, kNone) {
  for (std::int32_t b = 0; b < problem.size(); ++b) {
    for (std::int32_t j = 0; j < microbatches; ++j) {
      times_.push_back(problem.block(b).time);
      stashes_.push_back(problem.block(b).stash);
      for (const std::int32_t device : problem.block(b).devices) {
        on_[static_cast<std::size_t>(device)].push_back(copy(b, j));
      }
    }
  }
  std::vector<bool> known(size_ * size_, false);
  for (const std::vector<std::size_t>& lane : on_) {
    for (std::size_t i = 0; i < lane.size(); ++i) {
      for (std::size_t k = i + 1; k < lane.size(); ++k) {
        if (!known[lane[i] * size_ + lane[k]]) pairs_.push_back({lane[i], lane[k]});
        known[lane[i] * size_ + lane[k]] = true;
      }
    }
  }
  for (std::size_t x = 0; x < size_; ++x) root_[x * size_ + x] = 0;
  possible_ = add_inputs(root_) && add_order_of_kinds(root_) && add_longest_waits(root_) && join_parts(root_) &&
              add_span(root_, most_span);
}

/// Raises the path from x to y to `least`, and all paths that lead over it. False: a cycle cannot be.
bool RepetendTree::add(Paths& paths, std::size_t x, std::size_t y, Ticks least) const {
  if (least <= path(paths, x, y)) return true;
  const Ticks back = path(paths, y, x);
  if (back > kNone && least + back > 0) return false;
  const Ticks* const from_y = &paths[y * size_];
  std::vector<Ticks> after(from_y, from_y + size_);
  for (std::size_t i = 0; i < size_; ++i) {
    const Ticks before = path(paths, i, x);
    if (before <= kNone) continue;
    Ticks* const row = &paths[i * size_];
    for (std::size_t k = 0; k < size_; ++k) {
      if (after[k] > kNone && before + least + after[k] > row[k]) row[k] = before + least + after[k];
    }
  }
  return true;
}

RepetendTree::Range RepetendTree::range_of(const Paths& paths, std::size_t x, std::size_t y) const {
  const Ticks there = path(paths, x, y);
  const Ticks back = path(paths, y, x);
  const std::int64_t far = 4 * static_cast<std::int64_t>(size_);
  return {.low = there <= kNone ? -far : -floor_of(-(there + time(y)), period_) - 1,
          .high = back <= kNone ? far : floor_of(-back - time(x), period_)};
}

bool RepetendTree::add_range(Paths& paths, std::size_t x, std::size_t y, Range range) const {
  return range.low <= range.high && add(paths, x, y, range.low * period_ + time(x)) &&
         add(paths, y, x, time(y) - (range.high + 1) * period_);
}

bool RepetendTree::add_inputs(Paths& paths) const {
  for (std::int32_t b = 0; b < problem_.size(); ++b) {
    for (const WorkBlock::Input& input : problem_.block(b).inputs) {
      for (std::int32_t j = 0; j < microbatches_; ++j) {
        const std::size_t from = copy(input.block, j);
        if (!add(paths, from, copy(b, j), time(from) + input.delay)) return false;
      }
    }
  }
  return true;
}

bool RepetendTree::add_order_of_kinds(Paths& paths) const {
  for (std::int32_t b = 0; b < problem_.size(); ++b) {
    for (std::int32_t j = 0; j + 1 < microbatches_; ++j) {
      if (!add(paths, copy(b, j), copy(b, j + 1), problem_.block(b).time)) return false;
    }
    const Ticks again = problem_.block(b).time - period_;
    if (!add(paths, copy(b, microbatches_ - 1), copy(b, 0), again)) return false;
  }
  return true;
}

bool RepetendTree::add_longest_waits(Paths& paths) const {
  const bool one_input_each =
      std::ranges::all_of(problem_.blocks, [](const WorkBlock& block) { return block.inputs.size() <= 1; });
  const Ticks grid = std::gcd(time_grid(problem_), period_);
  const Ticks far = 2 * static_cast<Ticks>(size_) * period_;
  for (std::size_t b = 0; b < problem_.blocks.size(); ++b) {
    const bool near = one_input_each && only_frees(problem_, b);
    for (const WorkBlock::Input& input : problem_.blocks[b].inputs) {
      for (std::int32_t j = 0; j < microbatches_; ++j) {
        const std::size_t from = copy(input.block, j);
        const Ticks longest = near ? time(from) + input.delay + period_ - grid : far;
        if (!add(paths, copy(static_cast<std::int32_t>(b), j), from, -longest)) return false;
      }
    }
  }
  return true;
}

/// Parts of a microbatch that share no edge: of the first pair of blocks on one device, the second starts within a
/// period of the first.
bool RepetendTree::join_parts(Paths& paths) const {
  std::vector<std::size_t> part = parts_of(problem_);
  for (const Pair& pair : pairs_) {
    const auto count = static_cast<std::size_t>(microbatches_);
    if (pair.x % count != 0 || pair.y % count != 0) continue;
    const std::size_t one = part[pair.x / count];
    const std::size_t other = part[pair.y / count];
    if (one == other) continue;
    if (!add_range(paths, pair.x, pair.y, {0, 0})) return false;
    std::ranges::replace(part, other, one);
  }
  return true;
}

bool RepetendTree::add_span(Paths& paths, Ticks most_span) const {
  for (std::size_t x = 0; x < size_ && most_span < std::numeric_limits<Ticks>::max(); ++x) {
    for (std::size_t y = 0; y < size_; ++y) {
      if (!add(paths, y, x, time(y) - most_span)) return false;
    }
  }
  return true;
}

bool RepetendTree::narrow_pairs(Paths& paths) const {
  return std::ranges::all_of(
      pairs_, [&](const Pair& pair) { return add_range(paths, pair.x, pair.y, range_of(paths, pair.x, pair.y)); });
}

/// What is open when `start` begins is the sum of stash times c; what the others take at least leaves each one a rest.
bool RepetendTree::narrow_stash(Paths& paths, const std::vector<std::size_t>& on, std::size_t start,
                                std::int64_t limit) const {
  std::int64_t rest = limit;
  for (const std::size_t x : on) {
    if (x == start || stashes_[x] == 0) continue;
    const Range range = range_of(paths, x, start);
    if (range.low > range.high) return false;
    rest -= stashes_[x] * (stashes_[x] > 0 ? range.low : range.high);
  }
  if (rest < 0) return false;
  for (const std::size_t x : on) {
    if (x == start || stashes_[x] == 0) continue;
    const Range range = range_of(paths, x, start);
    const bool adds = stashes_[x] > 0;
    const std::int64_t more = rest / (adds ? stashes_[x] : -stashes_[x]);
    if (more >= range.high - range.low) continue;
    const Range left = adds ? Range{range.low, range.low + more} : Range{range.high - more, range.high};
    if (!add_range(paths, x, start, left)) return false;
  }
  return true;
}

bool RepetendTree::narrow_stashes(Paths& paths) const {
  for (std::size_t device = 0; device < on_.size(); ++device) {
    for (const std::size_t start : on_[device]) {
      if (stashes_[start] <= 0) continue;
      if (!narrow_stash(paths, on_[device], start, problem_.limits[device])) return false;
    }
  }
  return true;
}

bool RepetendTree::narrow(Paths& paths) const {
  for (;;) {
    const Ticks before = std::accumulate(paths.begin(), paths.end(), Ticks{0}, [](Ticks sum, Ticks least) {
      return sum + std::max(least, -(Ticks{1} << 50));
    });
    if (!narrow_pairs(paths) || !narrow_stashes(paths)) return false;
    const Ticks after = std::accumulate(paths.begin(), paths.end(), Ticks{0}, [](Ticks sum, Ticks least) {
      return sum + std::max(least, -(Ticks{1} << 50));
    });
    if (before == after) return true;
  }
}

std::optional<std::pair<RepetendTree::Pair, RepetendTree::Range>> RepetendTree::widest_choice(
    const Paths& paths) const {
  std::optional<std::pair<Pair, Range>> best;
  Ticks best_weight = 0;
  for (const Pair& pair : pairs_) {
    const Range range = range_of(paths, pair.x, pair.y);
    if (range.low == range.high) continue;
    // Few values first; of as many, the pair of longest blocks, whose choice moves most.
    const Ticks weight = time(pair.x) + time(pair.y);
    const std::int64_t width = range.high - range.low;
    const std::int64_t best_width = best ? best->second.high - best->second.low : 0;
    if (best && (width > best_width || (width == best_width && weight <= best_weight))) continue;
    best = {pair, range};
    best_weight = weight;
  }
  return best;
}

Repetend RepetendTree::leaf(const Paths& paths) const {
  Repetend repetend{.microbatches = microbatches_, .period = period_, .starts = std::vector<Ticks>(size_, kNone)};
  for (std::size_t x = 0; x < size_; ++x) {
    for (std::size_t y = 0; y < size_; ++y) repetend.starts[y] = std::max(repetend.starts[y], path(paths, x, y));
  }
  const Ticks first = *std::ranges::min_element(repetend.starts);
  for (Ticks& start : repetend.starts) start -= first;
  return repetend;
}

std::optional<Repetend> RepetendTree::visit(Paths paths, std::int64_t& nodes) const {
  if (--nodes < 0 || !narrow(paths)) return std::nullopt;
  const auto choice = widest_choice(paths);
  if (!choice) return leaf(paths);
  const auto [pair, range] = *choice;
  for (std::int64_t value = range.low; value <= range.high && nodes > 0; ++value) {
    Paths next = paths;
    if (!add_range(next, pair.x, pair.y, {value, value})) continue;
    if (auto found = visit(std::move(next), nodes)) return found;
  }
  return std::nullopt;
}

std::optional<Repetend> RepetendTree::search(std::int64_t& nodes) {
  return possible_ ? visit(root_, nodes) : std::nullopt;
}

namespace {

constexpr Ticks kAnySpan = std::numeric_limits<Ticks>::max();
/// The part of all nodes that is spent on one period that may be impossible, before longer ones are tried.
constexpr std::int64_t kShareOfTry = 8;

/// One microbatch after another.
Repetend one_by_one(const BlockProblem& problem, std::int32_t microbatches) {
  Ticks all = 0;
  std::vector<Ticks> begins;
  for (const WorkBlock& block : problem.blocks) {
    Ticks delay = 0;
    for (const WorkBlock::Input& input : block.inputs) delay = std::max(delay, input.delay);
    begins.push_back(all + delay);
    all += delay + block.time;
  }
  Repetend repetend{.microbatches = microbatches, .period = all * microbatches, .starts = {}};
  for (const Ticks begin : begins) {
    for (std::int32_t j = 0; j < microbatches; ++j) repetend.starts.push_back(begin + j * all);
  }
  const Ticks first = *std::ranges::min_element(repetend.starts);
  for (Ticks& start : repetend.starts) start -= first;
  return repetend;
}

Ticks span_of(const BlockProblem& problem, const Repetend& repetend) {
  Ticks end = 0;
  for (std::int32_t b = 0; b < problem.size(); ++b) {
    for (std::int32_t j = 0; j < repetend.microbatches; ++j) {
      end = std::max(end, repetend.start(b, j) + problem.block(b).time);
    }
  }
  return end;
}

/// The search over periods.
class PeriodSearch {
 public:
  PeriodSearch(const BlockProblem& problem, std::int32_t microbatches, std::int64_t nodes)
      : problem_(problem), microbatches_(microbatches), grid_(time_grid(problem)), all_(nodes), left_(nodes) {
    const std::vector<Ticks> work = work_of(problem);
    const Ticks most = std::max<Ticks>(*std::ranges::max_element(work) * microbatches, grid_);
    found_.bound = (most + grid_ - 1) / grid_ * grid_;
    found_.repetend = one_by_one(problem, microbatches);
  }

  FoundRepetend run() {
    find_any();
    while (found_.bound < found_.repetend.period && left_ > 0) halve();
    shorten_span();
    found_.nodes = all_ - std::max<std::int64_t>(0, left_);
    return std::move(found_);
  }

 private:
  enum class Answer : std::uint8_t { kFound, kImpossible, kUnknown };

  /// Tries one period with at most `share` of the nodes.
  Answer try_period(Ticks period, std::int64_t share) {
    std::int64_t nodes = std::min(left_, share);
    const std::int64_t given = nodes;
    auto repetend = RepetendTree(problem_, microbatches_, period, kAnySpan).search(nodes);
    left_ -= given - std::max<std::int64_t>(0, nodes);
    if (repetend) {
      found_.repetend = std::move(*repetend);
      return Answer::kFound;
    }
    if (nodes <= 0) return Answer::kUnknown;
    found_.bound = std::max(found_.bound, period + grid_);
    return Answer::kImpossible;
  }

  /// Periods from the bound on, in steps that double.
  void find_any() {
    Ticks step = grid_;
    for (Ticks period = found_.bound; period < found_.repetend.period && left_ > 0; period += step) {
      if (try_period(period, all_ / kShareOfTry) == Answer::kFound) return;
      if (period > found_.bound) step *= 2;
    }
  }

  /// Between the bound and the best: the middle, and close to the best what is left for the proof.
  void halve() {
    const Ticks below = (found_.repetend.period - found_.bound) / grid_;
    const Ticks middle = unknown_ >= 0 ? found_.repetend.period - grid_ : found_.bound + below / 2 * grid_;
    if (try_period(middle, unknown_ >= 0 ? left_ : left_ / 2) == Answer::kUnknown) unknown_ = middle;
  }

  /// The same period with less time to fill and to drain.
  void shorten_span() {
    const Ticks chain = longest_chain(problem_);
    std::int64_t nodes = std::max(left_, all_ / kShareOfTry);
    Ticks low = chain;
    while (low < span_of(problem_, found_.repetend) && nodes > 0) {
      const Ticks span = span_of(problem_, found_.repetend);
      const Ticks middle = low + (span - low) / (2 * grid_) * grid_;
      std::int64_t some = nodes / 4 + 1;
      nodes -= some;
      auto repetend = RepetendTree(problem_, microbatches_, found_.repetend.period, middle).search(some);
      nodes += std::max<std::int64_t>(0, some);
      if (repetend) {
        found_.repetend = std::move(*repetend);
      } else {
        low = middle + grid_;
      }
    }
  }

  const BlockProblem& problem_;
  std::int32_t microbatches_;
  Ticks grid_;
  std::int64_t all_;
  std::int64_t left_;
  Ticks unknown_ = -1;  ///< a period about which nothing was found out
  FoundRepetend found_;
};

}  // namespace

FoundRepetend search_repetend(const BlockProblem& problem, std::int32_t microbatches, std::int64_t nodes) {
  check_blocks(problem, "repetend");
  return PeriodSearch(problem, microbatches, nodes).run();
}

}  // namespace plumb
