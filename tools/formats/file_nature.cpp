#include "tools/formats/file_nature.hpp"

#include <algorithm>
#include <array>

#include "models/ground/error.hpp"
#include "models/ground/given_files.hpp"
#include "models/ground/text_file.hpp"

namespace plumb {
namespace {

struct FileNature {
  std::string_view begins;
  std::string_view what;
  bool schedule = false;  ///< it may be a schedule
};

constexpr std::array kNatures{
    FileNature{"\x1f\x8b", "packed by gzip"},
    FileNature{"SQLite format 3", "a SQLite database"},
    FileNature{"\x89PNG", "a PNG picture"},
    FileNature{"%PDF", "a PDF"},
    FileNature{"<", "a page or a picture (HTML, SVG or XML)"},
    FileNature{"device,lane,op,", "the table of a timeline that --csv writes"},
    FileNature{"\x7f"
               "ELF",
               "a program", true},
    FileNature{"#!", "a script", true},
    FileNature{"d0:", "a text schedule", true},
    FileNature{"name:", "a text schedule", true},
};

const FileNature* find_nature(std::string_view bytes) {
  const auto found =
      std::ranges::find_if(kNatures, [&](const FileNature& one) { return bytes.starts_with(one.begins); });
  return found == kNatures.end() ? nullptr : &*found;
}

[[noreturn]] void refuse_as(const std::string& path, std::string_view what, std::string_view expected) {
  throw Error(path + ": is " + std::string(what) + ", expected " + std::string(expected));
}

}  // namespace

void refuse_known_kind(std::string_view bytes, const std::string& path, std::string_view expected) {
  if (const FileNature* nature = find_nature(bytes)) refuse_as(path, nature->what, expected);
}

void require_json(std::string_view bytes, const std::string& path, std::string_view expected) {
  const std::size_t first = bytes.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) refuse_as(path, "empty", expected);
  if (bytes[first] == '{' || bytes[first] == '[') return;
  refuse_known_kind(bytes, path, expected);
  refuse_as(path, "no JSON", expected);
}

void refuse_picture(std::string_view bytes, const std::string& path, std::string_view expected) {
  constexpr std::string_view kBegin = R"({"displayTimeUnit":"ns","otherData":{"schedule":)";
  if (bytes.starts_with(kBegin)) refuse_as(path, "the picture of a timeline that --trace writes", expected);
}

void refuse_no_schedule(std::string_view bytes, const std::string& path) {
  const FileNature* nature = find_nature(bytes);
  if (nature != nullptr && !nature->schedule) refuse_as(path, nature->what, "a schedule");
}

bool begins_as_schedule(std::string_view bytes) {
  constexpr std::size_t kHead = 4096;  // a key of its format stands in it
  const std::size_t first = bytes.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return false;
  if (bytes[first] == '{' || bytes[first] == '[') {
    return bytes.substr(first, kHead).find("\"plumbline-schedule\"") != std::string_view::npos;
  }
  const FileNature* nature = find_nature(bytes);
  return nature == nullptr || nature->schedule;
}

std::string read_named_input(const std::string& path, const FileKind& kind) {
  if (path != "-" || GivenFiles::find(path) != nullptr) return read_text_file(path, kind);
  if (GivenFiles::current().texts != nullptr) {
    throw Error("-: a request has no standard input, expected the name of a file, or of a text in 'files'");
  }
  return read_text_file("/dev/stdin", kind);
}

}  // namespace plumb
