#include "schedules/phases/phase_lines.hpp"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "models/ground/error.hpp"
#include "models/ground/reader_limits.hpp"

namespace plumb {
namespace {

using Kind = PhaseStatement::Kind;

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
    std::string_view rest = line;
    const std::string_view word = take_word(rest);
    if (line == "}") {
      close();
    } else if (!take_frame(word, rest) && !take_statement(word, rest)) {
      const std::size_t colon = line.find(':');
      if (colon == std::string_view::npos) {
        fail("'" + std::string(word) +
             "', expected chunks, placement, need, let, stream, COUNT: PASSES or another line of RULES.md");
      }
      if (in_sorted()) fail("expected at SLOT: PASSES inside sorted");
      add(Kind::kPhase, "", line.substr(0, colon), line.substr(colon + 1));
    }
  }

  PhaseRules finish() {
    if (!open_.empty()) throw Error(rules_.statements[open_.back()].where + ": expected a line } behind this block");
    const auto has_passes = [](const PhaseStatement& one) { return !one.passes.empty(); };
    if (std::ranges::none_of(rules_.statements, has_passes))
      throw Error(file_ + ": expected at least one line COUNT: PASSES");
    return std::move(rules_);
  }

 private:
  std::string where() const { return file_ + ":" + std::to_string(line_); }
  [[noreturn]] void fail(const std::string& what) const { throw Error(where() + ": " + what); }

  PlacedText placed(std::string_view text, const char* expected) const {
    text = without_spaces(text);
    if (text.empty()) fail(std::string("expected ") + expected);
    return {where(), std::string(text)};
  }

  /// `left` + `by` + `right`.
  std::pair<PlacedText, PlacedText> both(std::string_view text, std::string_view by, const char* expected) const {
    const std::size_t at = text.find(by);
    if (at == std::string_view::npos) fail(std::string("expected ") + expected);
    return {placed(text.substr(0, at), expected), placed(text.substr(at + by.size()), expected)};
  }

  /// What is said once for the whole schedule.
  bool take_frame(std::string_view word, std::string_view rest) {
    if (word == "chunks") {
      rules_.chunks = chunk_number(rest, 1);
    } else if (word == "placement") {
      if (rest != "looped" && rest != "v") fail("placement '" + std::string(rest) + "', expected looped or v");
      rules_.in_v = rest == "v";
    } else if (word == "option") {
      auto [name, value] = both(rest, "=", "option NAME = EXPRESSION");
      rules_.options.push_back({std::move(name.text), std::move(value)});
    } else if (word == "share") {
      std::tie(rules_.share, rules_.share_item) = both(rest, ":", "share COUNT: EXPRESSION in r and i");
    } else if (word == "recompute") {
      std::tie(rules_.recompute_first, rules_.recompute_last) = both(rest, "..", "recompute FIRST..LAST stage");
    } else if (word == "slices") {
      const std::string_view axis = take_word(rest);
      if (axis != "sequence" && axis != "batch") fail("'" + std::string(axis) + "', expected slices sequence or batch");
      rules_.axis = axis == "batch" ? Slices::Axis::kBatch : Slices::Axis::kSequence;
      rules_.slices = placed(rest, "the number of slices");
    } else if (word == "forward" && rest == "only") {
      rules_.forward_only = true;
    } else {
      return take_text(word, rest);
    }
    return true;
  }

  bool take_text(std::string_view word, std::string_view rest) {
    const std::array<std::pair<std::string_view, PlacedText*>, 6> texts{{{"copies", &rules_.copies},
                                                                         {"stage", &rules_.stage},
                                                                         {"padded", &rules_.padded},
                                                                         {"updates", &rules_.updates},
                                                                         {"weights", &rules_.weights},
                                                                         {"methods", &rules_.methods}}};
    for (const auto& [name, text] : texts) {
      if (word != name) continue;
      *text = placed(rest, "a value behind the word");
      return true;
    }
    return false;
  }

  bool take_statement(std::string_view word, std::string_view rest) {
    if (word == "need") {
      add(Kind::kNeed, "", rest, {});
    } else if (word == "let" || word == "stream") {
      take_named(word, rest);
    } else if (word == "at") {
      if (!in_sorted()) fail("expected at only inside sorted { }");
      const std::size_t colon = rest.find(':');
      if (colon == std::string_view::npos) fail("expected at SLOT: PASSES");
      add(Kind::kAt, "", rest.substr(0, colon), rest.substr(colon + 1));
    } else if (word == "sorted" && rest == "{") {
      if (in_sorted()) fail("sorted inside sorted, expected one");
      open(Kind::kSorted, "", "1");
    } else if (word == "for") {
      const std::string name(take_word(rest));
      if (take_word(rest) != "in" || !rest.ends_with('{')) fail("expected for NAME in COUNT {");
      open(Kind::kFor, name, without_spaces(rest.substr(0, rest.size() - 1)));
    } else {
      return false;
    }
    return true;
  }

  void add(Kind kind, std::string name, std::string_view value, std::string_view passes) {
    PhaseStatement statement{.kind = kind, .where = where(), .name = std::move(name)};
    statement.value = without_spaces(value);
    if (kind == Kind::kPhase || kind == Kind::kAt) {
      if (statement.value.empty()) fail("expected how often before the colon");
      statement.passes = phase_pattern(passes, statement.where);
    }
    rules_.statements.push_back(std::move(statement));
  }

  void open(Kind kind, std::string name, std::string_view value) {
    open_.push_back(rules_.statements.size());
    if (open_.size() > kRuleBlocks.most) {  // each is run by a function that calls itself
      fail("nested too deeply, expected at most " + std::to_string(kRuleBlocks.most) + " blocks in each other");
    }
    add(kind, std::move(name), value, {});
  }

  void close() {
    if (open_.empty()) fail("'}' closes nothing, expected for or sorted before it");
    rules_.statements[open_.back()].end = rules_.statements.size();
    open_.pop_back();
    add(Kind::kEnd, "", "", {});
  }

  bool in_sorted() const {
    return std::ranges::any_of(open_, [&](std::size_t at) { return rules_.statements[at].kind == Kind::kSorted; });
  }

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
    if (word == "let") return add(Kind::kLet, name, rest, {});
    add(Kind::kStream, name, "", {});
    while (!rest.empty()) rules_.statements.back().parts.push_back(stream_part(take_word(rest)));
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

  std::string file_;
  int line_ = 0;
  PhaseRules rules_;
  std::vector<std::size_t> open_;  ///< statements that begin the blocks around this line
};

}  // namespace

PhaseRules phase_rules_from_text(std::string_view text, std::string_view file_name) {
  if (text.size() > kRulesText.most) throw Error(std::string(file_name) + ": expected rules of at most 4 MiB");
  RuleLines lines(file_name);
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.take(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines.finish();
}

}  // namespace plumb
