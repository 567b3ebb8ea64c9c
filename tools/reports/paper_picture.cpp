#include "tools/reports/paper_picture.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tools/reports/fill_colours.hpp"
#include "tools/reports/picture.hpp"
#include "tools/reports/report_palette.hpp"
#include "tools/terminal/quantity_text.hpp"

namespace plumb {
namespace {

constexpr double kPaperUsualCm = 16;
constexpr double kPaperLeft = 44;  ///< left end of the time axis
constexpr double kPaperRight = 6;
constexpr double kPaperRow = 13;
constexpr double kPaperRowStep = 15;
constexpr double kPaperHead = 26;  ///< above the first row
constexpr double kPaperHair = 0.3;
constexpr double kPaperText = 7;
constexpr double kDigitWidth = 0.556;  ///< width of a digit of Helvetica, in units of its size
constexpr double kPaperLine = 10;      ///< from one line of legend or caption to the next

class PaperPicture {
 public:
  PaperPicture(const Timeline& timeline, const PictureStyle& style, PaperCanvas& canvas)
      : timeline_(timeline),
        canvas_(canvas),
        width_(style.width_cm.value_or(kPaperUsualCm) * kPointsPerCm),
        scale_((width_ - kPaperLeft - kPaperRight) / static_cast<double>(std::max<Ticks>(timeline.makespan, 1))),
        height_(kPaperHead + kPaperRowStep * static_cast<double>(timeline.devices.size())),
        caption_(wrapped_text(style.caption, static_cast<std::size_t>((width_ - kPaperLeft) / (0.5 * kPaperText)))) {}

  PaperBox draw() {
    head();
    for (const IdleGap& gap : idle_gaps(timeline_)) idle(gap);
    for (const PictureRow& row : picture_rows(timeline_)) {
      if (row.lane == Lane::kCompute) boxes(row);
    }
    axis();
    const double low = legend();
    for (std::size_t i = 0; i < caption_.size(); ++i) {
      text(kPaperLeft, low - kPaperLine * static_cast<double>(i + 1), kPaperText, caption_[i]);
    }
    const double lowest = low - kPaperLine * static_cast<double>(caption_.size()) - 4;
    return {0, lowest, width_, height_ - lowest};
  }

 private:
  double low(std::size_t device) const {
    return height_ - kPaperHead - kPaperRowStep * static_cast<double>(device) - kPaperRow;
  }
  std::string time(double ticks) const {
    return time_text(to_ns(static_cast<Ticks>(std::llround(ticks)), timeline_.base));
  }

  void text(double x, double y, double size, std::string_view words, std::string_view colour = kPaperInk) {
    canvas_.text({x, y}, size, words, colour);
  }

  /// Draws a box; `from` and `to` in ticks.
  void box(std::string_view colour, double from, double to, double bottom, double height) {
    canvas_.fill({kPaperLeft + from * scale_, bottom, (to - from) * scale_, height}, colour);
  }

  /// Hatched in the colour of its cause; what is narrower than a hair is left white.
  void idle(const IdleGap& gap) {
    const auto from = static_cast<double>(gap.start);
    const auto to = static_cast<double>(gap.end);
    if ((to - from) * scale_ < kPaperHair) return;
    const auto cause = static_cast<std::size_t>(gap.cause);
    causes_.insert(cause);
    canvas_.hatch({kPaperLeft + from * scale_, low(index(gap.device)), (to - from) * scale_, kPaperRow}, cause);
  }

  void head() {
    text(0, height_ - 10, 9, timeline_.schedule);
    text(0, height_ - 19, kPaperText,
         "makespan " + time(static_cast<double>(timeline_.makespan)) + ", bubble " +
             fixed_text(100 * timeline_.bubble_fraction, 1) + " %");
    const std::size_t every = std::max<std::size_t>(1, timeline_.devices.size() / 64);
    for (std::size_t d = 0; d < timeline_.devices.size(); d += every) {
      text(0, low(d) + 4, kPaperText, "device " + std::to_string(d));
    }
  }

  void boxes(const PictureRow& row) {
    each_visible(row, scale_, kPaperHair, [&](const PictureSpan& drawn, double left, double right) {
      const Action& action = timeline_.spans[drawn.span].action;
      ops_.insert(action.op);
      const bool whole = drawn.part == PictureSpan::Part::kWhole;
      const double height = whole ? kPaperRow : kPaperRow / 2;
      const double bottom = low(index(row.device)) + (drawn.part == PictureSpan::Part::kUpperHalf ? kPaperRow / 2 : 0);
      const std::string_view colour = kOpColours[static_cast<std::size_t>(action.op)];
      const double edge = std::min(0.3, (right - left) / 8) / scale_;
      box(colour, static_cast<double>(drawn.start) + edge, static_cast<double>(drawn.end) - edge, bottom, height);
      number(action, left, right, bottom, height);
    });
  }

  void number(const Action& action, double left, double right, double bottom, double height) {
    if (static_cast<std::int64_t>(action.microbatch) < 0 || action.op > Op::kR) return;
    const std::string digits = std::to_string(static_cast<std::int64_t>(action.microbatch));
    const double size = std::min(kPaperText, height - 0.5);
    const double width = kDigitWidth * size * static_cast<double>(digits.size());
    if (width > right - left - 1) return;
    text(kPaperLeft + (left + right - width) / 2, bottom + (height - 0.72 * size) / 2, size, digits,
         wants_light_text(kOpColours[static_cast<std::size_t>(action.op)]) ? "#ffffff" : kDarkInk);
  }

  void axis() {
    const double y = height_ - kPaperHead - kPaperRowStep * static_cast<double>(timeline_.devices.size()) - kPaperLine;
    const int parts = width_ < 300 ? 3 : 5;
    for (int part = 0; part <= parts; ++part) {
      const double at = static_cast<double>(timeline_.makespan) * part / parts;
      const std::string words = part == 0 ? "0" : time(at);
      const double width = kDigitWidth * kPaperText * static_cast<double>(words.size());
      text(std::clamp(kPaperLeft + at * scale_ - width / 2, kPaperLeft, width_ - width), y, kPaperText, words);
    }
  }

  /// Draws the legend in as many lines as it needs; returns where the last one is.
  double legend() {
    double x = kPaperLeft;
    double y = height_ - kPaperHead - kPaperRowStep * static_cast<double>(timeline_.devices.size()) - 3 * kPaperLine;
    const auto entry = [&](const std::string& words) {
      const double width = 20 + 0.5 * kPaperText * static_cast<double>(words.size());
      if (x > kPaperLeft && x + width > width_) {
        x = kPaperLeft;
        y -= kPaperLine;
      }
      text(x + 10, y, kPaperText, words);
      x += width;
      return std::pair(x - width, y);
    };
    for (const Op op : ops_) {
      const auto [left, low] = entry(std::string(kOpTitles[static_cast<std::size_t>(op)]));
      canvas_.fill({left, low, 7, 6}, kOpColours[static_cast<std::size_t>(op)]);
    }
    for (const std::size_t cause : causes_) {
      const auto [left, low] = entry("idle: " + std::string(kIdleTitles[cause]));
      canvas_.hatch({left, low, 7, 6}, cause);
    }
    return y;
  }

  const Timeline& timeline_;
  PaperCanvas& canvas_;
  double width_;
  double scale_;
  double height_;  ///< height of the upper edge; what is drawn goes down from there
  std::vector<std::string> caption_;
  std::set<Op> ops_;
  std::set<std::size_t> causes_;
};

}  // namespace

PaperBox draw_on_paper(const Timeline& timeline, const PictureStyle& style, PaperCanvas& canvas) {
  return PaperPicture(timeline, style, canvas).draw();
}

}  // namespace plumb
