#include "trainer/ground/choices_file.hpp"

#include <algorithm>
#include <span>

#include "models/ground/disk.hpp"
#include "models/ground/error.hpp"
#include "trainer/ground/durable_file.hpp"

namespace plumb {

void read_choices(std::string_view text, const std::string& name, const std::string& head,
                  const std::function<void(std::string_view row, const std::string& where)>& take) {
  if (text.empty()) throw Error(name + ": empty; expected '" + head + "'");
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view row = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string where = name + ":" + std::to_string(line) + ": ";
    if (line > 1) {
      take(row, where);
    } else if (row != head) {
      throw Error(where + "'" + std::string(row) + "'; expected '" + head + "'");
    }
  }
}

void save_choices(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::path unfinished = path;
  unfinished += ".unfinished";
  DurableFile file(unfinished);
  file.write(std::as_bytes(std::span(text)));
  file.close();
  check_written(path, disk::rename(unfinished, path));
}

}  // namespace plumb
