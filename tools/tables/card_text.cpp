#include "tools/tables/card_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "tools/reports/picture_style.hpp"
#include "tools/reports/report_palette.hpp"
#include "tools/tables/character_row.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/text_table.hpp"

namespace plumb {
namespace {

constexpr std::size_t kLeastChart = 20;  ///< columns of the time axis

/// What takes most of a column: an op, or two actions at once of which `op` is the first.
struct ColumnOp {
  Op op{};
  bool pair = false;

  std::string_view letter() const { return pair ? "&" : kOpNames[static_cast<std::size_t>(op)].substr(0, 1); }
};

/// Of every column what takes most of its time; none: it is idle for longer.
class ColumnOps {
 public:
  ColumnOps(const CardRow& row, std::size_t width, double scale) : shares_(width) {
    for (const CardSpan& span : row.spans) {
      if (span.part != PictureSpan::Part::kLowerHalf) add(span, scale);
    }
  }

  std::optional<ColumnOp> at(std::size_t column) const {
    const auto& shares = shares_[column];
    double busy = 0;
    for (const double share : shares) busy += share;
    if (busy < 0.5) return std::nullopt;
    const auto most = static_cast<std::size_t>(std::ranges::max_element(shares) - shares.begin());
    return ColumnOp{.op = static_cast<Op>(most % kOpCount), .pair = most >= kOpCount};
  }

 private:
  void add(const CardSpan& span, double scale) {
    const bool pair = span.part == PictureSpan::Part::kUpperHalf;
    const double end = std::min(span.end * scale, static_cast<double>(shares_.size()));
    for (double from = span.start * scale; from < end;) {
      const auto column = static_cast<std::size_t>(from + 1e-9);
      const double to = std::min(end, static_cast<double>(column + 1));
      if (to <= from || column >= shares_.size()) break;
      shares_[column][static_cast<std::size_t>(span.op) + (pair ? kOpCount : 0)] += to - from;
      from = to;
    }
  }

  std::vector<std::array<double, 2 * kOpCount>> shares_;  ///< by op: alone, and with another
};

/// "F3", or "F3&B1" of a pair of which `lower` is the other action.
std::string span_label(const CardSpan& span, const CardSpan* lower) {
  const auto name = [](const CardSpan& one) {
    return std::string(kOpNames[static_cast<std::size_t>(one.op)]) +
           (one.microbatch < 0 ? "" : std::to_string(one.microbatch));
  };
  return lower == nullptr ? name(span) : name(span) + "&" + name(*lower);
}

/// Whether nearly all actions have room for their names; letters alone can be read otherwise.
bool shows_names(const CardBlock& block, double scale) {
  std::size_t all = 0;
  std::size_t roomy = 0;
  for (const CardRow& row : block.rows) {
    for (const CardSpan& span : row.spans) {
      if (span.end <= span.start || span.part == PictureSpan::Part::kLowerHalf) continue;
      ++all;
      if ((span.end - span.start) * scale >= static_cast<double>(span_label(span, nullptr).size())) ++roomy;
    }
  }
  return 10 * roomy >= 9 * all;
}

CharacterRow row_of(const CardRow& row, std::size_t width, double scale, bool names) {
  CharacterRow characters(width);
  const ColumnOps ops(row, width, scale);
  for (std::size_t column = 0; column < width; ++column) {
    const std::optional<ColumnOp> most = ops.at(column);
    if (most) characters.write(column, most->letter(), most->op);
  }
  for (std::size_t i = 0; names && i < row.spans.size(); ++i) {
    const CardSpan& span = row.spans[i];
    if (span.part == PictureSpan::Part::kLowerHalf) continue;
    const bool pair = i + 1 < row.spans.size() && row.spans[i + 1].part == PictureSpan::Part::kLowerHalf;
    const auto begin = static_cast<std::size_t>(std::llround(span.start * scale));
    const auto end = std::min(width, static_cast<std::size_t>(std::llround(span.end * scale)));
    if (end < begin + 2) continue;
    std::string label = span_label(span, pair ? &row.spans[i + 1] : nullptr);
    if (label.size() > end - begin) label = pair ? "&" : label.substr(0, 1);
    label.resize(end - begin, '=');
    characters.write(begin, label, span.op);
  }
  return characters;
}

/// The most that is held in every column, as bars of eight heights.
std::string memory_bars(const CardBlock& block, const Card& card, std::size_t width, double scale) {
  static constexpr std::array<std::string_view, 9> kBars{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::vector<double> most(width, 0);
  for (std::size_t i = 0; i < block.memory.size(); ++i) {
    const double end = i + 1 < block.memory.size() ? block.memory[i + 1].time : block.end;
    const auto last = static_cast<std::size_t>(std::max(0.0, std::ceil(end * scale - 1e-9)));
    for (auto column = static_cast<std::size_t>(block.memory[i].time * scale + 1e-9); column < std::min(width, last);
         ++column) {
      most[column] = std::max(most[column], block.memory[i].amount);
    }
  }
  std::string bars;
  for (const double amount : most) {
    bars += kBars[static_cast<std::size_t>(std::clamp(std::ceil(8 * amount / card.most_memory - 1e-9), 0.0, 8.0))];
  }
  return bars;
}

class CardDrawing {
 public:
  CardDrawing(const Card& card, const TextTimelineOptions& options) : card_(card), options_(options) {
    std::size_t most = 1;
    std::size_t figures = 0;
    for (const CardBlock& block : card.blocks) {
      most = std::max(most, block.rows.size());
      for (const std::string& figure : block.figures) figures = std::max(figures, display_width(figure));
    }
    margin_ = std::max<std::size_t>(3, 1 + std::to_string(most - 1).size());
    const std::size_t taken = margin_ + 2 + 2 + figures;
    const auto columns = static_cast<std::size_t>(options.columns);
    width_ = columns > taken + kLeastChart ? columns - taken : kLeastChart;
    scale_ = static_cast<double>(width_) / std::max(card.longest, 1.0);
  }

  std::string draw() const {
    std::string text = card_.about.empty() ? "" : card_.about + "\n\n";
    for (const CardBlock& block : card_.blocks) text += draw_block(block) + "\n";
    return text + axis() + "\n" + key();
  }

 private:
  std::string line(std::string name, const std::string& drawn, const std::string& figure) const {
    name.resize(margin_, ' ');
    std::string text = name + "| " + drawn + (figure.empty() ? "" : "| " + figure);
    text.erase(text.find_last_not_of(' ') + 1);
    return text + "\n";
  }

  /// The title, and the remark beside it or, where it has no room there, below.
  std::string heading(const CardBlock& block) const {
    constexpr std::string_view kApart = "   ";
    const auto columns = static_cast<std::size_t>(options_.columns);
    const std::string one = block.title + (block.remark.empty() ? "" : std::string(kApart) + block.remark) + "\n";
    if (display_width(one) <= columns + 1) return one;
    std::string text = block.title + "\n";
    for (const std::string& line : wrapped_text(block.remark, columns - kApart.size())) {
      text += std::string(kApart) + line + "\n";
    }
    return text;
  }

  std::string draw_block(const CardBlock& block) const {
    std::string text = heading(block);
    std::size_t figure = 0;
    const auto next = [&] { return figure < block.figures.size() ? block.figures[figure++] : std::string(); };
    const bool names = shows_names(block, scale_);
    const std::size_t drawn = std::min(block.rows.size(), static_cast<std::size_t>(options_.most_devices));
    for (std::size_t d = 0; d < drawn; ++d) {
      text += line("d" + std::to_string(d), row_of(block.rows[d], width_, scale_, names).to_string(options_.colour),
                   next());
    }
    if (drawn < block.rows.size()) text += "... and " + std::to_string(block.rows.size() - drawn) + " more devices\n";
    if (!block.memory.empty()) text += line("mem", memory_bars(block, card_, width_, scale_), next());
    while (figure < block.figures.size()) text += line("", std::string(width_, ' '), next());
    return text;
  }

  /// What the letters mean that are drawn.
  std::string key() const {
    std::set<Op> ops;
    bool pairs = false;
    bool memory = false;
    for (const CardBlock& block : card_.blocks) {
      memory = memory || !block.memory.empty();
      for (const CardRow& row : block.rows) {
        for (const CardSpan& span : row.spans) {
          if (span.end > span.start) ops.insert(span.op);
          pairs = pairs || span.part == PictureSpan::Part::kUpperHalf;
        }
      }
    }
    std::string text;
    const auto add = [&text](std::string_view letter, std::string_view meaning) {
      text += (text.empty() ? "" : ", ") + std::string(letter) + ": " + std::string(meaning);
    };
    for (const Op op : ops) add(kOpNames[static_cast<std::size_t>(op)], kOpTitles[static_cast<std::size_t>(op)]);
    if (pairs) add("&", "two at once");
    if (memory) add("mem", "memory of the fullest device");
    std::string lines;
    for (const std::string& line : wrapped_text(text, static_cast<std::size_t>(options_.columns))) lines += line + "\n";
    return lines;
  }

  /// "0" at the left and the longest time at the right.
  std::string axis() const {
    const std::string all = ns_text(card_.longest, card_.times) + (card_.times == TimeWords::kUnits ? " units" : "");
    const std::size_t used = display_width(all) + 1;
    return std::string(margin_ + 2, ' ') + "0" + std::string(width_ > used ? width_ - used : 1, ' ') + all + "\n";
  }

  const Card& card_;
  const TextTimelineOptions& options_;
  std::size_t margin_ = 3;
  std::size_t width_ = 0;
  double scale_ = 1;
};

}  // namespace

std::string card_text(const Card& card, const TextTimelineOptions& options) {
  return CardDrawing(card, options).draw();
}

}  // namespace plumb
