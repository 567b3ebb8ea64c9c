#include "tests/support/golden.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <doctest/doctest.h>

#include "tests/support/source_directory.hpp"

namespace plumb::testing {

std::string golden(const std::string& name, const std::string& actual) {
  const std::filesystem::path path = std::filesystem::path(in_source("tests/golden")) / name;
  if (std::getenv("PLUMB_UPDATE_GOLDEN") != nullptr) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << actual;
  }
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (text.str() != actual) {
    MESSAGE("tests/golden/" << name << (file.is_open() ? " differs" : " is missing")
                            << ": where that is meant, run this test with PLUMB_UPDATE_GOLDEN=1 and review the file");
  }
  return text.str();
}

}  // namespace plumb::testing
