#include "tools/reports/svg_text.hpp"

#include <array>
#include <cmath>
#include <cstdio>

#include "models/ground/error.hpp"

namespace plumb {

const std::string_view kSvgStyle = R"(<style>
text{font-family:Inter,"Segoe UI",system-ui,-apple-system,"Helvetica Neue",Arial,"Liberation Sans",sans-serif}
.bg{fill:#ffffff}.lane{fill:#f1f4f7}.ink{fill:#18222d}.dim{fill:#5d6b7a}.grid{stroke:#dfe5eb}.axis{stroke:#aab5c0}
.on-dark{fill:#ffffff}.on-light{fill:#101821}
@media (prefers-color-scheme:dark){
.bg{fill:#10171f}.lane{fill:#1a232d}.ink{fill:#eaf0f6}.dim{fill:#93a2b2}.grid{stroke:#25303c}.axis{stroke:#4a5866}}
</style>
)";

std::string px(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2f", value);
  std::string result = text.data();
  result.erase(result.find_last_not_of('0') + 1);
  if (result.back() == '.') result.pop_back();
  return result == "-0" ? "0" : result;
}

std::string xml_escaped(std::string_view text) {
  std::string plain(text);
  for (char& c : plain) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  std::string result;
  for (const char c : printable(plain)) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  for (const std::string_view none : {"\xEF\xBF\xBE", "\xEF\xBF\xBF"}) {  // no characters of XML
    for (std::size_t at = result.find(none); at != std::string::npos; at = result.find(none, at)) {
      result.replace(at, none.size(), "\xEF\xBF\xBD");
    }
  }
  return result;
}

std::string svg_rect(double left, double top, double width, double height, std::string_view more) {
  return "<rect x=\"" + px(left) + "\" y=\"" + px(top) + "\" width=\"" + px(width) + "\" height=\"" + px(height) +
         "\" " + std::string(more) + "/>";
}

std::string svg_text(double left, double top, double size, std::string_view more, std::string_view content) {
  return "<text x=\"" + px(left) + "\" y=\"" + px(top) + "\" font-size=\"" + px(size) + "\" " + std::string(more) +
         ">" + xml_escaped(content) + "</text>\n";
}

double nice_step(double step) {
  const double power = std::pow(10, std::floor(std::log10(step)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= step * 0.999) return factor * power;
  }
  return 10 * power;
}

}  // namespace plumb
