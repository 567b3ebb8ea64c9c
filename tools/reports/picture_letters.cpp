#include "tools/reports/picture_letters.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <set>
#include <utility>

#include "models/ground/error.hpp"
#include "tools/terminal/notes.hpp"

namespace plumb {
namespace {

constexpr char32_t kNoLetter = 0xFFFD;
constexpr std::size_t kMostLettersNamed = 20;  ///< letters in a note

/// Strokes as points "x,y", apart by blanks; a semicolon begins the next stroke.
struct DrawnLetter {
  char32_t letter;
  double width;
  std::string_view strokes;
};

constexpr std::array kDrawnLetters{
    DrawnLetter{U'α', 8, "8,10 6,4 4,1 2,0 1,1 0,4 1,8 3,10 5,8 7,2 8,0"},
    DrawnLetter{U'β', 7, "0,-4 0,11 2,14 5,14 6,12 5,9 2,8 6,7 7,4 6,1 3,0 0,1"},
    DrawnLetter{U'γ', 8, "0,9 1,10 2,9 4,1 4,-4; 8,10 4,1"},
    DrawnLetter{U'δ', 7, "6,13 4,14 2,13 2,11 6,7 7,4 6,1 4,0 2,0 0,3 0,5 2,8 4,8"},
    DrawnLetter{U'ε', 7, "7,9 5,10 2,10 0,8 2,6 4,5 2,5 0,3 0,2 2,0 5,0 7,1"},
    DrawnLetter{U'ζ', 7, "1,14 7,14 3,10 0,5 0,2 2,0 5,0 6,-2 4,-4"},
    DrawnLetter{U'η', 7, "0,10 0,0; 0,7 3,10 6,10 7,8 7,-4"},
    DrawnLetter{U'θ', 7, "3,0 1,2 0,5 0,9 1,12 3,14 4,14 6,12 7,9 7,5 6,2 4,0 3,0; 0,7 7,7"},
    DrawnLetter{U'ι', 3, "0,10 0,2 1,0 3,0"},
    DrawnLetter{U'κ', 7, "0,10 0,0; 7,10 1,5; 2,6 7,0"},
    DrawnLetter{U'λ', 7, "0,14 1,14 2,13 7,0; 4,8 0,0"},
    DrawnLetter{U'μ', 6, "0,10 0,-4; 0,3 2,0 4,0 6,3; 6,10 6,0"},
    DrawnLetter{U'µ', 6, "0,10 0,-4; 0,3 2,0 4,0 6,3; 6,10 6,0"},
    DrawnLetter{U'ν', 6, "0,10 3,0 6,10"},
    DrawnLetter{U'ξ', 7, "7,14 2,14 1,12 2,10 5,9 2,9 0,6 1,3 5,1 6,-1 5,-3 3,-4"},
    DrawnLetter{U'π', 9, "0,10 9,10; 2,10 2,0; 7,10 7,1 8,0"},
    DrawnLetter{U'ρ', 7, "0,-4 0,7 2,10 5,10 7,7 7,3 5,0 2,0 0,3"},
    DrawnLetter{U'σ', 9, "9,10 3,10 0,7 0,3 2,0 5,0 7,3 7,7 5,10"},
    DrawnLetter{U'ς', 6, "6,10 3,10 0,7 0,4 2,2 5,0 5,-2 3,-4"},
    DrawnLetter{U'τ', 8, "0,9 1,10 8,10; 4,10 4,2 5,0 7,0"},
    DrawnLetter{U'υ', 6, "0,10 0,3 2,0 4,0 6,3 6,10"},
    DrawnLetter{U'φ', 8, "3,10 1,9 0,6 0,4 1,1 3,0 6,0 8,2 8,7 6,10 4,8 4,-4"},
    DrawnLetter{U'χ', 8, "0,10 2,9 6,-3 8,-4; 7,10 0,-4"},
    DrawnLetter{U'ψ', 8, "0,10 0,4 2,1 4,0 6,1 8,4 8,10; 4,14 4,-4"},
    DrawnLetter{U'ω', 10, "1,10 0,7 0,3 2,0 4,1 5,5 6,1 8,0 10,3 10,7 9,10"},
    DrawnLetter{U'Γ', 7, "0,0 0,14 7,14"},
    DrawnLetter{U'Δ', 10, "0,0 5,14 10,0 0,0"},
    DrawnLetter{U'Θ', 10, "3,0 0,4 0,10 3,14 7,14 10,10 10,4 7,0 3,0; 3,7 7,7"},
    DrawnLetter{U'Λ', 10, "0,0 5,14 10,0"},
    DrawnLetter{U'Ξ', 8, "0,14 8,14; 1,7 7,7; 0,0 8,0"},
    DrawnLetter{U'Π', 9, "0,0 0,14 9,14 9,0"},
    DrawnLetter{U'Σ', 8, "8,14 0,14 5,7 0,0 8,0"},
    DrawnLetter{U'Φ', 10, "5,14 5,0; 3,3 0,5 0,9 3,11 7,11 10,9 10,5 7,3 3,3"},
    DrawnLetter{U'Ψ', 10, "0,14 0,9 2,5 8,5 10,9 10,14; 5,14 5,0"},
    DrawnLetter{U'Ω', 11, "0,0 4,0 1,4 0,8 1,12 4,14 7,14 10,12 11,8 10,4 7,0 11,0"},
    DrawnLetter{U'ß', 7, "0,0 0,11 2,14 4,14 6,12 6,10 4,8 7,5 7,2 5,0 3,0"},
    DrawnLetter{U'æ', 9, "0,9 2,10 4,9 4,1 2,0 0,1 0,4 1,5 9,5 9,8 8,10 6,10 4,8; 4,2 6,0 9,1"},
    DrawnLetter{U'Æ', 11, "0,0 5,14 11,14; 6,14 6,0 11,0; 6,7 10,7; 2,5 6,5"},
    DrawnLetter{U'ð', 7, "1,14 5,11 7,7 7,3 5,0 2,0 0,3 0,5 2,8 5,8; 2,10 6,14"},
    DrawnLetter{U'Ð', 9, "2,0 2,14 6,14 9,11 9,3 6,0 2,0; 0,7 5,7"},
    DrawnLetter{U'þ', 7, "0,-4 0,14; 0,7 2,10 5,10 7,7 7,3 5,0 2,0 0,3"},
    DrawnLetter{U'Þ', 7, "0,0 0,14; 0,11 5,11 7,9 7,6 5,4 0,4"},
    DrawnLetter{U'–', 7, "0,6 7,6"},
    DrawnLetter{U'—', 13, "0,6 13,6"},
    DrawnLetter{U'−', 8, "0,6 8,6"},
    DrawnLetter{U'·', 1, "0,6 0,7"},
    DrawnLetter{U'×', 7, "0,2 7,9; 0,9 7,2"},
    DrawnLetter{U'°', 4, "1,11 0,12 1,14 3,14 4,12 3,11 1,11"},
    DrawnLetter{U'±', 8, "0,8 8,8; 4,12 4,4; 0,1 8,1"},
    DrawnLetter{U'≤', 8, "8,12 0,7 8,3; 0,0 8,0"},
    DrawnLetter{U'≥', 8, "0,12 8,7 0,3; 0,0 8,0"},
    DrawnLetter{U'→', 10, "0,6 10,6; 7,9 10,6 7,3"},
    DrawnLetter{U'«', 7, "3,9 0,5 3,1; 7,9 4,5 7,1"},
    DrawnLetter{U'»', 7, "0,9 3,5 0,1; 4,9 7,5 4,1"},
};

/// Letters that look like ASCII ones, some with a mark over or below them.
constexpr std::u32string_view kMarkedLetters =
    U"ÀÁÂÃÄÅÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜÝàáâãäåçèéêëìíîïñòóôõöøùúûüýÿΑΒΕΖΗΙΚΜΝΟΡΤΥΧο‘’“”";
constexpr std::string_view kMarkedBases =
    "AAAAAACEEEEIIIINOOOOOOUUUUYaaaaaaceeeeiiiinoooooouuuuyyABEZHIKMNOPTYXo''\"\"";
constexpr std::string_view kMarksOfThem = "`'^~:o,`'^:`'^:~`'^~:/`'^:'`'^~:o,`'^:`'^:~`'^~:/`'^:':                   ";
static_assert(kMarkedLetters.size() == kMarkedBases.size() && kMarkedBases.size() == kMarksOfThem.size());

constexpr double kMarkOverSmall = 11.5;
constexpr double kMarkOverCapital = 15.5;

/// A mark from the middle of its letter; those above letters stand on 0.
std::string_view mark_strokes(char mark, bool small) {
  switch (mark) {
    case '`':
      return "-2,3 1,0";
    case '\'':
      return "2,3 -1,0";
    case '^':
      return "-3,0 0,3 3,0";
    case '~':
      return "-3,0 -2,2 0,1 2,0 3,2";
    case ':':
      return "-2,1 -2,2; 2,1 2,2";
    case 'o':
      return "0,0 -1,1 0,3 1,1 0,0";
    case ',':
      return "0,0 1,-2 -1,-4";
    case '/':
      return small ? "-5,-1 5,11" : "-6,-1 6,15";
    default:
      return "";
  }
}

/// `text`: as in `kDrawnLetters`.
void append_strokes(std::string_view text, double right, double up, std::vector<StrokePoint>& strokes) {
  bool begins = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view point = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t comma = point.find(',');
    int x = 0;
    int y = 0;
    std::from_chars(point.data(), point.data() + comma, x);
    std::from_chars(point.data() + comma + 1, point.data() + point.size(), y);
    strokes.push_back({x + right, y + up, begins});
    begins = point.ends_with(';');
  }
}

/// Returns how many bytes the code point that begins with `first` has, and its bits there; none: 0 bytes.
std::pair<std::size_t, char32_t> first_bits(unsigned char first) {
  if (first < 0x80U) return {1, first};
  if ((first & 0xE0U) == 0xC0U) return {2, first & 0x1FU};
  if ((first & 0xF0U) == 0xE0U) return {3, first & 0x0FU};
  if ((first & 0xF8U) == 0xF0U) return {4, first & 0x07U};
  return {0, 0};
}

std::string utf8_of(char32_t letter) {
  const auto tail = [&](unsigned shift) { return static_cast<char>(0x80U | ((letter >> shift) & 0x3FU)); };
  if (letter < 0x80U) return {static_cast<char>(letter)};
  if (letter < 0x800U) return {static_cast<char>(0xC0U | (letter >> 6U)), tail(0)};
  if (letter < 0x10000U) return {static_cast<char>(0xE0U | (letter >> 12U)), tail(6), tail(0)};
  return {static_cast<char>(0xF0U | (letter >> 18U)), tail(12), tail(6), tail(0)};
}

}  // namespace

std::u32string code_points(std::string_view text) {
  std::u32string points;
  for (std::size_t i = 0; i < text.size();) {
    auto [length, point] = first_bits(static_cast<unsigned char>(text[i]));
    bool whole = length > 0 && i + length <= text.size();
    for (std::size_t k = 1; whole && k < length; ++k) {
      const auto byte = static_cast<unsigned char>(text[i + k]);
      whole = (byte & 0xC0U) == 0x80U;
      point = (point << 6U) | (byte & 0x3FU);
    }
    points += whole && point <= 0x10FFFFU ? point : kNoLetter;
    i += whole ? length : 1;
  }
  return points;
}

StrokeLetter stroke_letter(char32_t letter) {
  StrokeLetter made;
  if (letter == U'\u00A0') made.base = ' ';
  for (const DrawnLetter& drawn : kDrawnLetters) {
    if (drawn.letter != letter) continue;
    append_strokes(drawn.strokes, 0, 0, made.strokes);
    made.width = drawn.width;
  }
  const std::size_t at = kMarkedLetters.find(letter);
  if (at == std::u32string_view::npos) return made;
  made.base = kMarkedBases[at];
  const char mark = kMarksOfThem[at];
  const bool small = made.base >= 'a';
  if (made.base == 'i') {  // without its dot
    made.base = 0;
    append_strokes("0,0 0,10", 0, 0, made.strokes);
  }
  const double up = mark == ',' || mark == '/' ? 0 : small ? kMarkOverSmall : kMarkOverCapital;
  append_strokes(mark_strokes(mark, small), 0, up, made.strokes);
  return made;
}

char win_ansi_letter(char32_t letter) {
  // From 0x80 on; blanks are codes that are not used.
  constexpr std::u32string_view kBetween = U"€ ‚ƒ„…†‡ˆ‰Š‹Œ Ž  ‘’“”•–—˜™š›œ žŸ";
  if ((letter >= 0x20 && letter < 0x7F) || (letter >= 0xA0 && letter <= 0xFF)) return static_cast<char>(letter);
  if (letter == U'−') return '-';
  const std::size_t at = kBetween.find(letter);
  return at == std::u32string_view::npos ? '\0' : static_cast<char>(0x80 + at);
}

char symbol_letter(char32_t letter) {
  constexpr std::u32string_view kLetters =
      U"ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖαβχδεφγηιϕκλμνοπθρστυϖωξψζ≤∞←↑→↓≥∝∂≠≡≈∩∪⊃⊂∈∇√∧∨∏∑";
  constexpr std::string_view kCodes =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
      "\xA3\xA5\xAC\xAD\xAE\xAF\xB3\xB5\xB6\xB9\xBA\xBB\xC7\xC8\xC9\xCC\xCE\xD1\xD6\xD9\xDA\xD5\xE5";
  static_assert(kLetters.size() == kCodes.size());
  const std::size_t at = kLetters.find(letter);
  return at == std::u32string_view::npos ? '\0' : kCodes[at];
}

void note_missing_letters(std::string_view format, const std::u32string& letters) {
  const std::set<char32_t> named(letters.begin(), letters.end());
  if (named.empty()) return;
  std::string list;
  std::size_t count = 0;
  for (const char32_t letter : named) {
    if (++count <= kMostLettersNamed) list += ' ' + printable(utf8_of(letter));
  }
  if (count > kMostLettersNamed) list += " and " + std::to_string(count - kMostLettersNamed) + " more";
  note("plumbline: note: the letters of " + std::string(format) + " pictures lack" + list +
       ", so that question marks stand for them" + " (SVG pictures have all letters)");
}

}  // namespace plumb
