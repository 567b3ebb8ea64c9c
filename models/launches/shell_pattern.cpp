#include "models/launches/shell_pattern.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace plumb {
namespace {

/// What stands for one letter of the text, or for any number of them.
struct PatternItem {
  enum class Kind : std::uint8_t { kLetter, kAny, kMany, kOneOf, kNoneOf };

  Kind kind = Kind::kLetter;
  std::string_view letters;  ///< letters of kOneOf and kNoneOf as they are written, "a-z_"

  bool takes(char letter) const {
    if (kind == Kind::kLetter) return letters[0] == letter;
    if (kind != Kind::kOneOf && kind != Kind::kNoneOf) return true;
    bool in = false;
    for (std::size_t k = 0; k < letters.size(); ++k) {
      if (k + 2 < letters.size() && letters[k + 1] == '-') {
        in = in || (letters[k] <= letter && letter <= letters[k + 2]);
        k += 2;
      } else {
        in = in || letters[k] == letter;
      }
    }
    return in == (kind == Kind::kOneOf);
  }
};

using PatternItems = std::vector<PatternItem>;

PatternItems items_of(std::string_view pattern) {
  using Kind = PatternItem::Kind;
  PatternItems items;
  const std::size_t last_close = pattern.rfind(']');
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    const bool negated = at + 1 < pattern.size() && (pattern[at + 1] == '!' || pattern[at + 1] == '^');
    const std::size_t begin = at + (negated ? 2 : 1);
    const bool closes = pattern[at] == '[' && last_close != std::string_view::npos && begin < last_close;
    if (closes) {
      const std::size_t close = pattern.find(']', begin + 1);  // a ] that comes first is one of the letters
      items.push_back({negated ? Kind::kNoneOf : Kind::kOneOf, pattern.substr(begin, close - begin)});
      at = close;
    } else if (pattern[at] == '*') {
      if (items.empty() || items.back().kind != Kind::kMany) items.push_back({Kind::kMany, {}});
    } else {
      items.push_back({pattern[at] == '?' ? Kind::kAny : Kind::kLetter, pattern.substr(at, 1)});
    }
  }
  return items;
}

/// Reads a text letter by letter and knows all items that may come next.
class PatternMatch {
 public:
  PatternMatch(const PatternItems& items, ShellWork& work) : items_(items), work_(work) { reach(0, next_); }

  /// Returns whether what was read so far is what the pattern describes.
  bool complete() const { return !next_.empty() && next_.back() == items_.size(); }

  /// Returns whether any text that begins with what was read so far can be.
  bool read(char letter) {
    std::vector<std::size_t> after;
    for (const std::size_t at : next_) {
      if (at == items_.size() || !work_.spend(1 + items_[at].letters.size()) || !items_[at].takes(letter)) continue;
      reach(items_[at].kind == PatternItem::Kind::kMany ? at : at + 1, after);
    }
    next_ = std::move(after);
    return !next_.empty() && !work_.exhausted();
  }

 private:
  /// `at`, and what stands behind it where it stands for nothing. The positions in `to` ascend.
  void reach(std::size_t at, std::vector<std::size_t>& to) const {
    for (;; ++at) {
      if (to.empty() || to.back() < at) to.push_back(at);
      if (at == items_.size() || items_[at].kind != PatternItem::Kind::kMany) return;
    }
  }

  const PatternItems& items_;
  ShellWork& work_;
  std::vector<std::size_t> next_;
};

}  // namespace

bool shell_pattern_fits(std::string_view pattern, std::string_view text, ShellWork& work) {
  const auto length = shell_pattern_length(pattern, text, ShellPart::kLongestBeginning, work);
  return length == text.size();
}

std::optional<std::size_t> shell_pattern_length(std::string_view pattern, std::string_view text, ShellPart part,
                                                ShellWork& work) {
  if (!work.spend(pattern.size())) return std::nullopt;
  const bool at_end = part == ShellPart::kShortestEnd || part == ShellPart::kLongestEnd;
  const bool shortest = part == ShellPart::kShortestBeginning || part == ShellPart::kShortestEnd;
  PatternItems items = items_of(pattern);
  if (at_end) std::ranges::reverse(items);
  PatternMatch match(items, work);
  std::optional<std::size_t> length;
  for (std::size_t k = 0;; ++k) {
    if (match.complete()) length = k;
    if ((length && shortest) || k == text.size() || !match.read(text[at_end ? text.size() - 1 - k : k])) break;
  }
  return work.exhausted() ? std::nullopt : length;
}

}  // namespace plumb
