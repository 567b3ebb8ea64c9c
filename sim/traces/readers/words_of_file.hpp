#pragma once

#include <algorithm>
#include <functional>
#include <string_view>

namespace plumb {

/// Returns whether a file of any length holds these words. The search jumps by the length of the words, where `find`
/// stops at every letter that is their first one: JSON is full of quotes.
inline bool holds_words(std::string_view text, std::string_view words) {
  return std::search(text.begin(), text.end(), std::boyer_moore_horspool_searcher(words.begin(), words.end())) !=
         text.end();
}

}  // namespace plumb
