#include "tools/reports/report_pdf.hpp"

#include <set>
#include <string_view>
#include <vector>

#include "tools/reports/paper_picture.hpp"
#include "tools/reports/report_palette.hpp"
#include "tools/terminal/quantity_text.hpp"

namespace plumb {
namespace {

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

class PdfCanvas final : public PaperCanvas {
 public:
  void fill(const PaperBox& box, std::string_view colour) override { body_ += fill_colour(colour) + area(box); }

  void hatch(const PaperBox& box, std::size_t cause) override {
    causes_.insert(cause);
    body_ += "/Pattern cs /I" + std::to_string(cause) + " scn " + area(box);
  }

  void text(const PaperPoint& at, double size, std::string_view words, std::string_view colour) override {
    body_ += fill_colour(colour) + "BT /F1 " + fixed_text(size, 1) + " Tf " + point(at.x, at.y) + " Td " +
             pdf_string(words) + " Tj ET\n";
  }

  /// The file, with what was drawn so far. `covered`: what is shown of the plane.
  std::string document(const PaperBox& covered, std::string_view title) const {
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
        "<< /Type /Page /Parent 2 0 R /MediaBox [" + point(covered.x, covered.y) + ' ' +
            point(covered.x + covered.width, covered.y + covered.height) +
            "] /Resources << /Font << /F1 4 0 R >> /Pattern << " + patterns + ">> >> /Contents 5 0 R >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        "<< /Length " + std::to_string(body_.size()) + " >>\nstream\n" + body_ + "endstream",
        "<< /Title " + pdf_string(title) + " /Producer (Plumbline) >>"};
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

 private:
  static std::string area(const PaperBox& box) {
    return point(box.x, box.y) + ' ' + point(box.width, box.height) + " re f\n";
  }

  /// A tile with a stripe, turned by 45 degrees.
  static std::string pattern(std::size_t cause) {
    const std::string tile =
        fill_colour(kPaperLane) + "0 0 3.5 3.5 re f\n" + fill_colour(kIdleColours[cause]) + "0 0 1 3.5 re f\n";
    return "<< /Type /Pattern /PatternType 1 /PaintType 1 /TilingType 1 /BBox [0 0 3.5 3.5] /XStep 3.5 /YStep 3.5 "
           "/Resources << >> /Matrix [0.707 0.707 -0.707 0.707 0 0] /Length " +
           std::to_string(tile.size()) + " >>\nstream\n" + tile + "endstream";
  }

  std::set<std::size_t> causes_;
  std::string body_;
};

}  // namespace

std::string pdf_report(const Timeline& timeline, const PictureStyle& style) {
  PdfCanvas canvas;
  const PaperBox covered = draw_on_paper(timeline, style, canvas);
  return canvas.document(covered, timeline.schedule);
}

}  // namespace plumb
