#include "tools/formats/named_input.hpp"

#include "models/ground/error.hpp"
#include "models/ground/given_files.hpp"
#include "models/ground/text_file.hpp"

namespace plumb {

std::string read_named_input(const std::string& path, const FileKind& kind) {
  if (path != "-" || GivenFiles::find(path) != nullptr) return read_text_file(path, kind);
  if (GivenFiles::current().texts != nullptr) {
    throw Error("-: a request has no standard input, expected the name of a file, or of a text in 'files'");
  }
  return read_text_file("/dev/stdin", kind);
}

}  // namespace plumb
