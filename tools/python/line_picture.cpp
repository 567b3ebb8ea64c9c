#include "tools/python/line_picture.hpp"

#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "models/ground/json_reader.hpp"
#include "tools/reports/plot_svg.hpp"

namespace plumb {
namespace {

std::string text_in(const JsonValue& object, std::string_view key) {
  const auto text = object.find(key);
  return text ? std::string(text->text()) : std::string();
}

bool flag_in(const JsonValue& object, std::string_view key, bool otherwise) {
  const auto flag = object.find(key);
  return flag ? flag->boolean() : otherwise;
}

std::vector<double> numbers_in(const JsonValue& object, std::string_view key) {
  std::vector<double> numbers;
  const auto list = object.find(key);
  if (!list) return numbers;
  for (const JsonValue& number : list->elements()) {
    const bool gap = number.kind() == JsonValue::Kind::kNull;
    numbers.push_back(gap ? std::numeric_limits<double>::quiet_NaN() : number.number());
  }
  return numbers;
}

PlotAxis axis_in(const JsonValue& plot, std::string_view key) {
  const JsonValue axis = plot.at(key);
  axis.allow_only({"title", "logarithmic"});
  return {text_in(axis, "title"), flag_in(axis, "logarithmic", false)};
}

PlotSeries series_of(const JsonValue& object) {
  object.allow_only({"name", "x", "y", "low", "high", "colour", "dashed", "points", "line", "region"});
  PlotSeries series{.name = text_in(object, "name"), .x = numbers_in(object, "x"), .y = numbers_in(object, "y")};
  series.low = numbers_in(object, "low");
  series.high = numbers_in(object, "high");
  if (const auto colour = object.find("colour")) series.colour = static_cast<std::size_t>(colour->integer(0, 1000));
  series.dashed = flag_in(object, "dashed", false);
  series.points = flag_in(object, "points", false);
  series.line = flag_in(object, "line", true);
  series.region = flag_in(object, "region", false);
  const std::size_t band = series.low.empty() && series.high.empty() ? 0 : series.x.size();
  if (series.y.size() != series.x.size() || series.low.size() != band || series.high.size() != band) {
    object.fail("expected as many values of y, low and high as of x");
  }
  return series;
}

}  // namespace

std::string line_picture(const std::string& plot) {
  const JsonDocument document(plot, "plot");
  const JsonValue root = document.root();
  root.allow_only({"title", "note", "x", "y", "series", "marks"});
  Plot read{.title = text_in(root, "title"),
            .note = text_in(root, "note"),
            .x = axis_in(root, "x"),
            .y = axis_in(root, "y"),
            .series = {},
            .marks = {}};
  for (const JsonValue& series : root.at("series").elements()) read.series.push_back(series_of(series));
  if (const auto marks = root.find("marks")) {
    for (const JsonValue& mark : marks->elements()) {
      mark.allow_only({"x", "y", "text"});
      read.marks.push_back({mark.at("x").number(), mark.at("y").number(), text_in(mark, "text")});
    }
  }
  return svg_plot(read);
}

}  // namespace plumb
