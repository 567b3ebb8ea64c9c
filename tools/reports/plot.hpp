#pragma once

#include <string>
#include <vector>

namespace plumb {

/// One line of a plot.
struct PlotSeries {
  std::string name;
  std::vector<double> x;         ///< ascending
  std::vector<double> y;         ///< NaN leaves a gap
  std::vector<double> low = {};  ///< lower edge of a band around y; empty: none
  std::vector<double> high = {};
  std::size_t colour = 0;  ///< into kPlotColours, modulo its size
  bool dashed = false;
  bool points = false;  ///< whether there is a dot at every value
  bool line = true;     ///< whether there is a line between the values
  bool region = false;  ///< what lies below is filled
  /// Name of every value's dot, and where a click on it leads. Empty: the name of the series; nowhere.
  std::vector<std::string> names = {};
  std::vector<std::string> links = {};
};

/// Something to point at.
struct PlotMark {
  double x = 0;
  double y = 0;
  std::string text;
};

struct PlotAxis {
  std::string title;
  bool logarithmic = false;
};

/// A diagram of lines over common axes: what the SVG and HTML writers draw.
struct Plot {
  std::string title;
  std::string note;  ///< one line below the title
  PlotAxis x;
  PlotAxis y;
  std::vector<PlotSeries> series;
  std::vector<PlotMark> marks;
};

}  // namespace plumb
