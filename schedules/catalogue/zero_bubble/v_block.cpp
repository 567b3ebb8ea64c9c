#include "schedules/catalogue/zero_bubble/v_block.hpp"

#include <algorithm>

namespace plumb {
namespace {

constexpr std::int8_t kEmpty = -1;
constexpr std::int32_t kBlockPeriod = 6;

constexpr std::int8_t cell(VPass pass) { return static_cast<std::int8_t>(pass); }
constexpr bool is_weight_cell(std::int8_t content) { return content >= cell(VPass::kW1); }

/// What the content of a slot adds to the stash.
constexpr std::int64_t change_of(std::int8_t content) {
  if (content == cell(VPass::kF0) || content == cell(VPass::kF1)) return 1;
  return is_weight_cell(content) ? -1 : 0;
}

PassCosts unit_costs(std::int32_t num_devices) {
  PassCosts costs;
  costs.stages.resize(2 * as_index(num_devices));
  return costs;
}

VWord word_of(const std::vector<std::int8_t>& row) {
  VWord word;
  for (const std::int8_t content : row) {
    if (content != kEmpty) word.push_back(static_cast<VPass>(content));
  }
  return word;
}

using Counts = std::array<std::int64_t, kVPassCount>;

/// The passes of one device before its first I0, in a new order: at first as many F as the peak allows, those of the
/// second stage as they arrive, then I1 and W1 in turns with the rest.
VWord warm_up_word(Counts left, std::int32_t d, std::int32_t p, std::int64_t peak) {
  VWord word;
  const auto put = [&](VPass pass) {
    if (left[index(pass)] == 0) return false;
    --left[index(pass)];
    word.push_back(pass);
    return true;
  };
  std::int64_t second = std::min<std::int64_t>(d + 1, peak / 2);
  std::int64_t first = peak - second;
  for (std::int32_t i = 0; i < 2 * (p - 1 - d); ++i) {
    if (first > 0 && put(VPass::kF0)) --first;
  }
  for (std::int32_t i = 0; i <= d; ++i) {
    if (first > 0 && put(VPass::kF0)) --first;
    if (second > 0 && put(VPass::kF1)) --second;
  }
  for (bool more = true; more;) {
    const std::size_t size = word.size();
    put(VPass::kI1);
    put(VPass::kW1);
    if (!put(VPass::kF1)) put(VPass::kF0);
    more = word.size() > size;
  }
  return word;
}

/// Slots of a grid in which idle slots are filled from the left.
class IdleSlots {
 public:
  IdleSlots(std::vector<std::vector<std::int8_t>>& rows, std::int64_t m, std::int64_t limit)
      : rows_(rows),
        p_(static_cast<std::int32_t>(rows.size())),
        m_(m),
        limit_(limit),
        devices_(rows.size()),
        done_(kVPassCount * rows.size() * as_index(m), -1) {}

  void fill() {
    const auto length = static_cast<std::int64_t>(rows_.front().size());
    for (std::int64_t slot = 0; slot < length; ++slot) {
      for (std::int32_t d = 0; d < p_; ++d) {
        if (rows_[as_index(d)][as_index(slot)] == kEmpty) move_into(d, slot);
        const std::int8_t content = rows_[as_index(d)][as_index(slot)];
        if (content == kEmpty) continue;
        Device& device = devices_[as_index(d)];
        device.stash += change_of(content);
        done(content, d, device.counts[as_index(content)]++) = slot;
      }
    }
  }

 private:
  struct Device {
    Counts counts{};
    Counts next{};  ///< where the next pass of a kind may stand
    std::int64_t stash = 0;
  };

  std::int64_t& done(std::int64_t kind, std::int32_t d, std::int64_t microbatch) {
    return done_[as_index((kind * p_ + d) * m_ + microbatch)];
  }

  /// Moves the nearest later pass to `slot` that may run there without a higher peak.
  void move_into(std::int32_t d, std::int64_t slot) {
    auto& row = rows_[as_index(d)];
    std::array<std::pair<std::int64_t, std::int8_t>, kVPassCount> candidates;  // nearest first
    std::size_t count = 0;
    for (std::int8_t kind = 0; kind < static_cast<std::int8_t>(kVPassCount); ++kind) {
      std::int64_t& next = devices_[as_index(d)].next[as_index(kind)];
      next = std::max(next, slot + 1);
      while (next < std::ssize(row) && row[as_index(next)] != kind) ++next;
      if (next >= std::ssize(row)) continue;
      std::size_t place = count++;
      for (; place > 0 && candidates[place - 1].first > next; --place) candidates[place] = candidates[place - 1];
      candidates[place] = {next, kind};
    }
    for (std::size_t i = 0; i < count; ++i) {
      const auto [from, kind] = candidates[i];
      if (!input_is_there(d, kind, slot) || !keeps_peak(d, kind, slot, from)) continue;
      row[as_index(slot)] = kind;
      row[as_index(from)] = kEmpty;
      return;
    }
  }

  bool input_is_there(std::int32_t d, std::int8_t kind, std::int64_t slot) {
    const auto pass = static_cast<VPass>(kind);
    const Counts& counts = devices_[as_index(d)].counts;
    const std::int64_t microbatch = counts[as_index(kind)];
    if (microbatch == m_) return false;
    if ((goes_down(pass) && d > 0) || (goes_up(pass) && d + 1 < p_)) {
      const std::int64_t made = done(kind, goes_down(pass) ? d - 1 : d + 1, microbatch);
      return made >= 0 && made < slot;
    }
    if (pass == VPass::kF0) return true;
    return counts[as_index(kind) - (is_weight(pass) ? 2 : 1)] > microbatch;
  }

  bool keeps_peak(std::int32_t d, std::int8_t kind, std::int64_t slot, std::int64_t from) const {
    if (change_of(kind) <= 0) return true;
    std::int64_t now = devices_[as_index(d)].stash;
    std::int64_t highest = now;
    for (std::int64_t i = slot + 1; i < from; ++i) {
      now += change_of(rows_[as_index(d)][as_index(i)]);
      highest = std::max(highest, now);
    }
    return highest < limit_;
  }

  std::vector<std::vector<std::int8_t>>& rows_;
  std::int32_t p_;
  std::int64_t m_;
  std::int64_t limit_;
  std::vector<Device> devices_;
  std::vector<std::int64_t> done_;  ///< slot by pass, device, microbatch; -1: not yet
};

}  // namespace

VPattern with_weights(VPattern pattern) {
  std::array<bool, kBlockPeriod> taken{};
  for (const VPass pass : {VPass::kF0, VPass::kF1, VPass::kI1, VPass::kI0})
    taken[as_index(pattern[index(pass)])] = true;
  for (const VPass backward : {VPass::kI1, VPass::kI0}) {
    std::int32_t slot = pattern[index(backward)];
    while (taken[as_index(slot)]) slot = (slot + 1) % kBlockPeriod;
    pattern[index(weight_of(backward))] = slot;
    taken[as_index(slot)] = true;
  }
  return pattern;
}

std::vector<VPattern> first_slots(const std::vector<VPattern>& block) {
  const auto p = static_cast<std::int32_t>(block.size());
  std::vector<VPattern> first(block.size());
  std::int32_t slot = kBlockPeriod;
  const auto next = [&](std::int32_t from, std::int32_t phase) {
    return from + (phase - from % kBlockPeriod + kBlockPeriod) % kBlockPeriod;
  };
  for (const VPass pass : {VPass::kF0, VPass::kF1, VPass::kI1, VPass::kI0}) {
    for (std::int32_t i = 0; i < p; ++i) {
      const std::size_t d = as_index(goes_down(pass) ? i : p - 1 - i);
      first[d][index(pass)] = next(slot, block[d][index(pass)]);
      slot = first[d][index(pass)] + 1;
      if (is_forward(pass)) continue;
      const std::size_t weight = index(weight_of(pass));
      first[d][weight] = next(slot, block[d][weight]);
    }
  }
  return first;
}

std::int64_t peak_stashes(const std::vector<VWord>& words) {
  std::int64_t peak = 0;
  for (const VWord& word : words) {
    std::int64_t now = 0;
    for (const VPass pass : word) peak = std::max(peak, now += change_of(cell(pass)));
  }
  return peak;
}

BlockUnroller::BlockUnroller(std::int32_t num_devices, std::int64_t num_microbatches)
    : p_(num_devices),
      m_(num_microbatches),
      repeats_(std::max(num_microbatches, 2 * std::int64_t{num_devices})),
      unit_costs_(unit_costs(num_devices)),
      timer_(unit_costs_, repeats_),
      words_(as_index(num_devices)) {}

BlockUnroller::Outcome BlockUnroller::unroll(const std::vector<VPattern>& block, std::int64_t limit) {
  repeat(block);
  std::int64_t allowed = peak_stashes(words_);
  if (allowed > 2 * p_ || (m_ == repeats_ && allowed > limit)) return Outcome::kTooMuchMemory;
  if (!fill_warm_up(allowed) || peak_stashes(words_) > allowed) return Outcome::kInvalid;
  if (m_ < repeats_) {
    const std::int64_t peak = peak_stashes(words_);
    drop_surplus();
    if (m_ <= p_ && 2 * m_ <= limit) put_off_weights(peak);
    if (!timer_.run(words_)) return Outcome::kInvalid;
    allowed = peak_stashes(words_);
    if (allowed > limit) return Outcome::kTooMuchMemory;
  }
  if (!rebuild_drain()) return Outcome::kInvalid;
  fill_idle_slots();
  relabel_weights();
  return peak_stashes(words_) <= allowed && complete() ? Outcome::kMade : Outcome::kInvalid;
}

void BlockUnroller::repeat(const std::vector<VPattern>& block) {
  const std::vector<VPattern> first = first_slots(block);
  for (std::size_t d = 0; d < block.size(); ++d) {
    const std::int32_t last = *std::max_element(first[d].begin(), first[d].end());
    Row row(as_index(last + kBlockPeriod * (repeats_ - 1) + 1), kEmpty);
    for (std::size_t pass = 0; pass < kVPassCount; ++pass) {
      for (std::int64_t k = 0; k < repeats_; ++k) {
        row[as_index(first[d][pass] + kBlockPeriod * k)] = static_cast<std::int8_t>(pass);
      }
    }
    words_[d] = word_of(row);
  }
}

bool BlockUnroller::fill_warm_up(std::int64_t peak) {
  for (std::int32_t d = 0; d < p_; ++d) {
    VWord& word = words_[as_index(d)];
    const auto end = std::find(word.begin(), word.end(), VPass::kI0);
    Counts counts{};
    for (auto pass = word.begin(); pass != end; ++pass) ++counts[index(*pass)];
    const VWord begin = warm_up_word(counts, d, p_, peak);
    if (std::ssize(begin) != end - word.begin()) return false;
    std::copy(begin.begin(), begin.end(), word.begin());
  }
  return timer_.run(words_);
}

void BlockUnroller::drop_surplus() {
  for (VWord& word : words_) {
    Counts counts{};
    std::erase_if(word, [&](VPass pass) { return ++counts[index(pass)] > m_; });
  }
}

/// Where there are few microbatches, memory is left: the first W of devices below the peak go to their ends.
void BlockUnroller::put_off_weights(std::int64_t peak) {
  for (VWord& word : words_) {
    std::int64_t room = peak - peak_stashes({word});
    VWord late;
    std::erase_if(word, [&](VPass pass) {
      if (room <= 0 || !is_weight(pass)) return false;
      --room;
      late.push_back(pass);
      return true;
    });
    word.insert(word.end(), late.begin(), late.end());
  }
}

std::vector<BlockUnroller::Row> BlockUnroller::rows() {
  Ticks length = 0;
  for (std::int32_t d = 0; d < p_; ++d) length = std::max(length, timer_.starts(d).back() + 1);
  std::vector<Row> rows(words_.size(), Row(as_index(length), kEmpty));
  for (std::int32_t d = 0; d < p_; ++d) {
    const auto& starts = timer_.starts(d);
    for (std::size_t i = 0; i < starts.size(); ++i)
      rows[as_index(d)][as_index(starts[i])] = cell(words_[as_index(d)][i]);
  }
  return rows;
}

void BlockUnroller::take_rows(const std::vector<Row>& rows) {
  for (std::size_t d = 0; d < rows.size(); ++d) words_[d] = word_of(rows[d]);
}

/// Backwards after the last F1 of device 0 as close together as their values travel, W into what stays idle.
bool BlockUnroller::rebuild_drain() {
  std::vector<Row> rows = this->rows();
  const std::int64_t peak = peak_stashes(words_);
  const auto last = std::find(rows[0].rbegin(), rows[0].rend(), cell(VPass::kF1));
  const std::int64_t start = rows[0].rend() - last - 1;
  for (std::int32_t d = 0; d < p_; ++d) {
    Row& row = rows[as_index(d)];
    std::array<std::int64_t, 2> lifted{};
    lift_drain(row, d, peak, lifted);
    for (std::int64_t k = 0; k < lifted[1]; ++k) {
      const std::int64_t slot = start - d + 2 * p_ - 2 * k;
      if (slot < 0) return false;
      if (slot >= std::ssize(row)) row.resize(as_index(slot + 1), kEmpty);
      if (row[as_index(slot)] != kEmpty) return false;
      row[as_index(slot)] = cell(VPass::kI0);
    }
    for (std::int64_t k = 0; k < lifted[0]; ++k) {
      const std::int64_t slot = start + 1 + d - 2 * k;
      if (slot < 0) return false;
      if (slot >= std::ssize(row)) row.resize(as_index(slot + 1), kEmpty);
      if (row[as_index(slot)] != kEmpty && !is_weight_cell(row[as_index(slot)])) return false;  // W find another place
      row[as_index(slot)] = cell(VPass::kI1);
    }
    refill_weights(row);
  }
  take_rows(rows);
  return timer_.run(words_);
}

/// Takes the last I1 and I0 and enough W out of a row; `lifted` counts I1 and I0.
void BlockUnroller::lift_drain(Row& row, std::int32_t d, std::int64_t peak, std::array<std::int64_t, 2>& lifted) const {
  const std::int64_t most_up = std::min((peak + 1) / 2, m_);
  const std::int64_t most_down = std::min({peak - most_up, m_, std::int64_t{d} + 1});
  for (auto content = row.rbegin(); content != row.rend(); ++content) {
    const bool down = *content == cell(VPass::kI1) && lifted[0] < most_down;
    const bool up = *content == cell(VPass::kI0) && lifted[1] < most_up;
    if (!down && !up) continue;
    ++lifted[down ? 0 : 1];
    *content = kEmpty;
  }
  std::array<std::int64_t, 2> weights{};
  for (auto content = row.rbegin(); content != row.rend(); ++content) {
    if (weights[0] >= lifted[0] && weights[1] >= lifted[1] && weights[0] + weights[1] >= peak) return;
    if (!is_weight_cell(*content)) continue;
    ++weights[*content == cell(VPass::kW1) ? 0 : 1];
    *content = kEmpty;
  }
}

/// Missing W into idle slots after the last one, W1 first, the rest after the end.
void BlockUnroller::refill_weights(Row& row) const {
  const auto last = std::find_if(row.rbegin(), row.rend(), is_weight_cell);
  const std::int64_t last_weight = row.rend() - last - 1;
  std::array<std::int64_t, 2> missing{};
  const auto take = [&]() {
    const std::size_t which = missing[0] > 0 ? 0 : 1;
    --missing[which];
    return cell(which == 0 ? VPass::kW1 : VPass::kW0);
  };
  for (std::int64_t slot = 0; slot < std::ssize(row); ++slot) {
    std::int8_t& content = row[as_index(slot)];
    if (content == cell(VPass::kI1)) ++missing[0];
    if (content == cell(VPass::kI0)) ++missing[1];
    if (content == cell(VPass::kW1)) --missing[0];
    if (content == cell(VPass::kW0)) --missing[1];
    if (content == kEmpty && slot > last_weight && (missing[0] > 0 || missing[1] > 0)) content = take();
  }
  while (missing[0] > 0 || missing[1] > 0) row.push_back(take());
}

void BlockUnroller::fill_idle_slots() {
  std::vector<Row> rows = this->rows();
  IdleSlots(rows, m_, peak_stashes(words_)).fill();
  take_rows(rows);
}

/// Every W is that of the oldest pending I.
void BlockUnroller::relabel_weights() {
  for (VWord& word : words_) {
    VWord line;
    std::size_t next = 0;
    for (VPass& pass : word) {
      if (is_weight(pass)) {
        if (next < line.size()) pass = line[next++];
      } else if (!is_forward(pass)) {
        line.push_back(weight_of(pass));
      }
    }
  }
}

bool BlockUnroller::complete() {
  for (const VWord& word : words_) {
    Counts counts{};
    for (const VPass pass : word) ++counts[index(pass)];
    if (std::any_of(counts.begin(), counts.end(), [&](std::int64_t count) { return count != m_; })) return false;
  }
  return timer_.run(words_);
}

}  // namespace plumb
