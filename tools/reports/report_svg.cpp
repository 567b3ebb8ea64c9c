#include "tools/reports/report_svg.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schedules/document/schedule_io.hpp"
#include "tools/reports/fill_colours.hpp"
#include "tools/reports/paper_picture.hpp"
#include "tools/reports/picture.hpp"
#include "tools/reports/report_palette.hpp"
#include "tools/reports/svg_text.hpp"
#include "tools/terminal/quantity_text.hpp"

namespace plumb {
namespace {

constexpr double kUsualWidth = 1280;
constexpr double kUnitsPerCm = 50;    ///< units of a picture with a width: its smallest text then has 7 points
constexpr double kNarrowWidth = 900;  ///< below it figures stand in a line of text
constexpr double kGapBetween = 0.6;   ///< gap of neighbouring actions
constexpr double kCaptionSize = 13.5;
constexpr double kChartLeft = 84;  ///< left end of the time axis
constexpr double kChartRight = 28;
constexpr double kChartTop = 96;  ///< top of the first row, under one line of subtitle
constexpr double kSubtitleSize = 14;
constexpr double kSubtitleLine = 18;              ///< from one line to the next
constexpr double kMostSubtitle = 100;             ///< characters of a line: right of it are figures
constexpr double kMergeBelow = 0.5;               ///< pixels
constexpr double kSmallestNumber = 8;             ///< pixels
constexpr std::size_t kSpansWithTooltips = 4000;  ///< more of them are drawn as paths without tooltips

/// Returns at most `length` code points, with an ellipsis when something was cut.
std::string shortened(std::string_view text, std::size_t length) {
  std::size_t points = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0U) == 0x80U) continue;
    if (++points > length) return std::string(text.substr(0, i)) + "…";
  }
  return std::string(text);
}

class SvgPicture {
 public:
  SvgPicture(const Timeline& timeline, const PictureStyle& style)
      : timeline_(timeline),
        style_(style),
        width_(style.width_cm ? *style.width_cm * kUnitsPerCm : kUsualWidth),
        rows_(picture_rows(timeline)),
        subtitle_(subtitle()),
        top_(kChartTop + kSubtitleLine * static_cast<double>(subtitle_.size() - 1)) {
    for (const Span& span : timeline.spans) {
      if (span.lane == Lane::kCompute) holders_[span.device].insert({span.action.replica, span.action.stage});
      if (span.lane != Lane::kCompute) strips_ = true;
    }
    const double devices = static_cast<double>(std::max<std::size_t>(timeline.devices.size(), 1));
    row_height_ = std::clamp(560 / devices, 9.0, 40.0);
    strip_height_ = strips_ ? std::max(2.0, std::round(row_height_ * 0.22)) : 0;
    pitch_ = row_height_ + (strips_ ? strip_height_ + 1 : 0) + std::max(2.0, std::round(row_height_ * 0.2));
    bottom_ = top_ + pitch_ * devices;
    scale_ = (width_ - kChartLeft - kChartRight) / static_cast<double>(std::max<Ticks>(timeline.makespan, 1));
    number_size_ = number_size();
  }

  std::string write() {
    axis();
    idle();
    for (const PictureRow& row : rows_) spans(row);
    device_names();
    const double height = caption(legend(bottom_ + 58));
    title();
    const std::string size = style_.width_cm ? " width=\"" + px(*style_.width_cm) + "cm\"" : "";
    std::string out = R"(<svg xmlns="http://www.w3.org/2000/svg")" + size + R"( viewBox="0 0 )" + px(width_) + " " +
                      px(height) + R"(" role="img" aria-label=")" + xml_escaped(summary()) + "\">\n<title>" +
                      xml_escaped(summary()) + "</title>\n";
    out += kSvgStyle;
    out += patterns() + R"(<rect class="bg" width=")" + px(width_) + R"(" height=")" + px(height) + "\" rx=\"10\"/>\n";
    return out + body_ + "</svg>\n";
  }

 private:
  double x(Ticks time) const { return kChartLeft + static_cast<double>(time) * scale_; }
  double y(DeviceId device) const { return top_ + pitch_ * static_cast<double>(index(device)); }
  std::int64_t ns(Ticks ticks) const { return to_ns(ticks, timeline_.base); }

  std::string_view kind() const { return timeline_.kind == Timeline::Kind::kSimulated ? "simulated" : "measured"; }

  std::string summary() const {
    return timeline_.schedule + " on " + std::to_string(timeline_.devices.size()) + " devices, " +
           std::to_string(timeline_.num_microbatches) + " microbatches, " + std::string(kind()) + ": makespan " +
           time_text(ns(timeline_.makespan)) + ", bubble " + percent_text(timeline_.bubble_fraction);
  }

  /// Returns what was run on what, in as many lines as it needs. A word that no line can hold is cut.
  std::vector<std::string> subtitle() const {
    std::string line = std::to_string(timeline_.devices.size()) + " devices · " +
                       std::to_string(timeline_.num_microbatches) + " microbatches";
    if (timeline_.updates > 1) line += " · " + std::to_string(timeline_.updates) + " updates";
    line += " · " + std::string(kind());
    if (!timeline_.machine.empty()) line += " · " + timeline_.machine;
    if (width_ < kNarrowWidth) {
      line = "makespan " + time_text(ns(timeline_.makespan)) + " · bubble " + percent_text(timeline_.bubble_fraction) +
             " · " + line;
    }
    const auto letters =
        static_cast<std::size_t>(std::clamp((width_ - kChartLeft - kChartRight) / 8, 10.0, kMostSubtitle));
    std::vector<std::string> lines = wrapped_text(line, letters);
    for (std::string& each : lines) each = shortened(each, letters);
    return lines;
  }

  void title() {
    body_ += svg_text(kChartLeft, 42, 26, R"(class="ink" font-weight="700")", timeline_.schedule);
    double top = 66;
    for (const std::string& line : subtitle_) {
      body_ += svg_text(kChartLeft, top, kSubtitleSize, R"(class="dim")", line);
      top += kSubtitleLine;
    }
    if (width_ < kNarrowWidth) return;
    figure(width_ - kChartRight, "makespan", time_text(ns(timeline_.makespan)));
    figure(width_ - kChartRight - 150, "bubble", percent_text(timeline_.bubble_fraction));
    figure(width_ - kChartRight - 280, "utilization", percent_text(timeline_.utilization));
    Ticks busy = 0;
    Ticks slowed = 0;
    for (const DeviceSummary& device : timeline_.devices) busy += device.busy, slowed += device.slowed;
    if (slowed == 0) return;
    const double lost = static_cast<double>(slowed) / static_cast<double>(busy);
    figure(width_ - kChartRight - 410, "slowdown by others", percent_text(lost));
  }

  void figure(double right, std::string_view name, std::string_view value) {
    body_ += svg_text(right, 42, 22, R"(class="ink" font-weight="600" text-anchor="end")", value);
    body_ += svg_text(right, 62, 12.5, R"(class="dim" text-anchor="end")", name);
  }

  void axis() {
    for (std::size_t d = 0; d < timeline_.devices.size(); ++d) {
      body_ += svg_rect(kChartLeft, y(DeviceId(static_cast<std::int32_t>(d))), width_ - kChartLeft - kChartRight,
                        row_height_, R"(class="lane")") +
               "\n";
    }
    const TimeUnit unit = time_unit(ns(timeline_.makespan));
    const double ticks_per_unit = unit.ns * static_cast<double>(timeline_.base.ticks_per_ns);
    const double length = static_cast<double>(timeline_.makespan) / ticks_per_unit;
    const double step = nice_step(std::max(length, 1e-9) / std::clamp(width_ / 100, 4.0, 10.0));
    for (int k = 0; k * step <= length * (1 + 1e-9); ++k) {
      const double at = kChartLeft + k * step * ticks_per_unit * scale_;
      body_ += "<path class=\"grid\" d=\"M" + px(at) + " " + px(top_ - 6) + "V" + px(bottom_ + 4) + "\"/>\n";
      body_ += svg_text(at, bottom_ + 20, 12.5, R"(class="dim" text-anchor="middle")", number_text(k * step));
    }
    body_ += "<path class=\"axis\" d=\"M" + px(kChartLeft) + " " + px(bottom_ + 4) + "H" + px(width_ - kChartRight) +
             "\"/>\n";
    body_ += svg_text(kChartLeft - 12, bottom_ + 20, 12.5, R"(class="dim" text-anchor="end")",
                      "time, " + std::string(unit.name));
  }

  void device_names() {
    const std::size_t every = row_height_ < 11 ? 4 : 1;
    for (std::size_t d = 0; d < timeline_.devices.size(); d += every) {
      const double size = std::clamp(row_height_ * 0.6, 10.0, 13.5);
      const double middle = y(DeviceId(static_cast<std::int32_t>(d))) + row_height_ / 2 + size * 0.35;
      body_ +=
          svg_text(kChartLeft - 12, middle, size, R"(class="dim" text-anchor="end")", "device " + std::to_string(d));
    }
  }

  void idle() {
    if (timeline_.spans.empty()) return;
    for (const IdleGap& gap : idle_gaps(timeline_)) {
      const double width = static_cast<double>(gap.end - gap.start) * scale_;
      const auto cause = static_cast<std::size_t>(gap.cause);
      if (width < kMergeBelow) continue;
      idle_seen_.insert(cause);
      body_ += svg_rect(x(gap.start), y(gap.device), width, row_height_,
                        "fill=\"url(#idle" + std::to_string(cause) + ")\"") +
               "\n";
    }
  }

  std::string patterns() const {
    std::string result = "<defs>";
    for (const std::size_t cause : idle_seen_) {
      const std::string colour(kIdleColours[cause]);
      result += "<pattern id=\"idle" + std::to_string(cause) +
                R"svg(" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">)svg" +
                svg_rect(0, 0, 7, 7, R"(class="lane")") +
                svg_rect(0, 0, 1.7, 7, "fill=\"" + colour + "\" opacity=\"0.75\"") + "</pattern>";
    }
    return result + "</defs>\n";
  }

  /// Top and height of a span's box.
  std::pair<double, double> box(const PictureRow& row, const PictureSpan& drawn) const {
    if (row.lane != Lane::kCompute) return {y(row.device) + row_height_ + 1, strip_height_};
    const double half = row_height_ / 2;
    switch (drawn.part) {
      case PictureSpan::Part::kWhole:
        return {y(row.device), row_height_};
      case PictureSpan::Part::kUpperHalf:
        return {y(row.device), half - 0.5};
      case PictureSpan::Part::kLowerHalf:
        return {y(row.device) + half + 0.5, half - 0.5};
    }
    return {y(row.device), row_height_};
  }

  std::string colour(const PictureRow& row, const Span& span) {
    const std::string_view base = kOpColours[static_cast<std::size_t>(span.action.op)];
    if (row.lane != Lane::kCompute || span.action.op > Op::kW) return std::string(base);
    const auto& held = holders_[row.device];
    const auto level = std::distance(held.begin(), held.find({span.action.replica, span.action.stage}));
    shades_seen_ = shades_seen_ || level > 0;
    return shaded(base, static_cast<std::size_t>(level));
  }

  /// Spans as single boxes with tooltips while they are few; beyond that, one path per colour and row.
  void spans(const PictureRow& row) {
    const bool single = timeline_.spans.size() <= kSpansWithTooltips;
    std::map<std::string, std::string> paths;
    each_visible(row, scale_, kMergeBelow, [&](const PictureSpan& drawn, double, double) {
      const Span& span = timeline_.spans[drawn.span];
      const double left = x(drawn.start);
      const double width = static_cast<double>(drawn.end - drawn.start) * scale_;
      const std::string fill = colour(row, span);
      const auto [top, height] = box(row, drawn);
      ops_seen_.insert(span.action.op);
      const double inset = width > 4 ? kGapBetween : 0;
      const double visible = std::max(width - inset, kMergeBelow);
      if (single) {
        body_ += "<g><title>" + xml_escaped(tooltip(span)) + "</title>" +
                 svg_rect(left, top, visible, height, "fill=\"" + fill + "\"" + (width > 8 ? " rx=\"2\"" : "")) +
                 "</g>\n";
      } else {
        paths[fill] += "M" + px(left) + " " + px(top) + "h" + px(visible) + "v" + px(height) + "h" + px(-visible) + "z";
      }
      if (row.lane == Lane::kCompute) number(span, {left, visible}, {top, height}, fill);
    });
    for (const auto& [fill, path] : paths) body_ += "<path fill=\"" + fill + "\" d=\"" + path + "\"/>\n";
  }

  std::string tooltip(const Span& span) const {
    std::string tip = to_string(span.action) + ": " + std::string(kOpTitles[static_cast<std::size_t>(span.action.op)]) +
                      ", " + time_text(ns(span.start)) + " to " + time_text(ns(span.end));
    if (span.idle_before > 0) {
      tip += "; idle " + time_text(ns(span.idle_before)) +
             " before it: " + std::string(kIdleTitles[static_cast<std::size_t>(span.waited_for)]);
    }
    return tip;
  }

  void number(const Span& span, std::pair<double, double> across, std::pair<double, double> down,
              std::string_view fill) {
    const auto microbatch = static_cast<std::int32_t>(span.action.microbatch);
    if (microbatch < 0 || span.action.op > Op::kR) return;
    const double size = std::min(number_size_, down.second * 0.8);
    if (size < kSmallestNumber || across.second < size * number_widths()) return;
    labels_ += svg_text(across.first + across.second / 2, down.first + down.second / 2 + size * 0.35, size,
                        std::string("class=\"") + (wants_light_text(fill) ? "on-dark" : "on-light") +
                            "\" text-anchor=\"middle\" pointer-events=\"none\"",
                        std::to_string(microbatch));
  }

  /// Returns the room that the longest microbatch number takes, in font sizes.
  double number_widths() const {
    return 0.62 *
               static_cast<double>(std::to_string(std::max<std::int64_t>(timeline_.num_microbatches - 1, 0)).size()) +
           0.4;
  }

  /// One size for all numbers: what the median span can hold.
  double number_size() const {
    std::vector<Ticks> lengths;
    for (const Span& span : timeline_.spans) {
      if (span.lane == Lane::kCompute && span.action.op <= Op::kR) lengths.push_back(span.end - span.start);
    }
    if (lengths.empty()) return 0;
    const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
    std::nth_element(lengths.begin(), middle, lengths.end());
    const double fitting = (static_cast<double>(*middle) * scale_ - kGapBetween) / number_widths();
    return std::clamp(std::min(fitting, row_height_ * 0.42), kSmallestNumber, 14.0);
  }

  /// Below `top`; returns the height of the whole picture.
  double caption(double top) {
    const auto letters = static_cast<std::size_t>((width_ - kChartLeft - kChartRight) / (kCaptionSize * 0.52));
    for (const std::string& line : wrapped_text(style_.caption, letters)) {
      body_ += svg_text(kChartLeft, top + 4, kCaptionSize, R"(class="ink")", line);
      top += kCaptionSize * 1.4;
    }
    return top;
  }

  /// Ops, then idle causes, wrapped; returns the height so far.
  double legend(double top) {
    body_ += labels_;
    double left = kChartLeft;
    const auto entry = [&](std::string_view fill, std::string_view name) {
      const double width = 40 + 6.5 * static_cast<double>(name.size());
      if (left + width > width_ - kChartRight + 20) {
        left = kChartLeft;
        top += 22;
      }
      body_ += svg_rect(left, top - 10, 16, 12, "rx=\"2\" fill=\"" + std::string(fill) + "\"") + "\n";
      body_ += svg_text(left + 22, top, 12.5, R"(class="dim")", name);
      left += width;
    };
    for (const Op op : ops_seen_) {
      entry(kOpColours[static_cast<std::size_t>(op)], kOpTitles[static_cast<std::size_t>(op)]);
    }
    if (shades_seen_) entry(shaded(kOpColours[0], 1), "lighter: a device's further stages");
    for (const std::size_t cause : idle_seen_) {
      entry("url(#idle" + std::to_string(cause) + ")", "idle: " + std::string(kIdleTitles[cause]));
    }
    return top + 22;
  }

  const Timeline& timeline_;
  const PictureStyle& style_;
  double width_;
  std::vector<PictureRow> rows_;
  std::vector<std::string> subtitle_;
  double top_;  ///< top of the first row
  std::map<DeviceId, std::set<std::pair<ReplicaId, StageId>>> holders_;
  std::set<Op> ops_seen_;
  std::set<std::size_t> idle_seen_;
  std::string body_;
  std::string labels_;
  bool strips_ = false;
  bool shades_seen_ = false;
  double row_height_ = 0;
  double strip_height_ = 0;
  double pitch_ = 0;
  double bottom_ = 0;
  double scale_ = 1;
  double number_size_ = 0;
};

/// Colours that follow the theme, and how they are said.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kThemeColours{
    {{kPaperLane, R"(class="lane")"},
     {kPaperInk, R"(class="ink")"},
     {kPaperDim, R"(class="dim")"},
     {kPaperGrid, R"(class="dim" opacity="0.3")"},
     {"#ffffff", R"(class="on-dark")"},
     {kDarkInk, R"(class="on-light")"}}};

std::string said_colour(std::string_view colour) {
  for (const auto& [one, said] : kThemeColours) {
    if (one == colour) return std::string(said);
  }
  return "fill=\"" + std::string(colour) + "\"";
}

/// Longer texts are made as wide as in Helvetica, whatever fonts a reader has, so that none runs into another.
constexpr std::size_t kShortWord = 3;

class SvgCanvas final : public PaperCanvas {
 public:
  void fill(const PaperBox& box, std::string_view colour) override { body_ += rect(box, said_colour(colour)); }

  void hatch(const PaperBox& box, std::size_t cause) override {
    causes_.insert(cause);
    body_ += rect(box, "fill=\"url(#idle" + std::to_string(cause) + ")\"");
  }

  void text(const PaperText& text) override {
    static constexpr std::array<std::string_view, 3> kAnchors{"", R"( text-anchor="middle")", R"( text-anchor="end")"};
    std::string more = said_colour(text.colour) + std::string(kAnchors[static_cast<std::size_t>(text.anchor)]);
    if (text.words.size() > kShortWord) {
      more += " textLength=\"" + px(paper_width(text.words, text.size)) + R"(" lengthAdjust="spacingAndGlyphs")";
    }
    body_ += svg_text(text.at.x, -text.at.y, text.size, more, text.words);
  }

  std::string patterns() const {
    std::string result = "<defs>";
    for (const std::size_t cause : causes_) {
      result += "<pattern id=\"idle" + std::to_string(cause) +
                R"svg(" width="3.5" height="3.5" patternUnits="userSpaceOnUse" patternTransform="rotate(-45)">)svg" +
                svg_rect(0, 0, kHatchStep, kHatchStep, R"(class="lane")") +
                svg_rect(0, 0, kHatchStripe, kHatchStep, "fill=\"" + std::string(kIdleColours[cause]) + "\"") +
                "</pattern>";
    }
    return result + "</defs>\n";
  }

  const std::string& body() const { return body_; }

 private:
  static std::string rect(const PaperBox& box, std::string_view more) {
    return svg_rect(box.x, -box.y - box.height, box.width, box.height, more) + "\n";
  }

  std::set<std::size_t> causes_;
  std::string body_;
};

/// "zb-v: 25.5 ms, 5.9 % idle, 4 stashes; zb-h1: ..."
std::string spoken(const Card& card) {
  std::string text;
  for (const CardBlock& block : card.blocks) {
    text += (text.empty() ? "" : "; ") + block.title;
    for (std::size_t i = 0; i < block.figures.size(); ++i) text += (i == 0 ? ": " : ", ") + block.figures[i];
  }
  return text;
}

}  // namespace

std::string svg_report(const Timeline& timeline, const PictureStyle& style) {
  return SvgPicture(timeline, style).write();
}

std::string svg_picture(const Card& card, const PictureStyle& style) {
  SvgCanvas canvas;
  const PaperBox covered = draw_on_paper(card, style, canvas);
  const std::string size = style.width_cm ? " width=\"" + px(*style.width_cm) + "cm\"" : "";
  const std::string name = xml_escaped(spoken(card));
  return R"(<svg xmlns="http://www.w3.org/2000/svg")" + size + R"( viewBox="0 0 )" + px(covered.width) + " " +
         px(covered.height) + R"(" role="img" aria-label=")" + name + "\">\n<title>" + name + "</title>\n" +
         std::string(kSvgStyle) + canvas.patterns() + R"(<rect class="bg" width=")" + px(covered.width) +
         R"(" height=")" + px(covered.height) + "\"/>\n" + canvas.body() + "</svg>\n";
}

}  // namespace plumb
