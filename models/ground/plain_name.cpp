#include "models/ground/plain_name.hpp"

namespace plumb {

std::string dashed_name(std::string_view name) {
  std::string dashed(name);
  for (char& c : dashed) {
    if (c == '_' || c == ' ') c = '-';
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return dashed;
}

std::string plain_name(std::string_view name) {
  std::string plain = dashed_name(name);
  std::erase(plain, '-');
  return plain;
}

}  // namespace plumb
