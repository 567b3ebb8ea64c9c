#include "tools/reports/paper_picture.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tools/reports/fill_colours.hpp"
#include "tools/reports/picture_letters.hpp"
#include "tools/reports/report_palette.hpp"
#include "tools/reports/svg_text.hpp"
#include "tools/terminal/quantity_text.hpp"

namespace plumb {
namespace {

constexpr double kPaperUsualCm = 16;
constexpr double kPaperEdge = 3;
constexpr double kPaperHair = 0.3;
constexpr double kPaperText = 7;
constexpr double kPaperTitle = 9;
constexpr double kPaperLine = 9.5;   ///< from one line of text to the next
constexpr double kPaperRows = 560;   ///< height of all rows together, where they have room
constexpr double kLeastPitch = 2.4;  ///< from one row to the next
constexpr double kMostPitch = 14;
constexpr double kLeastNumber = 4.2;  ///< size of microbatch numbers
constexpr double kLeastEdged = 1.6;   ///< width of actions with a gap between them
constexpr double kMemoryHeight = 30;
constexpr double kLeastMemory = 56;  ///< width of a curve
constexpr std::string_view kMemoryArea = "#b4cdf2";
constexpr std::string_view kMemoryLine = "#24406f";

/// Of Helvetica, from the blank on, in thousandths of the size.
constexpr std::array<std::uint16_t, 95> kLetterWidths{
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333,  278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
    611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667,  611, 722, 667, 944, 667,
    667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278,  556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500,  500, 334, 260, 334, 584};

/// `text` in lines that are at most `width` wide.
std::vector<std::string> paper_lines(std::string_view text, double width) {
  return wrapped_text(text, static_cast<std::size_t>(std::max(width, 40.0) / (0.5 * kPaperText)));
}

/// Where a run is drawn; lengths downwards from the upper edge.
struct PlacedBlock {
  double rows = 0;                   ///< top of its first row
  double bottom = 0;                 ///< end of its last row
  std::vector<std::string> lines{};  ///< of the remark, below the title
};

class CardPicture {
 public:
  CardPicture(const Card& card, const PictureStyle& style, PaperCanvas& canvas)
      : card_(card), canvas_(canvas), width_(style.width_cm.value_or(kPaperUsualCm) * kPointsPerCm) {
    std::size_t rows = 0;
    std::size_t most = 1;
    double figures = 0;
    for (const CardBlock& block : card.blocks) {
      rows += block.rows.size();
      most = std::max(most, block.rows.size());
      for (const std::string& figure : block.figures) figures = std::max(figures, paper_width(figure, kPaperText));
    }
    pitch_ = std::clamp(kPaperRows / static_cast<double>(std::max<std::size_t>(rows, 1)), kLeastPitch, kMostPitch);
    row_ = pitch_ - (pitch_ > 6 ? 1.5 : 0.4);
    const double names = paper_width("device " + std::to_string(most - 1), kPaperText);
    left_ = std::ceil(std::max(names,
                               paper_width(card.times == TimeWords::kUnits ? "time, units" : "time, ms", kPaperText))) +
            7;
    right_ = width_ - (figures > 0 ? figures + 9 : 7);
    scale_ = (right_ - left_) / std::max(card.longest, 1.0);
    caption_ = paper_lines(style.caption, width_ - left_);
    place();
  }

  PaperBox draw() {
    const double bottom = axis();
    double down = kPaperEdge;
    for (const std::string& line : about_) words({left_, down += kPaperLine - 1}, kPaperText, line, kPaperDim);
    for (std::size_t i = 0; i < card_.blocks.size(); ++i) draw_block(card_.blocks[i], places_[i]);
    down = legend(memory(bottom + 14));
    for (const std::string& line : caption_) words({left_, down += kPaperLine}, kPaperText, line);
    down += kPaperEdge + 2;
    return {0, -down, width_, down};
  }

 private:
  double across(double time) const { return left_ + time * scale_; }

  /// `at.y` downwards from the upper edge, as everywhere in this class.
  void words(const PaperPoint& at, double size, std::string_view text, std::string_view colour = kPaperInk,
             PaperAnchor anchor = PaperAnchor::kStart) {
    canvas_.text({.at = {at.x, -at.y}, .size = size, .words = text, .colour = colour, .anchor = anchor});
  }

  void fill(double left, double top, double width, double height, std::string_view colour) {
    canvas_.fill({left, -top - height, width, height}, colour);
  }

  void place() {
    about_ = paper_lines(card_.about, width_ - left_);
    double down = kPaperEdge + (kPaperLine + 1) * static_cast<double>(about_.size());
    for (const CardBlock& block : card_.blocks) {
      PlacedBlock& at = places_.emplace_back();
      const double beside = width_ - left_ - paper_width(block.title, kPaperTitle) - 6;
      if (!block.remark.empty() && paper_width(block.remark, kPaperText) > beside) {
        at.lines = paper_lines(block.remark, width_ - left_);
      }
      at.rows = down + 14 + kPaperLine * static_cast<double>(at.lines.size());
      at.bottom = at.rows + pitch_ * static_cast<double>(block.rows.size());
      const double figures = kPaperLine * static_cast<double>(block.figures.size());
      down = std::max(at.bottom, at.rows + figures) + 5;
    }
  }

  /// The grid behind the rows, and its numbers below the last ones; returns where these stand.
  double axis() {
    const double low = places_.back().bottom + 1 + kPaperLine;
    constexpr TimeUnit kAbstract{"units", 1e6};
    const TimeUnit unit = card_.times == TimeWords::kUnits ? kAbstract : time_unit(std::llround(card_.longest));
    const double length = card_.longest / unit.ns;
    const double step = nice_step(std::max(length, 1e-9) / std::clamp((right_ - left_) / 45, 3.0, 10.0));
    for (int k = 0; k * step <= length * (1 + 1e-9); ++k) {
      const double at = left_ + k * step * unit.ns * scale_;
      for (const PlacedBlock& block : places_) {
        fill(at - 0.2, block.rows - 2, 0.4, block.bottom - block.rows + 4, kPaperGrid);
      }
      words({at, low}, kPaperText, number_text(k * step), kPaperDim, PaperAnchor::kMiddle);
    }
    words({left_ - 5, low}, kPaperText, "time, " + std::string(unit.name), kPaperDim, PaperAnchor::kEnd);
    return low;
  }

  void draw_block(const CardBlock& block, const PlacedBlock& at) {
    const double title = at.rows - 4.5 - kPaperLine * static_cast<double>(at.lines.size());
    words({left_, title}, kPaperTitle, block.title);
    if (at.lines.empty()) {
      words({left_ + paper_width(block.title, kPaperTitle) + 6, title}, kPaperText, block.remark, kPaperDim);
    }
    for (std::size_t i = 0; i < at.lines.size(); ++i) {
      words({left_, title + kPaperLine * static_cast<double>(i + 1)}, kPaperText, at.lines[i], kPaperDim);
    }
    numbered_ = shows_numbers(block);
    const auto every = static_cast<std::size_t>(std::ceil(8.0 / pitch_));
    for (std::size_t d = 0; d < block.rows.size(); ++d) {
      const double top = at.rows + pitch_ * static_cast<double>(d);
      fill(left_, top, block.end * scale_, row_, kPaperLane);
      draw_row(block.rows[d], top);
      if (d % every != 0) continue;
      words({left_ - 5, top + row_ / 2 + 2.5}, kPaperText, "device " + std::to_string(d), kPaperDim, PaperAnchor::kEnd);
    }
    fill(across(block.end) - 0.2, at.rows - 2, 0.7, at.bottom - at.rows + 3, kPaperInk);
    for (std::size_t i = 0; i < block.figures.size(); ++i) {
      words({right_ + 6, at.rows + 7 + kPaperLine * static_cast<double>(i)}, kPaperText, block.figures[i],
            i == 0 ? kPaperInk : kPaperDim);
    }
  }

  static bool has_number(const CardSpan& span) { return span.microbatch >= 0 && span.op <= Op::kR; }

  double number_size(const CardSpan& span) const {
    return std::min(kPaperText, span.part == PictureSpan::Part::kWhole ? row_ * 0.62 : row_ * 0.46);
  }

  /// Whether nearly all actions have room for their numbers: some without would look as if they had none.
  bool shows_numbers(const CardBlock& block) const {
    std::size_t all = 0;
    std::size_t roomy = 0;
    for (const CardRow& row : block.rows) {
      for (const CardSpan& span : row.spans) {
        if (!has_number(span) || span.end <= span.start) continue;
        const double size = number_size(span);
        const double width = paper_width(std::to_string(span.microbatch), size) + 0.8;
        ++all;
        if (size >= kLeastNumber && width <= (span.end - span.start) * scale_) ++roomy;
      }
    }
    return 10 * roomy >= 9 * all;
  }

  void draw_row(const CardRow& row, double top) {
    for (const CardGap& gap : row.gaps) {
      if ((gap.end - gap.start) * scale_ < kHatchStep) continue;  // too narrow for stripes: left as the lane
      const auto cause = static_cast<std::size_t>(gap.cause);
      causes_.insert(cause);
      canvas_.hatch({across(gap.start), -top - row_, (gap.end - gap.start) * scale_, row_}, cause);
    }
    double drawn_to = -1;
    for (const CardSpan& span : row.spans) {
      const double width = (span.end - span.start) * scale_;
      const double right = span.end * scale_;
      if (width <= 0 || (width < kPaperHair && right < drawn_to + kPaperHair)) continue;
      drawn_to = right;
      draw_span(span, top);
    }
  }

  void draw_span(const CardSpan& span, double top) {
    ops_.insert(span.op);
    shaded_ = shaded_ || span.shade > 0;
    const bool whole = span.part == PictureSpan::Part::kWhole;
    const double height = whole ? row_ : row_ / 2 - 0.2;
    const double begin = span.part == PictureSpan::Part::kLowerHalf ? top + row_ / 2 + 0.2 : top;
    const double width = (span.end - span.start) * scale_;
    const double edge = width < kLeastEdged ? 0 : std::min(0.3, width / 8);
    const std::string colour = shaded(kOpColours[static_cast<std::size_t>(span.op)], span.shade);
    fill(across(span.start) + edge, begin, width - 2 * edge, height, colour);
    if (!numbered_ || !has_number(span)) return;
    const std::string number = std::to_string(span.microbatch);
    const double size = number_size(span);
    if (paper_width(number, size) > width - 0.8) return;
    words({across((span.start + span.end) / 2), begin + height / 2 + 0.36 * size}, size, number,
          wants_light_text(colour) ? "#ffffff" : kDarkInk, PaperAnchor::kMiddle);
  }

  /// The curves, in as many lines as they need; returns where they end.
  double memory(double down) {
    if (card_.most_memory <= 0) return down;
    const double gap = 8;
    const double room = width_ - left_ - kPaperEdge;
    const std::size_t fitting = std::max<std::size_t>(1, static_cast<std::size_t>((room + gap) / (kLeastMemory + gap)));
    std::vector<const CardBlock*> known;
    for (const CardBlock& block : card_.blocks) {
      if (!block.memory.empty()) known.push_back(&block);
    }
    const std::size_t count = known.size();
    const std::size_t lines = (count + fitting - 1) / fitting;
    const std::size_t columns = (count + lines - 1) / lines;
    const double width = (room - gap * static_cast<double>(columns - 1)) / static_cast<double>(columns);
    words({left_, down += 6}, kPaperText,
          std::string("memory of the fullest device, ") + (card_.in_bytes ? "GiB" : "stashes"));
    for (std::size_t i = 0; i < count; ++i) {
      if (i % columns == 0) {
        if (i > 0) down += kMemoryHeight + kPaperLine;
        down += 4 + kPaperLine;
        scale_of_memory(down, room);
      }
      const double left = left_ + (width + gap) * static_cast<double>(i % columns);
      curve(*known[i], {left, down, width, kMemoryHeight});
    }
    return down + kMemoryHeight + 4;
  }

  double memory_unit() const { return card_.in_bytes ? 1024.0 * 1024 * 1024 : 1; }

  /// Zero and one more line of the axis.
  void scale_of_memory(double top, double room) {
    const double most = card_.most_memory / memory_unit();
    const double step = nice_step(most / 2);
    for (const double value : {0.0, std::floor(most / step * (1 + 1e-9)) * step}) {
      const double at = top + kMemoryHeight * (1 - value / most);
      fill(left_, at - 0.2, room, 0.4, kPaperGrid);
      words({left_ - 5, at + 2.5}, kPaperText, number_text(value), kPaperDim, PaperAnchor::kEnd);
    }
  }

  /// A step curve in the box, of which y is the top: its area, and a line along it.
  void curve(const CardBlock& block, const PaperBox& box) {
    const std::string name = block.title + ", device " + std::to_string(block.fullest);
    words({box.x, box.y - 3}, kPaperText,
          paper_width(name, kPaperText) <= box.width ? std::string_view(name) : std::string_view(block.title),
          kPaperDim);
    const double scale = box.width / std::max(card_.longest, 1.0);
    const auto level = [&](double amount) { return box.height * amount / card_.most_memory; };
    double before = 0;
    for (std::size_t i = 0; i < block.memory.size();) {
      const double from = block.memory[i].time * scale;
      double amount = block.memory[i].amount;
      std::size_t next = i + 1;
      while (next < block.memory.size() && block.memory[next].time * scale < from + 2 * kPaperHair) {
        amount = std::max(amount, block.memory[next++].amount);
      }
      const double to = (next < block.memory.size() ? block.memory[next].time : block.end) * scale;
      const double high = level(amount);
      const double over = next < block.memory.size() ? kPaperHair : 0;  // no seams between neighbours
      if (to > from && high > 0) fill(box.x + from, box.y + box.height - high, to - from + over, high, kMemoryArea);
      const double low = std::min(before, high);
      fill(box.x + from - 0.3, box.y + box.height - std::max(before, high), 0.6, std::max(before, high) - low,
           kMemoryLine);
      fill(box.x + from - 0.3, box.y + box.height - high - 0.3, to - from + 0.6, 0.6, kMemoryLine);
      before = high;
      i = next;
    }
    fill(box.x + block.end * scale - 0.2, box.y, 0.7, box.height, kPaperInk);
  }

  /// Draws the legend in as many lines as it needs; returns where the last one is.
  double legend(double down) {
    double x = left_;
    down += kPaperLine;
    const auto entry = [&](const std::string& text) {
      const double width = 21 + paper_width(text, kPaperText);
      if (x > left_ && x + width > width_ + 8) {
        x = left_;
        down += kPaperLine + 0.5;
      }
      words({x + 10, down}, kPaperText, text);
      x += width;
      return PaperBox{x - width, -down - 0.5, 7, 6};
    };
    for (const Op op : ops_) {
      const PaperBox box = entry(std::string(kOpTitles[static_cast<std::size_t>(op)]));
      canvas_.fill(box, kOpColours[static_cast<std::size_t>(op)]);
    }
    if (shaded_) {
      const PaperBox box = entry("lighter: a device's further stages");
      canvas_.fill(box, shaded(kOpColours[0], 1));
    }
    for (const std::size_t cause : causes_) {
      const PaperBox box = entry("idle: " + std::string(kIdleTitles[cause]));
      canvas_.hatch(box, cause);
    }
    return down;
  }

  const Card& card_;
  PaperCanvas& canvas_;
  double width_;
  double pitch_ = 0;  ///< from one row to the next
  double row_ = 0;
  double left_ = 0;   ///< left end of the time axis
  double right_ = 0;  ///< its right end
  double scale_ = 0;  ///< points a nanosecond
  std::vector<std::string> about_;
  std::vector<std::string> caption_;
  std::vector<PlacedBlock> places_;
  std::set<Op> ops_;
  std::set<std::size_t> causes_;
  bool shaded_ = false;
  bool numbered_ = false;  ///< the run that is being drawn
};

}  // namespace

double paper_width(std::string_view words, double size) {
  double width = 0;
  for (const char32_t point : code_points(words)) {
    const bool known = point >= 0x20 && point < 0x7F;
    width += known ? kLetterWidths[static_cast<std::size_t>(point) - 0x20] : 556;
  }
  return width * size / 1000;
}

PaperBox draw_on_paper(const Card& card, const PictureStyle& style, PaperCanvas& canvas) {
  return CardPicture(card, style, canvas).draw();
}

}  // namespace plumb
