#include "tests/support/source_directory.hpp"

namespace plumb::testing {

std::string in_source(const std::string& path) { return std::string(PLUMB_SOURCE_DIR) + "/" + path; }

}  // namespace plumb::testing
