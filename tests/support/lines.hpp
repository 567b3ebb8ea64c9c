#pragma once

#include <initializer_list>
#include <string>

namespace plumb::testing {

/// Lines below each other, so that a failing check can be read.
inline std::string lines(std::initializer_list<std::string> texts) {
  std::string joined;
  for (const std::string& text : texts) joined += text + "\n";
  return joined;
}

}  // namespace plumb::testing
