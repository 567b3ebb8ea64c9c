#pragma once

#include <string_view>

namespace plumb {

/// The text of tools/demo/devils_dictionary.txt, part of the program so that it can train wherever it is installed.
extern const std::string_view kDemoText;

}  // namespace plumb
