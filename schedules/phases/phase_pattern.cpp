#include "schedules/phases/phase_pattern.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "models/ground/error.hpp"

namespace plumb {
namespace {

struct PatternOp {
  std::string_view name;
  Op op;
};
/// Longer names before those that they begin with.
constexpr std::array<PatternOp, 9> kPatternOps{{{"REDUCE_GRAD", Op::kReduceGrad},
                                                {"EVICT", Op::kEvict},
                                                {"LOAD", Op::kLoad},
                                                {"F", Op::kF},
                                                {"B", Op::kB},
                                                {"I", Op::kI},
                                                {"W", Op::kW},
                                                {"R", Op::kR},
                                                {"U", Op::kU}}};

bool has_stream(Op op) { return op == Op::kF || op == Op::kW || op == Op::kR || is_backward(op); }

bool is_whole(std::string_view text) {
  return !text.empty() && text.size() < 5 && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// The last `wanted` of `text` that stands outside of parentheses and brackets; npos: none.
std::size_t last_outside(std::string_view text, char wanted) {
  std::size_t found = std::string_view::npos;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '(' || text[i] == '[' ? 1 : text[i] == ')' || text[i] == ']' ? -1 : 0;
    if (depth == 0 && text[i] == wanted) found = i;
  }
  return found;
}

class PatternReader {
 public:
  explicit PatternReader(const std::string& where) : where_(where) {}

  std::vector<PhasePass> read(std::string_view text) {
    while (true) {
      const std::size_t begin = text.find_first_not_of(" \t\r");
      if (begin == std::string_view::npos) break;
      text.remove_prefix(begin);
      const std::size_t end = std::min(text.find(' '), text.size());
      take_word(text.substr(0, end));
      text.remove_prefix(end);
    }
    if (passes_.empty()) fail("expected passes behind the colon, such as F0 B0");
    return std::move(passes_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw Error(where_ + ": " + what); }

  void take_word(std::string_view word) {
    std::string count;
    const std::size_t star = last_outside(word, '*');
    if (star != std::string_view::npos) {
      count = word.substr(0, star);
      word.remove_prefix(star + 1);
    }
    if (word.empty() || word.front() != '(') {
      passes_.push_back(pass(word));
    } else {
      const std::string_view inside = word.size() > 2 ? word.substr(1, word.size() - 2) : std::string_view{};
      const std::size_t middle = last_outside(inside, ';');
      if (word.back() != ')' || middle == std::string_view::npos) {
        fail("'" + std::string(word) + "', expected (F0;B0)");
      }
      passes_.push_back(pass(inside.substr(0, middle)));
      passes_.back().with_next = true;
      passes_.back().count = count;
      passes_.push_back(pass(inside.substr(middle + 1)));
    }
    passes_.back().count = count;
  }

  PhasePass pass(const std::string_view word) const {
    PhasePass pass;
    std::string_view rest = word;
    if (!rest.empty() && rest.front() == '[') {
      const std::size_t colon = last_outside(rest, ':');
      if (colon == std::string_view::npos || rest[colon - 1] != ']') fail_pass(word);
      pass.copy = rest.substr(1, colon - 2);
      rest.remove_prefix(colon + 1);
    }
    const auto named =
        std::ranges::find_if(kPatternOps, [&](const PatternOp& one) { return rest.starts_with(one.name); });
    if (named == kPatternOps.end()) fail_pass(word);
    pass.op = named->op;
    rest.remove_prefix(named->name.size());
    if (is_move(pass.op)) take_place(word, rest, pass);
    if (has_stream(pass.op) && rest.ends_with('-')) {
      pass.newest = true;
      rest.remove_suffix(1);
    }
    take_chunk(word, rest, pass);
    return pass;
  }

  [[noreturn]] void fail_pass(std::string_view word) const {
    fail("'" + std::string(word) + "', expected F, B, I or W of a chunk, such as F0 or F@stream");
  }

  /// "@host" or "@3" at the end.
  void take_place(std::string_view word, std::string_view& rest, PhasePass& pass) const {
    const std::size_t at = last_outside(rest, '@');
    if (at == std::string_view::npos || at + 1 == rest.size()) {
      fail("'" + std::string(word) + "', expected where it moves, such as LOAD0@host");
    }
    pass.where = rest.substr(at + 1);
    rest = rest.substr(0, at);
  }

  void take_chunk(std::string_view word, std::string_view rest, PhasePass& pass) const {
    if (rest.starts_with('@') && has_stream(pass.op)) {
      pass.stream = rest.substr(1);
    } else if (rest.starts_with('[') && rest.ends_with(']') && rest.size() > 2) {
      pass.chunk = rest.substr(1, rest.size() - 2);
    } else if (is_whole(rest)) {
      pass.chunk = rest;
    } else if (!rest.empty()) {
      fail("'" + std::string(rest) + "', expected the number of a chunk");
    } else if (pass.op != Op::kW) {
      fail("'" + std::string(word) + "' has no chunk, expected one, such as F0 or F@stream");
    }
  }

  const std::string& where_;
  std::vector<PhasePass> passes_;
};

}  // namespace

std::vector<PhasePass> phase_pattern(std::string_view text, const std::string& where) {
  return PatternReader(where).read(text);
}

}  // namespace plumb
