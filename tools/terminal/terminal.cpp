#include "tools/terminal/terminal.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <sys/ioctl.h>
#include <unistd.h>

namespace plumb {
namespace {

constexpr int kLeastColumns = 40;
constexpr int kMostColumns = 1000;

}  // namespace

bool is_terminal(std::FILE* stream) {
  const char* term = std::getenv("TERM");
  return ::isatty(::fileno(stream)) == 1 && (term == nullptr || std::strcmp(term, "dumb") != 0);
}

bool wants_colour() {
  const char* refused = std::getenv("NO_COLOR");
  return is_terminal(stdout) && (refused == nullptr || *refused == '\0');
}

int terminal_columns() {
  int columns = kDefaultColumns;
  winsize size{};
  if (const char* given = std::getenv("COLUMNS"); given != nullptr && std::atoi(given) > 0) {
    columns = std::atoi(given);
  } else if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    columns = size.ws_col;
  }
  return std::clamp(columns, kLeastColumns, kMostColumns);
}

}  // namespace plumb
