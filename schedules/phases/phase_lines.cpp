#include "schedules/phases/phase_lines.hpp"

#include <algorithm>

#include "models/ground/error.hpp"

namespace plumb {
namespace {

std::string_view without_spaces(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

/// Takes the first word of `text`.
std::string_view take_word(std::string_view& text) {
  text = without_spaces(text);
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text = without_spaces(text.substr(end));
  return word;
}

class RuleLines {
 public:
  explicit RuleLines(std::string_view file) : file_(file) {}

  void take(std::string_view line) {
    ++line_;
    line = without_spaces(line.substr(0, line.find('#')));
    if (line.empty()) return;
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos) return take_phase(line.substr(0, colon), line.substr(colon + 1));
    std::string_view rest = line;
    const std::string_view word = take_word(rest);
    if (word == "chunks") {
      rules_.chunks = chunk_number(rest, 1);
    } else if (word == "placement") {
      if (rest != "looped" && rest != "v") fail("placement '" + std::string(rest) + "', expected looped or v");
      rules_.in_v = rest == "v";
    } else if (word == "need") {
      rules_.names.push_back({where(), "", std::string(rest)});
    } else if (word == "let" || word == "stream") {
      take_named(word, rest);
    } else {
      fail("'" + std::string(word) + "', expected chunks, placement, need, let, stream, or COUNT: PASSES");
    }
  }

  PhaseRules finish() {
    if (rules_.lines.empty()) throw Error(file_ + ": expected at least one line COUNT: PASSES");
    return std::move(rules_);
  }

 private:
  std::string where() const { return file_ + ":" + std::to_string(line_); }
  [[noreturn]] void fail(const std::string& what) const { throw Error(where() + ": " + what); }

  std::int32_t chunk_number(std::string_view text, std::int32_t least) const {
    std::int32_t number = 0;
    const bool digits = !text.empty() && text.size() < 5 && text.find_first_not_of("0123456789") == text.npos;
    if (digits) number = std::stoi(std::string(text));
    if (!digits || number < least) fail("'" + std::string(text) + "', expected the number of a chunk");
    return number;
  }

  void take_named(std::string_view word, std::string_view rest) {
    const std::string name(take_word(rest));
    if (take_word(rest) != "=" || rest.empty()) fail(std::string(word) + ": expected NAME = VALUE");
    if (word == "let") {
      rules_.names.push_back({where(), name, std::string(rest)});
      return;
    }
    PhaseStream stream{where(), name, {}};
    while (!rest.empty()) stream.parts.push_back(stream_part(take_word(rest)));
    rules_.streams.push_back(std::move(stream));
  }

  /// "1", "(p-d)*1", "up*p", "down*p": the last star is that of the part.
  StreamPart stream_part(std::string_view text) const {
    StreamPart part{.count = "1"};
    std::string_view what = text;
    if (text.starts_with("up*") || text.starts_with("down*")) {
      part.kind = text[0] == 'u' ? StreamPart::Kind::kUp : StreamPart::Kind::kDown;
      part.count = text.substr(text.find('*') + 1);
      return part;
    }
    const std::size_t star = text.rfind('*');
    if (star != std::string_view::npos) {
      part.count = text.substr(0, star);
      what = text.substr(star + 1);
    }
    part.chunk = chunk_number(what, 0);
    return part;
  }

  void take_phase(std::string_view count, std::string_view passes) {
    PhaseLine line{where(), std::string(without_spaces(count)), {}};
    if (line.count.empty()) fail("expected how often before the colon");
    passes = without_spaces(passes);
    if (passes.empty()) fail("expected passes behind the colon, such as F0 B0");
    while (!passes.empty()) {
      const std::string_view word = take_word(passes);
      if (word.front() != '(') {
        line.passes.push_back(pass(word));
        continue;
      }
      const std::size_t middle = word.find(';');
      if (word.back() != ')' || middle == std::string_view::npos) fail("'" + std::string(word) + "', expected (F0;B0)");
      line.passes.push_back(pass(word.substr(1, middle - 1)));
      line.passes.back().with_next = true;
      line.passes.push_back(pass(word.substr(middle + 1, word.size() - middle - 2)));
    }
    rules_.lines.push_back(std::move(line));
  }

  PhasePass pass(std::string_view word) const {
    constexpr std::string_view kOps = "FBIW";
    constexpr Op kPasses[] = {Op::kF, Op::kB, Op::kI, Op::kW};
    const std::size_t op = word.empty() ? word.npos : kOps.find(word[0]);
    if (op == word.npos) fail("'" + std::string(word) + "', expected F, B, I or W of a chunk, such as F0 or F@stream");
    PhasePass pass{.op = kPasses[op]};
    std::string_view rest = word.substr(1);
    if (rest.ends_with('-')) {
      pass.newest = true;
      rest.remove_suffix(1);
    }
    if (rest.starts_with('@')) {
      pass.stream = rest.substr(1);
    } else if (!rest.empty()) {
      pass.chunk = chunk_number(rest, 0);
    } else if (pass.op != Op::kW) {
      fail("'" + std::string(word) + "' has no chunk, expected one, such as F0 or F@stream");
    }
    return pass;
  }

  std::string file_;
  int line_ = 0;
  PhaseRules rules_;
};

}  // namespace

PhaseRules phase_rules_from_text(std::string_view text, std::string_view file_name) {
  RuleLines lines(file_name);
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.take(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines.finish();
}

}  // namespace plumb
