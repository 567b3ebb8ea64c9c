#include "tests/schedules/catalogue/torch/torch_orders.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <stdexcept>

namespace plumb::testing {
namespace {

using Cells = std::vector<std::string>;

/// Counts microbatches of every stage and letter up from 0.
class Rank {
 public:
  std::int64_t count(std::int64_t stage, char letter) const {
    const auto found = counts_.find({stage, letter});
    return found == counts_.end() ? 0 : found->second;
  }

  std::string next(std::int64_t stage, char letter) {
    const std::int64_t microbatch = counts_[{stage, letter}]++;
    return std::to_string(stage) + letter + std::to_string(microbatch);
  }

  void run(std::int64_t stage, char letter) { cells.push_back(next(stage, letter)); }

  Cells cells;

 private:
  std::map<std::pair<std::int64_t, char>, std::int64_t> counts_;
};

std::string cell(std::int64_t stage, char letter, std::int64_t microbatch) {
  return std::to_string(stage) + letter + std::to_string(microbatch);
}

Cells gpipe(const TorchSize& size, std::int64_t r) {
  Rank rank;
  for (std::int64_t i = 0; i < size.m; ++i) rank.run(r, 'F');
  for (std::int64_t i = 0; i < size.m; ++i) rank.run(r, 'B');
  return rank.cells;
}

Cells one_f_one_b(const TorchSize& size, std::int64_t r) {
  Rank rank;
  for (std::int64_t i = 0; i < size.p - 1 - r; ++i) rank.run(r, 'F');
  while (rank.count(r, 'F') < size.m) {
    rank.run(r, 'F');
    rank.run(r, 'B');
  }
  while (rank.count(r, 'B') < size.m) rank.run(r, 'B');
  return rank.cells;
}

std::int64_t rounds(const TorchSize& size) { return std::max<std::int64_t>(1, size.m / size.p); }

/// The interleaved kinds: `factor` warm-up forwards per rank further down; split backward when `zero_bubble`.
Cells interleaved(const TorchSize& size, std::int64_t r, std::int64_t factor, bool zero_bubble) {
  const std::int64_t g = size.m / rounds(size);
  const std::int64_t total = size.v * size.m;
  const std::int64_t warmup = std::min(total, (size.v - 1) * g + factor * (size.p - 1 - r));
  const auto forward_stage = [&](std::int64_t k) { return k / g % size.v * size.p + r; };
  const auto backward_stage = [&](std::int64_t k) { return (size.v - 1 - k / g % size.v) * size.p + r; };
  Rank rank;
  std::int64_t forwards = 0;
  std::int64_t backwards = 0;
  std::int64_t weights = 0;
  while (forwards < warmup) rank.run(forward_stage(forwards++), 'F');
  while (backwards < total) {
    if (forwards < total) rank.run(forward_stage(forwards++), 'F');
    const std::int64_t step = backwards;
    rank.run(backward_stage(backwards++), zero_bubble ? 'I' : 'B');
    if (zero_bubble && step >= r) rank.run(backward_stage(weights++), 'W');
  }
  while (zero_bubble && weights < total) rank.run(backward_stage(weights++), 'W');
  return rank.cells;
}

Cells looped_bfs(const TorchSize& size, std::int64_t r) {
  Cells cells;
  for (std::int64_t c = 0; c < size.v; ++c) {
    for (std::int64_t i = 0; i < size.m; ++i) cells.push_back(cell(c * size.p + r, 'F', i));
  }
  for (std::int64_t c = size.v - 1; c >= 0; --c) {
    for (std::int64_t i = size.m - 1; i >= 0; --i) cells.push_back(cell(c * size.p + r, 'B', i));
  }
  return cells;
}

Cells zbv(const TorchSize& size, std::int64_t r) {
  const std::int64_t a = r;
  const std::int64_t b = 2 * size.p - 1 - r;
  const std::int64_t n = std::max(size.m, 2 * size.p - 1);
  Rank rank;
  for (std::int64_t i = 0; i < 2 * (size.p - r) - 1; ++i) rank.run(a, 'F');
  for (std::int64_t i = 0; i < r; ++i) rank.run(b, 'F'), rank.run(a, 'F');
  for (std::int64_t i = 0; i < size.p - r; ++i) rank.run(b, 'F'), rank.run(b, 'I'), rank.run(b, 'W');
  while (rank.count(b, 'F') < rank.count(a, 'F') || rank.count(a, 'F') < n) {
    if (rank.count(a, 'F') < n) rank.run(a, 'F');
    rank.run(a, 'I'), rank.run(a, 'W');
    rank.run(b, 'F'), rank.run(b, 'I'), rank.run(b, 'W');
  }
  for (std::int64_t i = 0; i < r; ++i) rank.run(a, 'I'), rank.run(b, 'I');
  for (std::int64_t i = 0; i < size.p - r; ++i) rank.run(a, 'I'), rank.run(a, 'W');
  while (rank.count(b, 'W') < rank.count(b, 'I')) rank.run(b, 'W');
  while (rank.count(a, 'W') < rank.count(a, 'I')) rank.run(a, 'W');
  std::erase_if(rank.cells, [&](const std::string& text) {
    return std::stoll(text.substr(text.find_first_of("FIW") + 1)) >= size.m;
  });
  return rank.cells;
}

/// Whole backwards and input gradients of a stage share one count.
class DualPipeV {
 public:
  DualPipeV(const TorchSize& size, std::int64_t r) : size_(size), r_(r), stage_{r, 2 * size.p - 1 - r} {}

  Cells write() {
    const std::int64_t p = size_.p;
    for (std::int64_t i = 0; i < 2 * (p - r_ - 1); ++i) cells_.push_back(forward(0));
    for (std::int64_t i = 0; i < r_ + 1; ++i) cells_.push_back(forward(0)), cells_.push_back(forward(1));
    for (std::int64_t i = 0; i < p - r_ - 1; ++i) cells_.push_back(input(1)), weight(), cells_.push_back(forward(1));
    for (std::int64_t i = 0; i < size_.m - 2 * p + r_ + 1; ++i) {
      if (i == 0 && r_ == p - 1) {
        cells_.push_back(forward(0));
        cells_.push_back(whole(1));
      } else {
        group(0, 1);
      }
      group(1, 0);
    }
    for (std::int64_t i = 0; i < p - r_ - 1; ++i) cells_.push_back(whole(1)), group(1, 0);
    bool split = false;
    for (std::int64_t i = 0; i < r_ + 1; ++i) {
      if (i == (r_ + 1) / 2 && r_ % 2 == 1) split = true;
      cells_.push_back(split ? input(1) : whole(1));
      if (i == (r_ + 1) / 2 && r_ % 2 == 0) split = true;
      cells_.push_back(split ? input(0) : whole(0));
    }
    for (std::int64_t i = 0; i < p - r_ - 1; ++i) weight(), cells_.push_back(input(0));
    for (std::int64_t i = 0; i < r_ + 1; ++i) weight();
    return cells_;
  }

 private:
  std::string forward(std::size_t chunk) { return cell(stage_[chunk], 'F', forwards_[chunk]++); }
  std::string whole(std::size_t chunk) { return cell(stage_[chunk], 'B', backwards_[chunk]++); }
  std::string input(std::size_t chunk) {
    fifo_.push_back(cell(stage_[chunk], 'W', backwards_[chunk]));
    return cell(stage_[chunk], 'I', backwards_[chunk]++);
  }
  void weight() {
    if (fifo_.empty()) return;
    cells_.push_back(fifo_.front());
    fifo_.pop_front();
  }
  void group(std::size_t f, std::size_t b) {
    const std::string first = forward(f);
    cells_.push_back("(" + first + ";" + whole(b) + ")OVERLAP_F_B");
  }

  TorchSize size_;
  std::int64_t r_;
  std::int64_t stage_[2];
  std::int64_t forwards_[2]{};
  std::int64_t backwards_[2]{};
  std::deque<std::string> fifo_;
  Cells cells_;
};

/// Whether PyTorch takes the sizes.
bool is_legal(const std::string& kind, const TorchSize& size) {
  if (kind == "torch-gpipe") return size.v == 1;
  if (kind == "torch-1f1b") return size.v == 1 && size.m >= size.p;
  if (kind == "torch-zbv") return size.v == 2;
  if (kind == "torch-dualpipev") return size.v == 2 && size.m >= 2 * size.p;
  return kind == "torch-looped-bfs" || size.m % rounds(size) == 0;
}

Cells order_of(const std::string& kind, const TorchSize& size, std::int64_t r) {
  if (kind == "torch-gpipe") return gpipe(size, r);
  if (kind == "torch-1f1b") return one_f_one_b(size, r);
  if (kind == "torch-interleaved") return interleaved(size, r, 2, false);
  if (kind == "torch-interleaved-zb") return interleaved(size, r, 1, true);
  if (kind == "torch-looped-bfs") return looped_bfs(size, r);
  if (kind == "torch-zbv") return zbv(size, r);
  if (kind == "torch-dualpipev") return DualPipeV(size, r).write();
  throw std::invalid_argument(kind);
}

}  // namespace

std::optional<std::vector<std::vector<std::string>>> torch_order(const std::string& kind, const TorchSize& size) {
  if (!is_legal(kind, size)) return std::nullopt;
  std::vector<Cells> ranks;
  for (std::int64_t r = 0; r < size.p; ++r) ranks.push_back(order_of(kind, size, r));
  return ranks;
}

}  // namespace plumb::testing
