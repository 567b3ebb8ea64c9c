#include "tests/support/golden.hpp"
#include "tests/support/source_directory.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

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
  return text.str();
}

}  // namespace plumb::testing
