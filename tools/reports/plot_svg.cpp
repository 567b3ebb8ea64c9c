#include "tools/reports/plot_svg.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "models/ground/error.hpp"
#include "tools/reports/report_palette.hpp"
#include "tools/reports/svg_text.hpp"
#include "tools/terminal/quantity_text.hpp"

namespace plumb {
namespace {

constexpr double kWidth = 960;
constexpr double kLeft = 88;
constexpr double kRight = 32;
constexpr double kTop = 92;
constexpr double kPlotHeight = 400;
constexpr double kBottom = kTop + kPlotHeight;
constexpr double kLetter = 7.2;  ///< width of a character of the legend

/// A scale from values to pixels.
struct Scale {
  double least = std::numeric_limits<double>::max();  ///< logarithms on a logarithmic axis
  double most = std::numeric_limits<double>::lowest();
  double from = 0;  ///< pixels
  double to = 0;
  bool logarithmic = false;

  double place(double value) const { return logarithmic ? std::log10(value) : value; }
  bool shows(double value) const { return std::isfinite(value) && (!logarithmic || value > 0); }
  double at(double value) const { return from + (place(value) - least) / (most - least) * (to - from); }

  void include(double value) {
    if (!shows(value)) return;
    least = std::min(least, place(value));
    most = std::max(most, place(value));
  }

  /// Room around what was included; a linear axis that begins near 0 begins at 0.
  void finish(std::string_view title, bool with_margin) {
    if (least > most) throw Error("plot: no value on the axis '" + std::string(title) + "', expected at least one");
    if (!logarithmic && least > 0 && least < 0.4 * most) least = 0;
    if (most - least < 1e-12) {
      most += logarithmic ? 0.5 : std::max(0.5, std::abs(most) * 0.1);
      least -= logarithmic ? 0.5 : (least == 0 ? 0 : std::max(0.5, std::abs(least) * 0.1));
    }
    const double margin = with_margin ? 0.04 * (most - least) : 0;
    most += margin;
    if (logarithmic || least != 0) least -= margin;
  }

  /// Returns the values that get a line across the plot.
  std::vector<double> ticks() const {
    std::vector<double> values;
    if (!logarithmic) {
      const double step = nice_step((most - least) / 8);
      for (double value = std::ceil(least / step - 1e-9) * step; value <= most + 1e-9 * step; value += step) {
        values.push_back(std::abs(value) < 1e-9 * step ? 0 : value);
      }
      return values;
    }
    const double decades = most - least;
    for (double power = std::floor(least); power <= most; ++power) {
      for (const double factor : {1.0, 2.0, 5.0}) {
        if (factor > 1 && decades > 3.5) continue;
        const double value = factor * std::pow(10, power);
        if (place(value) >= least - 1e-9 && place(value) <= most + 1e-9) values.push_back(value);
      }
    }
    return values;
  }
};

/// `1000`, `0.05`, and powers of ten where that would be long.
std::string tick_text(double value) {
  if (value != 0 && (std::abs(value) >= 1e6 || std::abs(value) < 1e-4)) {
    const double power = std::floor(std::log10(std::abs(value)) + 1e-9);
    return number_text(value / std::pow(10, power), 3) + "e" + std::to_string(static_cast<int>(power));
  }
  return number_text(value);
}

class PlotPicture {
 public:
  explicit PlotPicture(const Plot& plot) : plot_(plot) {
    x_.logarithmic = plot.x.logarithmic;
    y_.logarithmic = plot.y.logarithmic;
    for (const PlotSeries& series : plot.series) {
      for (const double value : series.x) x_.include(value);
      for (const auto* values : {&series.y, &series.low, &series.high}) {
        for (const double value : *values) y_.include(value);
      }
    }
    for (const PlotMark& mark : plot.marks) {
      x_.include(mark.x);
      y_.include(mark.y);
    }
    x_.finish(plot.x.title, false);
    y_.finish(plot.y.title, true);
    x_.from = kLeft;
    x_.to = kWidth - kRight;
    y_.from = kBottom;
    y_.to = kTop;
  }

  std::string write() {
    axes();
    for (const PlotSeries& series : plot_.series) area(series);
    for (const PlotSeries& series : plot_.series) line(series);
    marks();
    const double height = legend(kBottom + 62) + 22;
    body_ += svg_text(kLeft, 38, 21, R"(class="ink" font-weight="700")", plot_.title);
    body_ += svg_text(kLeft, 62, note_size(), R"(class="dim")", plot_.note);
    std::string out = R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 )" + px(kWidth) + " " + px(height) +
                      R"(" role="img" aria-label=")" + xml_escaped(plot_.title) + "\">\n<title>" +
                      xml_escaped(plot_.title) + "</title>\n";
    out += kSvgStyle;
    out += R"(<rect class="bg" width=")" + px(kWidth) + R"(" height=")" + px(height) + "\" rx=\"10\"/>\n";
    return out + body_ + "</svg>\n";
  }

 private:
  /// Returns the size of the note's letters: smaller where it would run out of the picture.
  double note_size() const {
    constexpr double kUsual = 13;
    constexpr double kNoteLetterWidth = 0.5;  // of the size, on average
    const double letters = static_cast<double>(std::max<std::size_t>(1, plot_.note.size()));
    return std::min(kUsual, (kWidth - kLeft - kRight / 2) / (kNoteLetterWidth * letters));
  }

  static std::string colour(const PlotSeries& series) {
    return std::string(kPlotColours[series.colour % kPlotColours.size()]);
  }

  void axes() {
    for (const double value : y_.ticks()) {
      body_ += "<path class=\"grid\" d=\"M" + px(kLeft) + " " + px(y_.at(value)) + "H" + px(kWidth - kRight) + "\"/>\n";
      body_ += svg_text(kLeft - 10, y_.at(value) + 4, 12.5, R"(class="dim" text-anchor="end")", tick_text(value));
    }
    for (const double value : x_.ticks()) {
      body_ += "<path class=\"grid\" d=\"M" + px(x_.at(value)) + " " + px(kTop) + "V" + px(kBottom) + "\"/>\n";
      body_ += svg_text(x_.at(value), kBottom + 20, 12.5, R"(class="dim" text-anchor="middle")", tick_text(value));
    }
    body_ += "<path class=\"axis\" fill=\"none\" d=\"M" + px(kLeft) + " " + px(kTop) + "V" + px(kBottom) + "H" +
             px(kWidth - kRight) + "\"/>\n";
    body_ +=
        svg_text((kLeft + kWidth - kRight) / 2, kBottom + 40, 13, R"(class="dim" text-anchor="middle")", plot_.x.title);
    body_ += svg_text(
        0, 0, 13,
        "class=\"dim\" text-anchor=\"middle\" transform=\"translate(22 " + px((kTop + kBottom) / 2) + ") rotate(-90)\"",
        plot_.y.title);
  }

  /// Returns the places of `values` by `x`; values that an axis cannot show end a run.
  std::vector<std::string> runs(const std::vector<double>& x, const std::vector<double>& values) const {
    std::vector<std::string> paths;
    bool open = false;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (!x_.shows(x[i]) || !y_.shows(values[i])) {
        open = false;
        continue;
      }
      if (!open) paths.emplace_back();
      paths.back() += (open ? "L" : "M") + px(x_.at(x[i])) + " " + px(y_.at(values[i]));
      open = true;
    }
    return paths;
  }

  void area(const PlotSeries& series) {
    const auto fill = [&](const std::vector<double>& high, const std::vector<double>& low, const char* opacity) {
      std::vector<double> x(series.x.rbegin(), series.x.rend());
      const std::vector<double> reversed(low.rbegin(), low.rend());
      std::string path;
      for (const std::string& part : runs(series.x, high)) path += part;
      for (std::string part : runs(x, reversed)) {
        part[0] = 'L';
        path += part;
      }
      body_ += "<path fill=\"" + colour(series) + "\" opacity=\"" + opacity + "\" d=\"" + path + "Z\"/>\n";
    };
    if (!series.low.empty()) fill(series.high, series.low, "0.16");
    if (series.region) {
      const double floor = y_.logarithmic ? std::pow(10, y_.least) : y_.least;
      fill(series.y, std::vector<double>(series.x.size(), floor), "0.10");
    }
  }

  void line(const PlotSeries& series) {
    const std::vector<std::string> paths = series.line ? runs(series.x, series.y) : std::vector<std::string>{};
    for (const std::string& path : paths) {
      body_ += "<path fill=\"none\" stroke=\"" + colour(series) +
               "\" stroke-width=\"2.2\" stroke-linejoin=\"round\" stroke-linecap=\"round\"" +
               (series.dashed ? " stroke-dasharray=\"2 6\"" : "") + " d=\"" + path + "\"/>\n";
    }
    if (!series.points) return;
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      if (!x_.shows(series.x[i]) || !y_.shows(series.y[i])) continue;
      const std::string& name = series.names.empty() ? series.name : series.names[i];
      const std::string link = series.links.empty() ? "" : series.links[i];
      if (!link.empty()) body_ += "<a href=\"" + xml_escaped(link) + "\">";
      body_ += "<circle fill=\"" + colour(series) + "\" r=\"3.6\" cx=\"" + px(x_.at(series.x[i])) + "\" cy=\"" +
               px(y_.at(series.y[i])) + "\"><title>" +
               xml_escaped(name + ": " + number_text(series.x[i]) + ", " + number_text(series.y[i])) +
               "</title></circle>" + (link.empty() ? "\n" : "</a>\n");
    }
  }

  /// A mark's point and its text.
  struct PlacedMark {
    double left = 0;
    double top = 0;
    double begin = 0;
    double width = 0;
    double height = 0;  ///< height of the text's base line

    bool hides(double x, double y) const {
      return x > begin - 8 && x < begin + width + 8 && y > height - 18 && y < height + 9;
    }
  };

  /// Beside its point, away from the nearer edge; lower down while it hides a point or another text.
  PlacedMark place(const PlotMark& mark, const std::vector<PlacedMark>& taken) const {
    PlacedMark placed{.left = x_.at(mark.x), .top = y_.at(mark.y)};
    placed.width = kLetter * static_cast<double>(mark.text.size());
    const bool to_left = placed.left + 12 + placed.width > kWidth - kRight;
    placed.begin = to_left ? placed.left - 12 - placed.width : placed.left + 12;
    placed.height = placed.top - 8;
    const auto hidden = [&](const PlotMark& other) {
      return &other != &mark && placed.hides(x_.at(other.x), y_.at(other.y));
    };
    const auto overlaps = [&](const PlacedMark& other) {
      return std::abs(other.height - placed.height) < 15 && placed.begin < other.begin + other.width &&
             other.begin < placed.begin + placed.width;
    };
    while (std::ranges::any_of(plot_.marks, hidden) || std::ranges::any_of(taken, overlaps)) placed.height += 4;
    return placed;
  }

  void marks() {
    const bool linked =
        std::ranges::any_of(plot_.series, [](const PlotSeries& series) { return !series.links.empty(); });
    if (linked) body_ += "<g pointer-events=\"none\">\n";  // the dots below are to be clicked
    std::vector<PlacedMark> taken;
    for (const PlotMark& mark : plot_.marks) {
      const PlacedMark& at = taken.emplace_back(place(mark, taken));
      const bool to_left = at.begin < at.left;
      body_ += "<path class=\"axis\" d=\"M" + px(at.left) + " " + px(at.top) + "L" +
               px(at.left + (to_left ? -10 : 10)) + " " + px(at.height - 4) + "\"/>\n";
      body_ += "<circle class=\"ink\" r=\"4.6\" cx=\"" + px(at.left) + "\" cy=\"" + px(at.top) + "\"/>\n";
      body_ += svg_text(to_left ? at.left - 12 : at.left + 12, at.height, 12.5,
                        to_left ? R"(class="ink" text-anchor="end")" : R"(class="ink")", mark.text);
    }
    if (linked) body_ += "</g>\n";
  }

  /// Returns what a series looks like, for the legend.
  static std::string sample(const PlotSeries& series, double left, double middle) {
    if (!series.line) {
      return "<circle fill=\"" + colour(series) + "\" r=\"3.6\" cx=\"" + px(left + 10) + "\" cy=\"" + px(middle) +
             "\"/>\n";
    }
    return "<path stroke=\"" + colour(series) + "\" stroke-width=\"3\" stroke-linecap=\"round\"" +
           (series.dashed ? " stroke-dasharray=\"2 6\"" : "") + " d=\"M" + px(left) + " " + px(middle) + "h20\"/>\n";
  }

  /// Returns the height that is used up.
  double legend(double top) {
    double left = kLeft;
    for (const PlotSeries& series : plot_.series) {
      const double width = 46 + kLetter * static_cast<double>(series.name.size());
      if (left + width > kWidth - kRight + 20 && left > kLeft) {
        left = kLeft;
        top += 22;
      }
      body_ += sample(series, left, top - 4);
      body_ += svg_text(left + 27, top, 12.5, R"(class="dim")", series.name);
      left += width;
    }
    return top;
  }

  const Plot& plot_;
  Scale x_;
  Scale y_;
  std::string body_;
};

}  // namespace

std::string svg_plot(const Plot& plot) { return PlotPicture(plot).write(); }

}  // namespace plumb
