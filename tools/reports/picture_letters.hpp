#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plumb {

// Letters of pictures whose fonts do not have all of Unicode's.

/// The code points of UTF-8. What is none becomes U+FFFD, a code point for every byte that could begin one.
std::u32string code_points(std::string_view text);

/// One point of a stroke.
struct StrokePoint {
  double x = 0;
  double y = 0;
  bool begins = false;  ///< a stroke of its own
};

/// A letter that is drawn as strokes. Capitals are 14 units high, small letters 10.
struct StrokeLetter {
  char base = 0;                     ///< an ASCII letter that is drawn first; 0: none
  std::vector<StrokePoint> strokes;  ///< x from the left; from the middle of the base, if there is one
  double width = 0;                  ///< width of the strokes, where there is no base

  bool is_known() const { return base != 0 || !strokes.empty(); }
};

/// Returns a letter of Latin-1, a Greek one, or one of a few signs beyond ASCII. `is_known()` says whether it is one of
/// them.
StrokeLetter stroke_letter(char32_t letter);

/// Returns the letter in the encoding of PDF for the font Helvetica (WinAnsiEncoding, ISO 32000-1, Annex D.2); 0: it
/// has none.
char win_ansi_letter(char32_t letter);

/// Returns the letter in the font Symbol's own encoding (ISO 32000-1, Annex D.5), for Greek and some signs; 0: it has
/// none.
char symbol_letter(char32_t letter);

/// Says which of the letters a picture could not show, if there are any. `format`: as in "PDF".
void note_missing_letters(std::string_view format, const std::u32string& letters);

}  // namespace plumb
