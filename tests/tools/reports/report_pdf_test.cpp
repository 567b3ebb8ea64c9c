#include "tools/reports/report_pdf.hpp"

#include <doctest/doctest.h>

#include "tests/support/golden.hpp"
#include "tests/support/synthetic_timeline.hpp"
#include "tools/terminal/notes.hpp"

TEST_SUITE_BEGIN("tools");

namespace plumb {
namespace {

using testing::golden;
using testing::synthetic_timeline;

TEST_CASE("the PDF picture of two devices and two microbatches is the reviewed one") {
  const std::string pdf = pdf_report(synthetic_timeline({.devices = 2, .microbatches = 2, .transfer_ns = 250'000}));
  CHECK(pdf == golden("reports/two_by_two.pdf", pdf));
}

TEST_CASE("the table of a PDF picture says where each of its objects begins") {
  const std::string pdf = pdf_report(synthetic_timeline({.name = "a (b) \\ µ ü", .devices = 3, .microbatches = 5}));
  const std::size_t table = std::stoul(pdf.substr(pdf.find("startxref\n") + 10));
  REQUIRE(pdf.compare(table, 5, "xref\n") == 0);
  std::size_t line = pdf.find("f \n", table) + 3;
  const int objects = std::stoi(pdf.substr(table + 7));
  CHECK(objects > 7);  // patterns among them
  for (int object = 1; object < objects; ++object, line += 20) {
    const std::string begin = std::to_string(object) + " 0 obj\n";
    CHECK(pdf.compare(std::stoul(pdf.substr(line, 10)), begin.size(), begin) == 0);
  }
  CHECK(pdf.find("(a \\(b\\) \\\\ \\265 \\374)") != std::string::npos);
}

TEST_CASE("a PDF picture has the width and the caption that were asked for, and idle time is hatched by its cause") {
  const Timeline timeline = synthetic_timeline({.devices = 2, .microbatches = 2});
  const std::string pdf = pdf_report(
      timeline, {.width_cm = 8.5, .caption = "Two devices, and what a long caption does where a column is narrow"});
  CHECK(pdf.find(" 240.94 ") != std::string::npos);  // of the MediaBox: 8.5 cm in points
  CHECK(pdf.find("(Two devices, and what a long caption does") != std::string::npos);
  CHECK(pdf.find("(narrow)") != std::string::npos);
  CHECK(pdf.find("/PatternType 1") != std::string::npos);
  CHECK(pdf.find("(idle: warm-up)") != std::string::npos);
  CHECK(pdf_report(timeline).find(" 453.54 ") != std::string::npos);
}

TEST_CASE("letters of Latin-1 and Greek ones are in a PDF picture, and what its fonts lack is said") {
  const CollectedNotes notes;
  const Timeline timeline = synthetic_timeline({.devices = 2, .microbatches = 2});
  const std::string pdf = pdf_report(timeline, {.caption = "τ = 3 — naïve Größe"});
  CHECK(pdf.find("/F2 7.0 Tf ") != std::string::npos);
  CHECK(pdf.find("(t) Tj /F1 7.0 Tf ( = 3 \\227 na\\357ve Gr\\366\\337e) Tj ET") != std::string::npos);
  CHECK(pdf.find("/BaseFont /Symbol") != std::string::npos);
  CHECK(notes.lines().empty());
  CHECK(pdf_report(timeline, {.caption = "漢字 and 漢"}).find("(?? and ?)") != std::string::npos);
  REQUIRE(notes.lines().size() == 1);
  CHECK(notes.lines()[0].find("PDF pictures lack 字 漢,") != std::string::npos);
}

TEST_CASE("ten times the microbatches do not make a long PDF picture larger than its hairs allow") {
  const std::string once = pdf_report(synthetic_timeline({.devices = 2, .microbatches = 10'000}));
  const std::string ten_times = pdf_report(synthetic_timeline({.devices = 2, .microbatches = 100'000}));
  CHECK(once.size() < 500'000);
  CHECK(ten_times.size() < once.size() * 11 / 10);
}

}  // namespace
}  // namespace plumb

TEST_SUITE_END();
