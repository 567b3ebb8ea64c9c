#include "tools/reports/report_png.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <agg2/agg_conv_stroke.h>
#include <agg2/agg_gsv_text.h>
#include <agg2/agg_path_storage.h>
#include <agg2/agg_pixfmt_rgb.h>
#include <agg2/agg_rasterizer_scanline_aa.h>
#include <agg2/agg_renderer_base.h>
#include <agg2/agg_renderer_scanline.h>
#include <agg2/agg_scanline_u.h>
#include <agg2/agg_span_allocator.h>
#include <zlib.h>

#include "tools/reports/paper_picture.hpp"
#include "tools/reports/picture_letters.hpp"
#include "tools/reports/report_palette.hpp"

namespace plumb {
namespace {

constexpr std::size_t kPixelBytes = 3;
constexpr unsigned char kDifferenceFromAbove = 2;  ///< a filter of the format; most rows of a drawing repeat

std::string four_bytes(std::uint32_t value) {
  return {static_cast<char>(value >> 24U), static_cast<char>(value >> 16U & 255U),
          static_cast<char>(value >> 8U & 255U), static_cast<char>(value & 255U)};
}

std::string chunk(std::string_view type, std::string_view data) {
  const std::string body = std::string(type) + std::string(data);
  const auto sum = crc32_z(0, reinterpret_cast<const unsigned char*>(body.data()), body.size());
  return four_bytes(static_cast<std::uint32_t>(data.size())) + body + four_bytes(static_cast<std::uint32_t>(sum));
}

/// The rows as they are packed: each begins with the number of its filter.
std::vector<unsigned char> filtered(std::size_t width, std::span<const unsigned char> pixels) {
  const std::size_t row = width * kPixelBytes;
  std::vector<unsigned char> bytes;
  bytes.reserve(pixels.size() + pixels.size() / row);
  for (std::size_t at = 0; at < pixels.size(); ++at) {
    if (at % row == 0) bytes.push_back(kDifferenceFromAbove);
    bytes.push_back(static_cast<unsigned char>(pixels[at] - (at < row ? 0 : pixels[at - row])));
  }
  return bytes;
}

std::string packed(const std::vector<unsigned char>& bytes) {
  uLongf size = compressBound(bytes.size());
  std::string data(size, '\0');
  if (compress2(reinterpret_cast<unsigned char*>(data.data()), &size, bytes.data(), bytes.size(), 6) != Z_OK) {
    throw std::bad_alloc();  // nothing else can fail: there is room enough
  }
  data.resize(size);
  return data;
}

/// Returns the bytes of a PNG file: `pixels` has three bytes (red, green, blue) for each, row by row from the top. The
/// file says how large it is meant to be, so that documents show it at its size. Format: ISO/IEC 15948.
std::string png_file(std::size_t width, std::size_t height, std::span<const unsigned char> pixels,
                     double dots_per_inch) {
  const std::string size =
      four_bytes(static_cast<std::uint32_t>(width)) + four_bytes(static_cast<std::uint32_t>(height));
  const std::string per_meter = four_bytes(static_cast<std::uint32_t>(std::lround(dots_per_inch / 0.0254)));
  using namespace std::string_view_literals;
  return "\x89PNG\r\n\x1a\n" + chunk("IHDR", size + std::string("\x08\x02\0\0\0"sv)) +
         chunk("pHYs", per_meter + per_meter + '\1') + chunk("IDAT", packed(filtered(width, pixels))) +
         chunk("IEND", "");
}

constexpr double kPointsPerInch = 72;
constexpr double kUsualDots = 300;  ///< an inch
constexpr double kMostDots = 64e6;

// Sizes of the strokes of letters, in units of their size: that of Helvetica's capitals; as wide as makes the mean
// letter as wide as Helvetica's; how thick they are.
constexpr double kLetterHeight = 0.72;
constexpr double kLetterWidth = 0.58;
constexpr double kLetterStroke = 0.08;

// Sizes of letters beyond ASCII, in units of `StrokeLetter`, the height of a capital and what is free on either side.
constexpr double kUnitsHigh = 14;
constexpr double kUnitsBeside = 2.6;

agg::rgba8 rgb_of(std::string_view colour) {
  const auto part = [&](std::size_t at) {
    return static_cast<unsigned>(std::stoi(std::string(colour.substr(at, 2)), nullptr, 16));
  };
  return {part(1), part(3), part(5)};
}

/// Colours of pixels inside a hatched box.
class HatchSpans {
 public:
  /// `scale`: pixels a point. `top`, in points: where the first row of pixels begins.
  HatchSpans(std::string_view stripe, double scale, double top)
      : stripe_(rgb_of(stripe)), lane_(rgb_of(kPaperLane)), scale_(scale), top_(top) {}

  void prepare() {}

  void generate(agg::rgba8* pixels, int x, int y, unsigned length) const {
    for (unsigned i = 0; i < length; ++i) {
      const double right = (x + static_cast<double>(i) + 0.5) / scale_;
      const double up = top_ - (y + 0.5) / scale_;
      const double across = (right + up) * std::sqrt(0.5);
      const double place = across - std::floor(across / kHatchStep) * kHatchStep;
      // How far inside the stripe the pixel's middle is; an edge is a pixel wide.
      const double inside = std::min(place, kHatchStripe - place);
      const double outside = kHatchStep - place;  // before the next stripe
      const double share = std::clamp(0.5 + std::max(inside, -outside) * scale_, 0.0, 1.0);
      pixels[i] = lane_.gradient(stripe_, share);
    }
  }

 private:
  agg::rgba8 stripe_;
  agg::rgba8 lane_;
  double scale_;
  double top_;
};

/// Draws nothing: finds how large a picture will be.
class NoCanvas final : public PaperCanvas {
 public:
  void fill(const PaperBox&, std::string_view) override {}
  void hatch(const PaperBox&, std::size_t) override {}
  void text(const PaperText&) override {}
};

class PngCanvas final : public PaperCanvas {
 public:
  explicit PngCanvas(const PaperBox& covered)
      : scale_(std::min(kUsualDots / kPointsPerInch, std::sqrt(kMostDots / (covered.width * covered.height)))),
        left_(covered.x),
        top_(covered.y + covered.height),
        width_(static_cast<unsigned>(std::ceil(covered.width * scale_))),
        height_(static_cast<unsigned>(std::ceil(covered.height * scale_))),
        pixels_(std::size_t{3} * width_ * height_, 255),
        rows_(pixels_.data(), width_, height_, static_cast<int>(3 * width_)),
        format_(rows_),
        renderer_(format_) {}

  void fill(const PaperBox& box, std::string_view colour) override {
    outline(box);
    agg::render_scanlines_aa_solid(rasterizer_, line_, renderer_, rgb_of(colour));
  }

  void hatch(const PaperBox& box, std::size_t cause) override {
    outline(box);
    HatchSpans spans(kIdleColours[cause], scale_, top_);
    agg::render_scanlines_aa(rasterizer_, line_, renderer_, allocator_, spans);
  }

  void text(const PaperText& text) override {
    colour_ = rgb_of(text.colour);
    size_ = text.size * scale_;
    double right = x(text.at.x) - share_before(text.anchor) * width_of(text);
    const double down = y(text.at.y);
    std::string plain;  // letters of AGG's font, which are ASCII
    for (const char32_t point : code_points(text.words)) {
      if (point >= 0x20 && point < 0x7F) {
        plain += static_cast<char>(point);
        continue;
      }
      const StrokeLetter letter = stroke_letter(point);
      if (!letter.is_known()) {
        plain += '?';
        missing_ += point;
        continue;
      }
      if (!plain.empty()) right = letters(plain, right, down, true);
      plain.clear();
      right = stroked(letter, right, down);
    }
    if (!plain.empty()) letters(plain, right, down, false);
  }

  const std::u32string& missing() const { return missing_; }

  std::string file() const { return png_file(width_, height_, pixels_, scale_ * kPointsPerInch); }

 private:
  double x(double points) const { return (points - left_) * scale_; }
  double y(double points) const { return (top_ - points) * scale_; }

  void outline(const PaperBox& box) {
    agg::path_storage path;
    path.move_to(x(box.x), y(box.y));
    path.line_to(x(box.x + box.width), y(box.y));
    path.line_to(x(box.x + box.width), y(box.y + box.height));
    path.line_to(x(box.x), y(box.y + box.height));
    path.close_polygon();
    rasterizer_.add_path(path);
  }

  template <class Letters>
  void draw(Letters& letters) {
    agg::conv_stroke<Letters> strokes(letters);
    strokes.width(kLetterStroke * size_);
    strokes.line_cap(agg::round_cap);
    strokes.line_join(agg::round_join);
    rasterizer_.add_path(strokes);
    agg::render_scanlines_aa_solid(rasterizer_, line_, renderer_, colour_);
  }

  /// Draws ASCII; returns where the next letter stands, where that is asked for.
  double letters(const std::string& plain, double right, double down, bool more) {
    agg::gsv_text text;
    text.flip(true);
    text.size(kLetterHeight * size_, kLetterWidth * size_);
    text.start_point(right, down);
    text.text(plain.c_str());
    draw(text);
    return more ? right + widths_of("|" + plain + "|") - widths_of("||") : right;
  }

  /// Of ASCII exactly, of other letters as in Helvetica.
  double width_of(const PaperText& text) const {
    const bool ascii = std::ranges::all_of(text.words, [](char letter) { return letter >= ' ' && letter <= '~'; });
    return ascii ? widths_of(std::string(text.words)) : paper_width(text.words, text.size) * scale_;
  }

  /// Returns the width from the left edge of the first letter to the right one of the last.
  double widths_of(const std::string& plain) const {
    agg::gsv_text text;
    text.size(kLetterHeight * size_, kLetterWidth * size_);
    text.text(plain.c_str());
    return text.text_width();
  }

  /// Draws a letter beyond ASCII; returns where the next one stands.
  double stroked(const StrokeLetter& letter, double right, double down) {
    const double wide = kLetterWidth * size_ / kUnitsHigh;
    const double high = kLetterHeight * size_ / kUnitsHigh;
    double next = right + (letter.width + 2 * kUnitsBeside) * wide;
    double left = right + kUnitsBeside * wide;
    if (letter.base != 0) {
      const std::string base(1, letter.base);
      next = letters(base, right, down, true);
      left = (right + next) / 2;
    }
    agg::path_storage path;
    for (const StrokePoint& point : letter.strokes) {
      const double to = left + point.x * wide;
      if (point.begins) {
        path.move_to(to, down - point.y * high);
      } else {
        path.line_to(to, down - point.y * high);
      }
    }
    draw(path);
    return next;
  }

  double scale_;  ///< pixels a point
  double left_;
  double top_;
  unsigned width_;
  unsigned height_;
  std::vector<unsigned char> pixels_;
  agg::rendering_buffer rows_;
  agg::pixfmt_rgb24 format_;
  agg::renderer_base<agg::pixfmt_rgb24> renderer_;
  agg::rasterizer_scanline_aa<> rasterizer_;
  agg::scanline_u8 line_;
  agg::span_allocator<agg::rgba8> allocator_;
  agg::rgba8 colour_;
  double size_ = 0;  ///< size of the letters that are being drawn, in pixels
  std::u32string missing_;
};

}  // namespace

std::string png_report(const Timeline& timeline, const PictureStyle& style) {
  return png_picture(single_card(timeline), style);
}

std::string png_picture(const Card& card, const PictureStyle& style) {
  NoCanvas measured;
  PngCanvas canvas(draw_on_paper(card, style, measured));
  draw_on_paper(card, style, canvas);
  note_missing_letters("PNG", canvas.missing());
  return canvas.file();
}

std::string_view why_no_png() { return {}; }

}  // namespace plumb
