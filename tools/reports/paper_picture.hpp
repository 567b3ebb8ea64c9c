#pragma once

#include <cstddef>
#include <string_view>

#include "sim/timeline/timeline.hpp"
#include "tools/reports/picture_style.hpp"

namespace plumb {

// The picture of a timeline for papers, whatever it is drawn on. Lengths in points, of which an inch has 72; y grows
// upwards. Colours as in report_palette.hpp.

inline constexpr double kPointsPerCm = 72 / 2.54;
inline constexpr std::string_view kPaperLane = "#eef2f6";  ///< behind hatches
inline constexpr std::string_view kPaperInk = "#18222d";

// Hatches are stripes from the upper left to the lower right, at 45 degrees.
inline constexpr double kHatchStep = 3.5;  ///< from one stripe to the next, across them
inline constexpr double kHatchStripe = 1;  ///< how wide each is

struct PaperPoint {
  double x = 0;
  double y = 0;
};

struct PaperBox {
  double x = 0;
  double y = 0;  ///< height of the lower edge
  double width = 0;
  double height = 0;
};

/// What such a picture is drawn on.
class PaperCanvas {
 public:
  PaperCanvas() = default;
  PaperCanvas(const PaperCanvas&) = delete;
  PaperCanvas& operator=(const PaperCanvas&) = delete;
  virtual ~PaperCanvas() = default;

  virtual void fill(const PaperBox& box, std::string_view colour) = 0;
  /// Hatches the box in the colour of an idle cause (its place in `kIdleColours`).
  virtual void hatch(const PaperBox& box, std::size_t cause) = 0;
  /// `at`: where the line on which the letters stand begins. `size`: as typographers count it.
  virtual void text(const PaperPoint& at, double size, std::string_view words, std::string_view colour) = 0;
};

/// Returns the compute lanes: a row per device, a box per action with its microbatch where it fits, idle time hatched
/// by cause, a time axis, a legend and the caption. 16 cm wide without a style. Letters are taken to be as wide as
/// Helvetica's. What is narrower than a hair is merged, so that a timeline of any length gives a picture of bounded
/// size. Returns the part of the plane that the picture takes.
PaperBox draw_on_paper(const Timeline& timeline, const PictureStyle& style, PaperCanvas& canvas);

}  // namespace plumb
