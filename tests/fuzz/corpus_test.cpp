#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "models/ground/text_file.hpp"
#include "tests/support/source_directory.hpp"

// The fuzz targets of tests/fuzz, each under its own name: PLUMB_FUZZ_TARGET(stem) for stem_fuzz.cpp.
#define PLUMB_FUZZ_TARGET(stem) extern "C" int fuzz_##stem(const std::uint8_t* data, std::size_t size);
#include "fuzz_targets.inc"
#undef PLUMB_FUZZ_TARGET

TEST_SUITE_BEGIN("fuzz");

namespace plumb::testing {
namespace {

using Target = int (*)(const std::uint8_t*, std::size_t);

/// Runs the target on every file of its corpus, and on every beginning of the short ones; returns the files.
int run_corpus(const std::string& stem, Target target) {
  int files = 0;
  const std::filesystem::path corpus = std::filesystem::path(plumb::testing::in_source("tests/fuzz/corpus")) / stem;
  for (const auto& entry : std::filesystem::directory_iterator(corpus)) {
    const std::string name = entry.path().string();
    CAPTURE(name);
    const std::string text = read_text_file(entry.path());
    const auto* data = reinterpret_cast<const std::uint8_t*>(text.data());
    for (std::size_t size = text.size() > 300 ? text.size() : 0; size <= text.size(); ++size) {
      CHECK(target(data, size) == 0);
    }
    ++files;
  }
  return files;
}

}  // namespace

#define PLUMB_FUZZ_TARGET(stem)                                                          \
  TEST_CASE("every file in the corpus of " #stem " is read or refused, never a crash") { \
    CHECK(run_corpus(#stem, fuzz_##stem) > 0);                                           \
  }
#include "fuzz_targets.inc"
#undef PLUMB_FUZZ_TARGET

}  // namespace plumb::testing

TEST_SUITE_END();
