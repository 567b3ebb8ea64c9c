#include "tools/reports/report_pdf.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tools/reports/paper_picture.hpp"
#include "tools/reports/picture_letters.hpp"
#include "tools/reports/report_palette.hpp"
#include "tools/terminal/quantity_text.hpp"

namespace plumb {
namespace {

/// Returns the letters of one of the fonts as a string of a PDF.
std::string pdf_string(std::string_view letters) {
  std::string text = "(";
  for (const char letter : letters) {
    const auto byte = static_cast<unsigned char>(letter);
    if (byte >= 0x80) {
      text += '\\';
      for (const unsigned shift : {6U, 3U, 0U}) text += static_cast<char>('0' + ((byte >> shift) & 7U));
    } else {
      if (byte == '(' || byte == ')' || byte == '\\') text += '\\';
      text += letter;
    }
  }
  return text + ')';
}

/// Letters that follow each other in one font.
struct FontRun {
  bool symbol = false;  ///< in Symbol, otherwise in Helvetica
  std::string letters;
};

/// `text` in the letters of the two fonts; what neither has is a question mark, and is added to `missing`.
std::vector<FontRun> font_runs(std::string_view text, std::u32string& missing) {
  std::vector<FontRun> runs;
  for (const char32_t point : code_points(text)) {
    char letter = win_ansi_letter(point);
    const bool symbol = letter == 0 && symbol_letter(point) != 0;
    if (symbol) letter = symbol_letter(point);
    if (letter == 0) {
      letter = '?';
      missing += point;
    }
    if (runs.empty() || runs.back().symbol != symbol) runs.push_back({symbol, {}});
    runs.back().letters += letter;
  }
  return runs;
}

/// `text` for a reader's window, in UTF-16 where it is not ASCII (ISO 32000-1, 7.9.2.2).
std::string title_string(std::string_view text) {
  const std::u32string points = code_points(text);
  if (std::ranges::all_of(points, [](char32_t point) { return point >= 0x20 && point < 0x7F; }))
    return pdf_string(text);
  std::string hex = "<FEFF";
  const auto unit = [&](char32_t value) {
    for (const unsigned shift : {12U, 8U, 4U, 0U}) hex += "0123456789ABCDEF"[(value >> shift) & 0xFU];
  };
  for (const char32_t point : points) {
    if (point >= 0x10000U) unit(0xD800U + ((point - 0x10000U) >> 10U));
    unit(point >= 0x10000U ? 0xDC00U + (point & 0x3FFU) : point);
  }
  return hex + '>';
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

  void text(const PaperText& text) override {
    body_ += fill_colour(text.colour) + "BT";
    const double before = paper_width(text.words, text.size) * share_before(text.anchor);
    std::string place = ' ' + point(text.at.x - before, text.at.y) + " Td";  // of the first run; the others follow it
    for (const FontRun& run : font_runs(text.words, missing_)) {
      body_ += (run.symbol ? " /F2 " : " /F1 ") + fixed_text(text.size, 1) + " Tf" + place + ' ' +
               pdf_string(run.letters) + " Tj";
      place.clear();
      has_symbols_ = has_symbols_ || run.symbol;
    }
    body_ += " ET\n";
  }

  const std::u32string& missing() const { return missing_; }

  /// Returns the file, with what was drawn so far. `covered`: what is shown of the plane.
  std::string document(const PaperBox& covered, std::string_view title) const {
    constexpr std::size_t kFirstPattern = 7;
    std::string patterns;
    std::vector<std::string> tiles;
    for (const std::size_t cause : causes_) {
      patterns += "/I" + std::to_string(cause) + ' ' + std::to_string(kFirstPattern + tiles.size()) + " 0 R ";
      tiles.push_back(pattern(cause));
    }
    std::string fonts = "/F1 4 0 R ";
    if (has_symbols_) {
      fonts += "/F2 " + std::to_string(kFirstPattern + tiles.size()) + " 0 R ";
      tiles.emplace_back("<< /Type /Font /Subtype /Type1 /BaseFont /Symbol >>");
    }
    std::vector<std::string> objects{
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [" + point(covered.x, covered.y) + ' ' +
            point(covered.x + covered.width, covered.y + covered.height) + "] /Resources << /Font << " + fonts +
            ">> /Pattern << " + patterns + ">> >> /Contents 5 0 R >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        "<< /Length " + std::to_string(body_.size()) + " >>\nstream\n" + body_ + "endstream",
        "<< /Title " + title_string(title) + " /Producer (Plumbline) >>"};
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

  /// Returns a tile with a stripe, turned by 45 degrees.
  static std::string pattern(std::size_t cause) {
    const std::string tile =
        fill_colour(kPaperLane) + "0 0 3.5 3.5 re f\n" + fill_colour(kIdleColours[cause]) + "0 0 1 3.5 re f\n";
    return "<< /Type /Pattern /PatternType 1 /PaintType 1 /TilingType 1 /BBox [0 0 3.5 3.5] /XStep 3.5 /YStep 3.5 "
           "/Resources << >> /Matrix [0.707 0.707 -0.707 0.707 0 0] /Length " +
           std::to_string(tile.size()) + " >>\nstream\n" + tile + "endstream";
  }

  std::set<std::size_t> causes_;
  std::string body_;
  std::u32string missing_;
  bool has_symbols_ = false;
};

}  // namespace

std::string pdf_report(const Timeline& timeline, const PictureStyle& style) {
  return pdf_picture(single_card(timeline), style, timeline.schedule);
}

std::string pdf_picture(const Card& card, const PictureStyle& style, std::string_view title) {
  PdfCanvas canvas;
  const PaperBox covered = draw_on_paper(card, style, canvas);
  note_missing_letters("PDF", canvas.missing());
  return canvas.document(covered, title);
}

}  // namespace plumb
