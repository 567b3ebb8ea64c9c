#include "tools/reports/report_pdf.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/reports/fill_colours.hpp"
#include "tools/reports/picture.hpp"
#include "tools/reports/report_palette.hpp"
#include "tools/terminal/quantity_text.hpp"

namespace plumb {
namespace {

// Lengths in points, of which an inch has 72; y grows upwards.
constexpr double kPointsPerCm = 72 / 2.54;
constexpr double kPdfUsualCm = 16;
constexpr double kPdfLeft = 44;  ///< of the time axis
constexpr double kPdfRight = 6;
constexpr double kPdfRow = 13;
constexpr double kPdfRowStep = 15;
constexpr double kPdfHead = 26;  ///< above the first row
constexpr double kPdfHair = 0.3;
constexpr double kPdfText = 7;
constexpr double kDigitWidth = 0.556;  ///< of Helvetica, in units of its size
constexpr double kPdfLine = 10;        ///< from one line of legend or caption to the next
constexpr std::string_view kPdfLane = "#eef2f6";
constexpr std::string_view kPdfInk = "#18222d";

/// `text` as a string of a PDF: what is not ASCII becomes a question mark, but for the sign of micro.
std::string pdf_string(std::string_view text) {
  std::string quoted = "(";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (text.substr(i).starts_with("µ")) {
      quoted += "\\265";
      ++i;
    } else if (byte == '(' || byte == ')' || byte == '\\') {
      (quoted += '\\') += text[i];
    } else if (byte >= 0x20 && byte < 0x7F) {
      quoted += text[i];
    } else if ((byte & 0xC0U) != 0x80U) {
      quoted += '?';
    }
  }
  return quoted + ')';
}

std::string point(double x, double y) { return fixed_text(x, 2) + ' ' + fixed_text(y, 2); }

/// "0.16 0.36 0.69 rg": what is filled from now on has this colour.
std::string fill_colour(std::string_view colour) {
  std::string text;
  for (std::size_t c = 0; c < 3; ++c) {
    text += fixed_text(std::stoi(std::string(colour.substr(1 + 2 * c, 2)), nullptr, 16) / 255.0, 3) + ' ';
  }
  return text + "rg\n";
}

class PdfPicture {
 public:
  PdfPicture(const Timeline& timeline, const PictureStyle& style)
      : timeline_(timeline),
        width_(style.width_cm.value_or(kPdfUsualCm) * kPointsPerCm),
        scale_((width_ - kPdfLeft - kPdfRight) / static_cast<double>(std::max<Ticks>(timeline.makespan, 1))),
        height_(kPdfHead + kPdfRowStep * static_cast<double>(timeline.devices.size())),
        caption_(wrapped_text(style.caption, static_cast<std::size_t>((width_ - kPdfLeft) / (0.5 * kPdfText)))) {}

  std::string write() {
    head();
    for (const IdleGap& gap : idle_gaps(timeline_)) idle(gap);
    for (const PictureRow& row : picture_rows(timeline_)) {
      if (row.lane == Lane::kCompute) boxes(row);
    }
    axis();
    const double low = legend();
    for (std::size_t i = 0; i < caption_.size(); ++i) {
      text(kPdfLeft, low - kPdfLine * static_cast<double>(i + 1), kPdfText, caption_[i]);
    }
    return document(low - kPdfLine * static_cast<double>(caption_.size()) - 4);
  }

 private:
  double low(std::size_t device) const {
    return height_ - kPdfHead - kPdfRowStep * static_cast<double>(device) - kPdfRow;
  }
  std::string time(double ticks) const {
    return time_text(to_ns(static_cast<Ticks>(std::llround(ticks)), timeline_.base));
  }

  void text(double x, double y, double size, std::string_view words, std::string_view colour = kPdfInk) {
    body_ += fill_colour(colour) + "BT /F1 " + fixed_text(size, 1) + " Tf " + point(x, y) + " Td " + pdf_string(words) +
             " Tj ET\n";
  }

  /// From and to in ticks.
  void box(std::string_view colour, double from, double to, double bottom, double height) {
    body_ += fill_colour(colour) + point(kPdfLeft + from * scale_, bottom) + ' ' + point((to - from) * scale_, height) +
             " re f\n";
  }

  /// Hatched in the colour of its cause; what is narrower than a hair is left white.
  void idle(const IdleGap& gap) {
    const auto from = static_cast<double>(gap.start);
    const auto to = static_cast<double>(gap.end);
    if ((to - from) * scale_ < kPdfHair) return;
    const auto cause = static_cast<std::size_t>(gap.cause);
    causes_.insert(cause);
    hatched(cause, kPdfLeft + from * scale_, low(index(gap.device)), (to - from) * scale_, kPdfRow);
  }

  void hatched(std::size_t cause, double x, double y, double width, double height) {
    body_ += "/Pattern cs /I" + std::to_string(cause) + " scn " + point(x, y) + ' ' + point(width, height) + " re f\n";
  }

  void head() {
    text(0, height_ - 10, 9, timeline_.schedule);
    text(0, height_ - 19, kPdfText,
         "makespan " + time(static_cast<double>(timeline_.makespan)) + ", bubble " +
             fixed_text(100 * timeline_.bubble_fraction, 1) + " %");
    const std::size_t every = std::max<std::size_t>(1, timeline_.devices.size() / 64);
    for (std::size_t d = 0; d < timeline_.devices.size(); d += every) {
      text(0, low(d) + 4, kPdfText, "device " + std::to_string(d));
    }
  }

  void boxes(const PictureRow& row) {
    double drawn_to = -1;
    for (const PictureSpan& drawn : row.spans) {
      const Action& action = timeline_.spans[drawn.span].action;
      const double left = static_cast<double>(drawn.start) * scale_;
      const double right = static_cast<double>(drawn.end) * scale_;
      if (right <= left || (right - left < kPdfHair && right < drawn_to + kPdfHair)) continue;
      drawn_to = right;
      ops_.insert(action.op);
      const bool whole = drawn.part == PictureSpan::Part::kWhole;
      const double height = whole ? kPdfRow : kPdfRow / 2;
      const double bottom = low(index(row.device)) + (drawn.part == PictureSpan::Part::kUpperHalf ? kPdfRow / 2 : 0);
      const std::string_view colour = kOpColours[static_cast<std::size_t>(action.op)];
      const double edge = std::min(0.3, (right - left) / 8) / scale_;
      box(colour, static_cast<double>(drawn.start) + edge, static_cast<double>(drawn.end) - edge, bottom, height);
      number(action, left, right, bottom, height);
    }
  }

  void number(const Action& action, double left, double right, double bottom, double height) {
    if (static_cast<std::int64_t>(action.microbatch) < 0 || action.op > Op::kR) return;
    const std::string digits = std::to_string(static_cast<std::int64_t>(action.microbatch));
    const double size = std::min(kPdfText, height - 0.5);
    const double width = kDigitWidth * size * static_cast<double>(digits.size());
    if (width > right - left - 1) return;
    text(kPdfLeft + (left + right - width) / 2, bottom + (height - 0.72 * size) / 2, size, digits,
         wants_light_text(kOpColours[static_cast<std::size_t>(action.op)]) ? "#ffffff" : kDarkInk);
  }

  void axis() {
    const double y = height_ - kPdfHead - kPdfRowStep * static_cast<double>(timeline_.devices.size()) - kPdfLine;
    const int parts = width_ < 300 ? 3 : 5;
    for (int part = 0; part <= parts; ++part) {
      const double at = static_cast<double>(timeline_.makespan) * part / parts;
      const std::string words = part == 0 ? "0" : time(at);
      const double width = kDigitWidth * kPdfText * static_cast<double>(words.size());
      text(std::clamp(kPdfLeft + at * scale_ - width / 2, kPdfLeft, width_ - width), y, kPdfText, words);
    }
  }

  /// In as many lines as it needs; returns where the last one stands.
  double legend() {
    double x = kPdfLeft;
    double y = height_ - kPdfHead - kPdfRowStep * static_cast<double>(timeline_.devices.size()) - 3 * kPdfLine;
    const auto entry = [&](const std::string& words) {
      const double width = 20 + 0.5 * kPdfText * static_cast<double>(words.size());
      if (x > kPdfLeft && x + width > width_) {
        x = kPdfLeft;
        y -= kPdfLine;
      }
      text(x + 10, y, kPdfText, words);
      x += width;
      return std::pair(x - width, y);
    };
    for (const Op op : ops_) {
      const auto [left, low] = entry(std::string(kOpTitles[static_cast<std::size_t>(op)]));
      body_ += fill_colour(kOpColours[static_cast<std::size_t>(op)]) + point(left, low) + " 7 6 re f\n";
    }
    for (const std::size_t cause : causes_) {
      const auto [left, low] = entry("idle: " + std::string(kIdleTitles[cause]));
      hatched(cause, left, low, 7, 6);
    }
    return y;
  }

  /// A tile with a stripe, turned by 45 degrees.
  static std::string pattern(std::size_t cause) {
    const std::string tile =
        fill_colour(kPdfLane) + "0 0 3.5 3.5 re f\n" + fill_colour(kIdleColours[cause]) + "0 0 1 3.5 re f\n";
    return "<< /Type /Pattern /PatternType 1 /PaintType 1 /TilingType 1 /BBox [0 0 3.5 3.5] /XStep 3.5 /YStep 3.5 "
           "/Resources << >> /Matrix [0.707 0.707 -0.707 0.707 0 0] /Length " +
           std::to_string(tile.size()) + " >>\nstream\n" + tile + "endstream";
  }

  /// `low`: the lower edge of what was drawn.
  std::string document(double low) const {
    constexpr std::size_t kFirstPattern = 7;
    std::string patterns;
    std::vector<std::string> tiles;
    for (const std::size_t cause : causes_) {
      patterns += "/I" + std::to_string(cause) + ' ' + std::to_string(kFirstPattern + tiles.size()) + " 0 R ";
      tiles.push_back(pattern(cause));
    }
    std::vector<std::string> objects{
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [" + point(0, low) + ' ' + point(width_, height_) +
            "] /Resources << /Font << /F1 4 0 R >> /Pattern << " + patterns + ">> >> /Contents 5 0 R >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        "<< /Length " + std::to_string(body_.size()) + " >>\nstream\n" + body_ + "endstream",
        "<< /Title " + pdf_string(timeline_.schedule) + " /Producer (Plumbline) >>"};
    objects.insert(objects.end(), tiles.begin(), tiles.end());
    std::string file = "%PDF-1.4\n";
    std::string table = "xref\n0 " + std::to_string(objects.size() + 1) + "\n0000000000 65535 f \n";
    for (std::size_t i = 0; i < objects.size(); ++i) {
      const std::string offset = std::to_string(file.size());
      table += std::string(10 - offset.size(), '0') + offset + " 00000 n \n";
      file += std::to_string(i + 1) + " 0 obj\n" + objects[i] + "\nendobj\n";
    }
    const std::string begin = std::to_string(file.size());
    return file + table + "trailer\n<< /Size " + std::to_string(objects.size() + 1) +
           " /Root 1 0 R /Info 6 0 R >>\nstartxref\n" + begin + "\n%%EOF\n";
  }

  const Timeline& timeline_;
  double width_;
  double scale_;
  double height_;  ///< of the upper edge; what is drawn goes down from there
  std::vector<std::string> caption_;
  std::set<Op> ops_;
  std::set<std::size_t> causes_;
  std::string body_;
};

}  // namespace

std::string pdf_report(const Timeline& timeline, const PictureStyle& style) {
  return PdfPicture(timeline, style).write();
}

}  // namespace plumb
