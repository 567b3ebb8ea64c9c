#include "models/ground/text_file.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "models/ground/error.hpp"

namespace plumb {
std::string read_text_file(const std::filesystem::path& path, std::size_t most_bytes) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw Error(path.string() + ": is a directory, expected a file");
  }
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error(path.string() + ": cannot open: " + std::strerror(errno));
  // Blocks that double, because not everything that can be read knows its size, and not everything ends.
  std::string text;
  for (std::size_t block = std::size_t{1} << 16U; in; block *= 2) {
    const std::size_t size = text.size();
    if (size > most_bytes) {
      throw Error(path.string() + ": longer than " + std::to_string(most_bytes) +
                  " bytes, expected a document that ends");
    }
    text.resize(size + block);
    in.read(text.data() + size, static_cast<std::streamsize>(block));
    text.resize(size + static_cast<std::size_t>(in.gcount()));
  }
  if (in.bad()) throw Error(path.string() + ": cannot read: " + std::strerror(errno));
  return text;
}

bool is_document_path(std::string_view name) {
  return name.find('/') != std::string_view::npos || name.ends_with(".json") || name.ends_with(".txt");
}

}  // namespace plumb
