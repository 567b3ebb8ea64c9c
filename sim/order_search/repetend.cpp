#include "sim/order_search/repetend.hpp"

#include <algorithm>
#include <limits>

namespace plumb {
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
