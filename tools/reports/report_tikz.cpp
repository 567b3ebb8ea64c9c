#include "tools/reports/report_tikz.hpp"

#include <algorithm>
#include <set>
#include <string_view>

#include "schedules/document/schedule_io.hpp"
#include "tools/reports/picture.hpp"
#include "tools/reports/report_palette.hpp"
#include "tools/terminal/quantity_text.hpp"

namespace plumb {
namespace {

// Lengths in centimetres.
constexpr double kTikzUsualWidth = 16;
constexpr double kTikzRow = 0.4;
constexpr double kTikzHair = 0.02;      ///< what is narrower is merged with what stands before it
constexpr double kTikzDigitRoom = 0.2;  ///< per digit of a microbatch's number

/// `text` on the one line of a TeX comment.
std::string tikz_comment(std::string_view text) {
  std::string line = "% ";
  for (const char c : text) line += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  return line + '\n';
}

class TikzPicture {
 public:
  TikzPicture(const Timeline& timeline, const PictureStyle& style)
      : timeline_(timeline),
        width_(style.width_cm.value_or(kTikzUsualWidth)),
        scale_(width_ / static_cast<double>(std::max<Ticks>(timeline.makespan, 1))) {}

  std::string write() {
    for (const PictureRow& row : picture_rows(timeline_)) {
      if (row.lane == Lane::kCompute) boxes(row);
    }
    std::string out = tikz_comment(timeline_.schedule + ", makespan " + time_text(ns(timeline_.makespan)));
    out += "\\begin{tikzpicture}[x=1cm,y=1cm]\n";
    for (const Op op : ops_) {
      const auto i = static_cast<std::size_t>(op);
      out +=
          "\\definecolor{plumb" + std::string(kOpNames[i]) + "}{HTML}{" + std::string(kOpColours[i].substr(1)) + "}\n";
    }
    for (std::size_t d = 0; d < timeline_.devices.size(); ++d) {
      out += "\\node[left] at (0," + cm(top(d) - kTikzRow / 2) + ") {device " + std::to_string(d) + "};\n";
    }
    return out + body_ + axis() + "\\end{tikzpicture}\n";
  }

 private:
  static std::string cm(double length) { return fixed_text(length, 3); }
  static double top(std::size_t device) { return 0 - 1.2 * kTikzRow * static_cast<double>(device); }
  std::int64_t ns(Ticks ticks) const { return to_ns(ticks, timeline_.base); }

  void boxes(const PictureRow& row) {
    each_visible(row, scale_, kTikzHair, [&](const PictureSpan& drawn, double left, double right) {
      const Action& action = timeline_.spans[drawn.span].action;
      ops_.insert(action.op);
      const bool lower = drawn.part == PictureSpan::Part::kLowerHalf;
      const double height = drawn.part == PictureSpan::Part::kWhole ? kTikzRow : kTikzRow / 2;
      const double high = top(index(row.device)) - (lower ? kTikzRow / 2 : 0);
      body_ += "\\filldraw[draw=white,fill=plumb" + std::string(kOpNames[static_cast<std::size_t>(action.op)]) + "] (" +
               cm(left) + ',' + cm(high) + ") rectangle (" + cm(right) + ',' + cm(high - height) + ')';
      const auto microbatch = static_cast<std::int64_t>(action.microbatch);
      const std::string number = std::to_string(microbatch);
      if (microbatch >= 0 && action.op <= Op::kR && right - left >= kTikzDigitRoom * static_cast<double>(number.size()))
        body_ += " node[midway,font=\\tiny] {" + number + '}';
      body_ += ";\n";
    });
  }

  std::string axis() const {
    const double low = top(timeline_.devices.size());
    return "\\draw[->] (0," + cm(low) + ") -- (" + cm(width_) + ',' + cm(low) + ") node[below left] {" +
           tex_time(time_text(ns(timeline_.makespan))) + "};\n";
  }

  /// Returns a time in plain TeX: the sign of micro is not in every font.
  static std::string tex_time(std::string text) {
    if (const auto at = text.find("µ"); at != std::string::npos) {
      text.replace(at, std::string_view("µ").size(), "$\\mu$");
    }
    return text;
  }

  const Timeline& timeline_;
  double width_;
  double scale_ = 1;
  std::set<Op> ops_;
  std::string body_;
};

}  // namespace

std::string tikz_report(const Timeline& timeline, const PictureStyle& style) {
  return TikzPicture(timeline, style).write();
}

}  // namespace plumb
