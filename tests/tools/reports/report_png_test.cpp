#include "tools/reports/report_png.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <zlib.h>

#include "models/ground/error.hpp"
#include "tests/support/synthetic_timeline.hpp"
#include "tools/reports/report_palette.hpp"
#include "tools/terminal/notes.hpp"

TEST_SUITE_BEGIN("tools");

namespace plumb {
namespace {

using testing::synthetic_timeline;

/// A PNG as it is read: sums of its chunks are right.
struct ReadPng {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint32_t dots_per_meter = 0;
  std::map<std::uint32_t, int> colours;  ///< how many pixels have each
};

std::uint32_t number_at(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8U | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

void read_pixels(std::string_view packed, ReadPng& png) {
  const std::size_t row = std::size_t{3} * png.width + 1;
  std::vector<unsigned char> bytes(row * png.height);
  uLongf size = bytes.size();
  REQUIRE(uncompress(bytes.data(), &size, reinterpret_cast<const unsigned char*>(packed.data()), packed.size()) ==
          Z_OK);
  REQUIRE(size == bytes.size());
  for (std::size_t y = 0; y < png.height; ++y) {
    REQUIRE(bytes[y * row] == 2);
    for (std::size_t i = 1; y > 0 && i < row; ++i) {
      bytes[y * row + i] = static_cast<unsigned char>(bytes[y * row + i] + bytes[(y - 1) * row + i]);
    }
    for (std::size_t i = 1; i < row; i += 3) {
      ++png.colours[std::uint32_t{bytes[y * row + i]} << 16U | std::uint32_t{bytes[y * row + i + 1]} << 8U |
                    bytes[y * row + i + 2]];
    }
  }
}

ReadPng read_png(std::string_view file) {
  ReadPng png;
  REQUIRE(file.starts_with("\x89PNG\r\n\x1a\n"));
  for (std::size_t at = 8; at < file.size();) {
    const std::size_t length = number_at(file, at);
    const std::string_view body = file.substr(at + 4, 4 + length);
    CHECK(number_at(file, at + 8 + length) ==
          crc32(0, reinterpret_cast<const unsigned char*>(body.data()), static_cast<uInt>(body.size())));
    if (body.starts_with("IHDR")) {
      png.width = number_at(body, 4);
      png.height = number_at(body, 8);
    }
    if (body.starts_with("pHYs")) png.dots_per_meter = number_at(body, 4);
    if (body.starts_with("IDAT")) read_pixels(body.substr(4), png);
    at += 12 + length;
  }
  return png;
}

int pixels_of(const ReadPng& png, std::string_view colour) {
  const auto found =
      png.colours.find(static_cast<std::uint32_t>(std::stoul(std::string(colour.substr(1)), nullptr, 16)));
  return found == png.colours.end() ? 0 : found->second;
}

int pixels_of(const ReadPng& png, Op op) { return pixels_of(png, kOpColours[static_cast<std::size_t>(op)]); }

}  // namespace

TEST_CASE("a PNG picture shows every action as wide as it is long, and hatches idle time") {
  if (!why_no_png().empty()) return;
  const Timeline timeline = synthetic_timeline({.devices = 2, .microbatches = 2, .transfer_ns = 250'000});
  const ReadPng png = read_png(png_report(timeline));
  CHECK(png.width == 1890);  // 16 cm
  CHECK(png.dots_per_meter == 11811);
  const double forward = pixels_of(png, Op::kF);
  CHECK(forward > 10'000);
  CHECK(pixels_of(png, Op::kB) / forward == doctest::Approx(2).epsilon(0.1));  // what takes twice as long
  CHECK(pixels_of(png, kIdleColours[static_cast<std::size_t>(IdleCause::kWarmup)]) > 500);
  CHECK(pixels_of(png, Op::kEvict) == 0);
}

TEST_CASE("a PNG picture has the width and the caption that were asked for") {
  if (!why_no_png().empty()) return;
  const Timeline timeline = synthetic_timeline({.devices = 2, .microbatches = 2});
  const ReadPng plain = read_png(png_report(timeline, {.width_cm = 8.5}));
  const ReadPng said = read_png(png_report(timeline, {.width_cm = 8.5, .caption = "What (a) \xC3\xBC means"}));
  CHECK(plain.width == 1004);
  CHECK(said.height == doctest::Approx(plain.height + 300 * 10 / 72).epsilon(0.01));
  CHECK(pixels_of(said, "#18222d") > pixels_of(plain, "#18222d"));
}

TEST_CASE("letters beyond ASCII are drawn, and those that are not are said") {
  if (!why_no_png().empty()) return;
  const CollectedNotes notes;
  const Timeline timeline = synthetic_timeline({.devices = 2, .microbatches = 2});
  const auto ink = [&](const char* words) {
    return pixels_of(read_png(png_report(timeline, {.caption = words})), "#18222d");
  };
  CHECK(ink("uuuuuuuu") < ink("üüüüüüüü"));
  CHECK(ink("τττττττ") != ink("???????"));
  CHECK(notes.lines().empty());
  CHECK(ink("漢字") == ink("??"));
  REQUIRE(notes.lines().size() == 1);
  CHECK(notes.lines()[0].find("PNG pictures lack 字 漢,") != std::string::npos);
}

TEST_CASE("a program without AGG says so in place of a PNG") {
  if (why_no_png().empty()) return;
  CHECK_THROWS_WITH_AS(png_report(synthetic_timeline({})), doctest::Contains("libagg-dev"), Error);
}

}  // namespace plumb

TEST_SUITE_END();
