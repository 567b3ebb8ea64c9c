#include "sim/plan_search/bounds/folded_stages.hpp"

#include <algorithm>

namespace plumb {

FoldedStages::FoldedStages(const LayerPrices& prices, const LeastPasses& least, const Passes& passes)
    : layers_(prices.least.size()) {
  for (auto* sums : {&alone_, &forward_, &backward_, &update_}) sums->assign(1, 0);
  const std::int64_t m = passes.microbatches;
  for (std::size_t k = 0; k < layers_; ++k) {
    const LayerLeast& layer = prices.least[k];
    const auto add = [](std::vector<double>& sums, double more) { sums.push_back(sums.back() + more); };
    const double forward = passes.part * static_cast<double>(least.rounded(passes.turns[k].forward, m));
    add(alone_, passes.share * static_cast<double>(least.rounded(layer.alone.f, 1)));
    add(forward_, forward);
    add(backward_, passes.part * static_cast<double>(least.rounded(passes.turns[k].backward, 2 * m)));
    add(update_, passes.updates * static_cast<double>(least.rounded(layer.u, 1)));
    is_known_ = is_known_ && forward >= static_cast<double>(layer.alone.f);
  }
  place_update_ = passes.updates * static_cast<double>(least.rounded(prices.place_update, 2));
}

bool FoldedStages::covers(double most, std::int32_t places, double hop, std::int32_t hops) const {
  std::vector<std::ptrdiff_t> last(layers_ + 1, -1);  // by first layers that are covered; -1: not possible
  last[0] = 0;
  for (std::int32_t place = 0; place < places; ++place) {
    std::vector<std::ptrdiff_t> more(layers_ + 1, -1);
    for (std::size_t first = 0; first <= layers_; ++first) {
      if (last[first] < 0) continue;
      Place at{.first = first, .end = layers_ - static_cast<std::size_t>(last[first])};
      at.begins = most - place_update_ - alone_[first] - place * hop;
      at.turns = most - place_update_ - (hops - place) * hop;
      if (add_stages(at, more)) return true;
    }
    last = std::move(more);
  }
  return false;
}

bool FoldedStages::has_time(const Place& at, std::size_t front, std::size_t back) const {
  const auto both = [&](const std::vector<double>& sums) {
    return sums[front] - sums[at.first] + sums[at.end] - sums[back];
  };
  const double late = both(backward_) + both(update_);
  return both(forward_) + late <= at.begins && alone_[back] + forward_[at.end] - forward_[back] + late <= at.turns;
}

bool FoldedStages::add_stages(const Place& at, std::vector<std::ptrdiff_t>& more) const {
  std::size_t back = at.first;
  for (std::size_t end = at.end; back < end;) {
    const std::size_t middle = back + (end - back) / 2;
    if (has_time(at, at.first, middle)) {
      end = middle;
    } else {
      back = middle + 1;
    }
  }
  for (std::size_t front = at.first; front <= at.end; ++front) {
    back = std::max(back, front);
    while (back < at.end && !has_time(at, front, back)) ++back;
    if (back == at.end && !has_time(at, front, back)) return false;
    more[front] = std::max(more[front], static_cast<std::ptrdiff_t>(layers_ - back));
    if (back <= front) return true;
  }
  return true;
}

}  // namespace plumb
