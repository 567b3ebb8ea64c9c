#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tools/reports/card.hpp"
#include "tools/reports/picture_style.hpp"

namespace plumb {

// Pictures of runs for papers, whatever they are drawn on. Lengths in points, of which an inch has 72; y grows upwards.
// Colours as in report_palette.hpp.

inline constexpr double kPointsPerCm = 72 / 2.54;
inline constexpr std::string_view kPaperLane = "#eef2f6";  ///< behind hatches
inline constexpr std::string_view kPaperInk = "#18222d";
inline constexpr std::string_view kPaperDim = "#5d6b7a";   ///< what is read second
inline constexpr std::string_view kPaperGrid = "#d3dae1";  ///< lines of the axis

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

/// Which part of a line of text stands at its place.
enum class PaperAnchor : std::uint8_t { kStart, kMiddle, kEnd };

struct PaperText {
  PaperPoint at{};  ///< on the line on which the letters stand
  double size = 7;  ///< as typographers count it
  std::string_view words{};
  std::string_view colour = kPaperInk;
  PaperAnchor anchor = PaperAnchor::kStart;
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
  virtual void text(const PaperText& text) = 0;
};

/// Which part of a text stands before its place.
constexpr double share_before(PaperAnchor anchor) { return static_cast<double>(anchor) / 2; }

/// How wide `words` are in Helvetica.
double paper_width(std::string_view words, double size);

/// Returns the runs of a card above each other on one time axis: a row per device, a box per action with its microbatch
/// where it fits, lighter for further stages of the device, idle time hatched by cause; figures at the right end,
/// memory curves beside each other, a legend and the caption. 16 cm wide without a style; text of 7 points and more.
/// What is narrower than a hair is merged, so that runs of any length give a picture of bounded size. Returns the part
/// of the plane that the picture takes.
PaperBox draw_on_paper(const Card& card, const PictureStyle& style, PaperCanvas& canvas);

}  // namespace plumb
