#include "models/text_file.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "models/error.hpp"

namespace plumb {

std::string read_text_file(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw Error(path.string() + ": is a directory, expected a file");
  }
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error(path.string() + ": cannot open: " + std::strerror(errno));
  std::ostringstream text;
  text << in.rdbuf();
  if (in.bad() || text.bad()) throw Error(path.string() + ": cannot read: " + std::strerror(errno));
  return std::move(text).str();
}

bool is_document_path(std::string_view name) {
  return name.find('/') != std::string_view::npos || name.ends_with(".json");
}

}  // namespace plumb
