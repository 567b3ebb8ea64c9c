#include "tools/reports/picture_letters.hpp"

#include <doctest/doctest.h>

#include "tools/terminal/notes.hpp"

TEST_SUITE_BEGIN("tools");

namespace plumb {

TEST_CASE("code points are those of UTF-8, and every byte that is none is told") {
  CHECK(code_points("aτ漢😀") == U"aτ漢😀");
  CHECK(code_points("\xC3") == U"\uFFFD");
  CHECK(code_points("\xFF"
                    "a\xE6\xBC") == U"\uFFFDa\uFFFD\uFFFD");
}

TEST_CASE("every letter of Latin-1 and every Greek one is drawn, and other scripts are not") {
  for (char32_t letter = 0xC0; letter <= 0xFF; ++letter) {
    if (letter == U'÷') continue;
    CAPTURE(static_cast<unsigned>(letter));
    CHECK(stroke_letter(letter).is_known());
    CHECK(win_ansi_letter(letter) == static_cast<char>(letter));
  }
  for (char32_t letter = 0x391; letter <= 0x3C9; ++letter) {
    if (letter == 0x3A2 || (letter >= 0x3AA && letter <= 0x3B0)) continue;  // none, and letters with accents
    CAPTURE(static_cast<unsigned>(letter));
    CHECK(stroke_letter(letter).is_known());
    CHECK(symbol_letter(letter) != 0);
  }
  CHECK(!stroke_letter(U'漢').is_known());
  CHECK(win_ansi_letter(U'漢') == 0);
  CHECK(symbol_letter(U'漢') == 0);
}

TEST_CASE("letters with marks are their letters with strokes over them") {
  CHECK(stroke_letter(U'ü').base == 'u');
  CHECK(stroke_letter(U'Ñ').base == 'N');
  CHECK(stroke_letter(U'ç').base == 'c');
  CHECK(stroke_letter(U'ø').base == 'o');
  CHECK(stroke_letter(U'ÿ').base == 'y');
  CHECK(stroke_letter(U'ï').base == 0);  // its dot is not there
  CHECK(stroke_letter(U'Ω').base == 0);
  CHECK(stroke_letter(U'Ρ').base == 'P');
  CHECK(stroke_letter(U'ü').strokes.size() == 4);
  CHECK(win_ansi_letter(U'—') == '\x97');
  CHECK(win_ansi_letter(U'€') == '\x80');
  CHECK(win_ansi_letter(U'Ÿ') == '\x9F');
  CHECK(symbol_letter(U'τ') == 't');
  CHECK(symbol_letter(U'Ω') == 'W');
  CHECK(symbol_letter(U'≤') == '\xA3');
}

TEST_CASE("the letters that a picture lacks are named once, and not all where they are many") {
  const CollectedNotes notes;
  note_missing_letters("PNG", U"");
  CHECK(notes.lines().empty());
  note_missing_letters("PNG", U"漢漢字");
  std::u32string many;
  for (char32_t letter = 0x4E00; letter < 0x4E00 + 30; ++letter) many += letter;
  note_missing_letters("PNG", many);
  REQUIRE(notes.lines().size() == 2);
  CHECK(notes.lines()[0].find("PNG pictures lack 字 漢, so") != std::string::npos);
  CHECK(notes.lines()[1].find(" and 10 more, so") != std::string::npos);
}

}  // namespace plumb

TEST_SUITE_END();
