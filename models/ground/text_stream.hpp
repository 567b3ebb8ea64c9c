#pragma once

#include <sstream>
#include <string>
#include <utility>

namespace plumb {

/// A string stream that tells what goes wrong: where memory runs out, it throws `std::bad_alloc`. One of the standard
/// library keeps silent, and what follows is missing.
class TextStream : public std::stringstream {
 public:
  TextStream() { exceptions(badbit); }
  explicit TextStream(std::string text) : std::stringstream(std::move(text)) { exceptions(badbit); }
};

}  // namespace plumb
