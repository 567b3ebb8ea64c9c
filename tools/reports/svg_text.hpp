#pragma once

#include <string>
#include <string_view>

namespace plumb {

// What all SVG pictures share.

/// Fonts and the classes bg, lane, ink, dim, grid, axis, on-dark, on-light, for light and dark themes.
extern const std::string_view kSvgStyle;

/// Returns a length with at most two digits after the decimal point.
std::string px(double value);

/// `text` for use in an attribute or between tags. Bytes that are no UTF-8 are shown as `printable` shows them.
std::string xml_escaped(std::string_view text);

/// `<rect .../>`; `more` are further attributes.
std::string svg_rect(double left, double top, double width, double height, std::string_view more);

/// `<text ...>content</text>`, content escaped; `more` are further attributes.
std::string svg_text(double left, double top, double size, std::string_view more, std::string_view content);

/// Returns the smallest of 1, 2, 5 times a power of ten that is at least `step`.
double nice_step(double step);

}  // namespace plumb
