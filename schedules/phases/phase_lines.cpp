#include "schedules/phases/phase_lines.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "models/ground/error.hpp"
#include "models/ground/reader_limits.hpp"

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
  PatternReader(const std::string& where, NameTable& names, NameTable& streams)
      : where_(where), names_(names), streams_(streams) {}

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
    WholeExpression count;
    const std::size_t star = last_outside(word, '*');
    if (star != std::string_view::npos) {
      count = expression(word.substr(0, star));
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

  WholeExpression expression(std::string_view text) const { return {text, names_}; }

  PhasePass pass(const std::string_view word) const {
    PhasePass pass;
    std::string_view rest = word;
    if (!rest.empty() && rest.front() == '[') {
      const std::size_t colon = last_outside(rest, ':');
      if (colon == std::string_view::npos || rest[colon - 1] != ']') fail_pass(word);
      pass.copy = expression(rest.substr(1, colon - 2));
      rest.remove_prefix(colon + 1);
    }
    const auto named =
        std::ranges::find_if(kPatternOps, [&](const PatternOp& one) { return rest.starts_with(one.name); });
    if (named == kPatternOps.end()) fail_pass(word);
    pass.op = named->op;
    rest.remove_prefix(named->name.size());
    if (is_move(pass.op)) take_place(word, rest, pass);
    if (const std::size_t plus = last_outside(rest, '+'); plus != std::string_view::npos && has_stream(pass.op)) {
      pass.merged = expression(rest.substr(plus + 1));
      rest = rest.substr(0, plus);
    }
    if (has_stream(pass.op) && pass.op != Op::kR && rest.ends_with('-')) {
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
    pass.from_host = rest.substr(at + 1) == "host";
    if (!pass.from_host) pass.where = expression(rest.substr(at + 1));
    rest = rest.substr(0, at);
  }

  void take_chunk(std::string_view word, std::string_view rest, PhasePass& pass) const {
    if (rest.starts_with('@') && has_stream(pass.op)) {
      pass.stream = streams_.add(rest.substr(1));
    } else if (rest.starts_with('[') && rest.ends_with(']') && rest.size() > 2) {
      pass.chunk = expression(rest.substr(1, rest.size() - 2));
    } else if (is_whole(rest)) {
      pass.chunk = expression(rest);
    } else if (!rest.empty()) {
      fail("'" + std::string(rest) + "', expected the number of a chunk");
    } else if (pass.op != Op::kW) {
      fail("'" + std::string(word) + "' has no chunk, expected one, such as F0 or F@stream");
    }
  }

  const std::string& where_;
  NameTable& names_;
  NameTable& streams_;
  std::vector<PhasePass> passes_;
};

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
  /// `once`: lines that devices follow are left out.
  RuleLines(std::string_view file, bool once) : file_(file), once_(once) {
    for (const char* name : {"p", "m", "v", "u", "d", "r", "c", "i", "slices"}) names_->add(name);  // see RuleName
  }

  void take(std::string_view line) {
    ++line_;
    line = without_spaces(line.substr(0, line.find('#')));
    if (line.empty()) return;
    std::string_view rest = line;
    const std::string_view word = take_word(rest);
    if (once_) {
      take_frame(word, rest);
    } else if (line == "}") {
      close();
    } else if (line == "} else {") {
      begin_else();
    } else if (!take_frame(word, rest) && !take_statement(word, rest)) {
      const std::size_t colon = line.find(':');
      if (colon == std::string_view::npos) {
        fail("'" + std::string(word) +
             "', expected chunks, placement, need, let, stream, COUNT: PASSES or another line of RULES.md");
      }
      if (in_sorted()) fail("expected at SLOT: PASSES inside sorted");
      const std::string_view count = line.substr(0, colon);
      const std::size_t in = std::min(count.find(" in "), count.size());
      const std::string period(without_spaces(count.substr(std::min(in + 4, count.size()))));
      add(Kind::kPhase, "", count.substr(0, in), line.substr(colon + 1));
      rules_.statements.back().period = expression(period);
    }
  }

  PhaseRules finish() {
    if (!open_.empty()) throw Error(rules_.statements[open_.back()].where + ": expected a line } behind this block");
    const auto has_passes = [](const PhaseStatement& one) { return !one.passes.empty(); };
    if (!once_ && !rules_.same_as && std::ranges::none_of(rules_.statements, has_passes))
      throw Error(file_ + ": expected at least one line COUNT: PASSES");
    rules_.names = names_;
    return std::move(rules_);
  }

 private:
  std::string where() const { return file_ + ":" + std::to_string(line_); }
  [[noreturn]] void fail(const std::string& what) const { throw Error(where() + ": " + what); }

  WholeExpression expression(std::string_view text) const { return {without_spaces(text), *names_}; }

  PlacedExpression placed_expression(std::string_view text, const char* expected) const {
    return {where(), expression(placed(text, expected).text)};
  }

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
      take_chunks(rest);
    } else if (word == "placement") {
      rules_.card.placement = rest;
      rules_.in_v = rest == "v";
      if (!rules_.in_v && rest != "linear" && rest != "looped" && rest != "bidirectional") {
        fail("placement '" + std::string(rest) + "', expected linear, looped, v or bidirectional");
      }
    } else if (word == "option") {
      rules_.options.push_back(option(rest));
    } else if (word == "record") {
      take_record(rest);
    } else if (word == "share") {
      const auto [count, item] = both(rest, ":", "share COUNT: EXPRESSION in r and i");
      rules_.share = {where(), expression(count.text)};
      rules_.share_item = {where(), expression(item.text)};
    } else if (word == "slices") {
      const std::string_view axis = take_word(rest);
      if (axis != "sequence" && axis != "batch") fail("'" + std::string(axis) + "', expected slices sequence or batch");
      rules_.axis = axis == "batch" ? Slices::Axis::kBatch : Slices::Axis::kSequence;
      rules_.slices_vary = take_default(rest);
      rules_.slices = placed_expression(rest, "the number of slices");
    } else if (word == "forward" && rest == "only") {
      rules_.forward_only = true;
    } else if (word == "update") {
      if (take_word(rest) != "every") fail("expected update every COUNT");
      rules_.update_every = placed_expression(rest, "update every COUNT");
    } else {
      return take_text(word, rest) || take_card(word, rest);
    }
    return true;
  }

  bool take_text(std::string_view word, std::string_view rest) {
    const std::array<std::pair<std::string_view, PlacedExpression*>, 5> values{{{"copies", &rules_.copies},
                                                                                {"stage", &rules_.stage},
                                                                                {"padded", &rules_.padded},
                                                                                {"updates", &rules_.updates},
                                                                                {"flushed", &rules_.flushed}}};
    for (const auto& [name, value] : values) {
      if (word != name) continue;
      *value = placed_expression(rest, "a value behind the word");
      return true;
    }
    const std::array<std::pair<std::string_view, PlacedTexts*>, 3> choices{
        {{"weights", &rules_.weights}, {"methods", &rules_.methods}, {"recompute", &rules_.recompute}}};
    for (const auto& [name, chosen] : choices) {
      if (word != name) continue;
      const std::size_t condition = rest.rfind(" if ");
      chosen->push_back(placed(rest.substr(0, condition), "a value behind the word"));
      if (condition != std::string_view::npos) chosen->back().only_if = expression(rest.substr(condition + 4));
      return true;
    }
    return false;
  }

  /// What the catalogue says.
  bool take_card(std::string_view word, std::string_view rest) {
    PhaseCard& card = rules_.card;
    if (word == "schedule") {
      auto [name, summary] = both(rest, ":", "schedule NAME: WHAT IT DOES");
      card.name = std::move(name.text);
      if (file_.empty()) file_ = card.name;
      card.summary = std::move(summary.text);
    } else if (word == "source") {
      const std::string_view year = take_word(rest);
      if (year.size() != 4 || year.find_first_not_of("0123456789") != std::string_view::npos || rest.empty()) {
        fail("expected source YEAR TEXT");
      }
      card.year = std::stoi(std::string(year));
      card.source = rest;
    } else if (word == "needs") {
      card.needs = placed(rest, "needs WHAT").text;
    } else if (word == "after") {
      card.after = placed(rest, "after SCHEDULE").text;
    } else if (word == "offers") {
      constexpr std::string_view kOnlyBackward = " in backwards";
      rules_.only_backward = rules_.only_backward || rest.ends_with(kOnlyBackward);
      if (rest.ends_with(kOnlyBackward)) rest.remove_suffix(kOnlyBackward.size());
      rules_.offers.push_back({placed(rest, "offers OPTION").text, rules_.options.size()});
    } else if (word == "without" && rest == "shares") {
      card.copies = false;
    } else if (word == "same" && take_word(rest) == "as") {
      take_same(rest);
    } else {
      return false;
    }
    return true;
  }

  /// "gpipe", "gpipe: order is fifo", "interleaved: group = p".
  void take_same(std::string_view rest) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    rules_.same_as = placed(rest.substr(0, colon), "same as SCHEDULE: OPTION = VALUE");
    if (colon == rest.size()) return;
    std::string_view set = rest.substr(colon + 1);
    const std::string name(take_word(set));
    const std::string_view by = take_word(set);
    if ((by != "is" && by != "=") || set.empty()) fail("expected OPTION is WORD or OPTION = EXPRESSION");
    rules_.set_in_it.emplace_back(name, (by == "=" ? "=" : "") + std::string(set));
  }

  /// "2", "2 by default", "2: the two arms of the V".
  void take_chunks(std::string_view rest) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    rules_.chunks_remark = without_spaces(rest.substr(std::min(colon + 1, rest.size())));
    std::string_view number = rest.substr(0, colon);
    rules_.chunks_vary = take_default(number);
    rules_.chunks = chunk_number(without_spaces(number), 1);
  }

  /// Whether it ends so, and was cut there.
  static bool take_default(std::string_view& text) {
    constexpr std::string_view kDefault = " by default";
    if (!text.ends_with(kDefault)) return false;
    text.remove_suffix(kDefault.size());
    return true;
  }

  /// "NAME", "NAME = WORD", "no NAME".
  void take_record(std::string_view rest) {
    PhaseRecord record{.name = std::string(take_word(rest)), .text = {}, .never = false};
    if (record.name == "no") {
      record.never = true;
      record.name = take_word(rest);
    } else if (!rest.empty() && take_word(rest) == "=") {
      record.text = rest;
    }
    if (record.name.empty()) fail("expected record NAME");
    rules_.records.push_back(std::move(record));
  }

  /// "NAME = a|b: MEANING", "NAME = EXPRESSION [N from 0, WHAT IS TOLD]: MEANING"; the last two may be missing.
  PhaseOption option(std::string_view rest) const {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    PhaseOption option{.meaning = std::string(without_spaces(rest.substr(std::min(colon + 1, rest.size()))))};
    auto [name, value] = both(rest.substr(0, colon), "=", "option NAME = EXPRESSION");
    option.name = std::move(name.text);
    option.number = names_->add(option.name);
    std::string_view text = value.text;
    if (text.ends_with(']')) {
      const std::size_t open = std::min(text.rfind('['), text.size() - 1);
      std::string_view told = text.substr(open + 1, text.size() - open - 2);
      const std::size_t comma = std::min(told.find(','), told.size());
      std::string_view form = told.substr(0, comma);
      option.told = without_spaces(told.substr(std::min(comma + 1, told.size())));
      option.form = take_word(form);
      if (take_word(form) == "from") option.least = chunk_number(form, 0);
      text = without_spaces(text.substr(0, open));
    }
    if (text.find('|') != std::string_view::npos) {
      for (std::string_view left = text; !left.empty();) {
        const std::size_t end = std::min(left.find('|'), left.size());
        option.words.emplace_back(without_spaces(left.substr(0, end)));
        left.remove_prefix(std::min(end + 1, left.size()));
      }
    }
    for (const std::string& word : option.words) option.chosen.push_back(names_->add(option.name + " is " + word));
    option.otherwise = placed_expression(text, "a value of the option");
    if (option.told.empty()) option.told = option.words.empty() ? std::string(text) : option.words.front();
    return option;
  }

  bool take_statement(std::string_view word, std::string_view rest) {
    if (word == "need") {
      const std::size_t colon = std::min(rest.find(':'), rest.size());
      const std::string said(without_spaces(rest.substr(std::min(colon + 1, rest.size()))));
      add(Kind::kNeed, said, rest.substr(0, colon), {});
      if (rules_.statements.size() > 1) return true;
      rules_.needs.push_back(std::move(rules_.statements.front()));
      rules_.statements.clear();
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
    } else if ((word == "repeat" || word == "if") && rest.ends_with('{')) {
      open(word == "if" ? Kind::kIf : Kind::kRepeat, "", without_spaces(rest.substr(0, rest.size() - 1)));
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
    PhaseStatement statement{.kind = kind, .where = where(), .name = std::move(name), .value = expression(value)};
    if (kind == Kind::kLet || kind == Kind::kFor) statement.number = names_->add(statement.name);
    if (kind == Kind::kStream) statement.number = rules_.streams.add(statement.name);
    if (kind == Kind::kPhase || kind == Kind::kAt) {
      if (statement.value.empty()) fail("expected how often before the colon");
      statement.passes = PatternReader(statement.where, *names_, rules_.streams).read(passes);
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

  void begin_else() {
    if (open_.empty() || rules_.statements[open_.back()].kind != Kind::kIf) fail("expected if before else");
    close();
    open(Kind::kElse, "", "1");
  }

  void close() {
    if (open_.empty()) fail("'}' closes nothing, expected for, repeat, if or sorted before it");
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
    std::vector<StreamPart>& parts = rules_.statements.back().parts;
    while (!rest.empty()) {
      const std::string_view part = take_word(rest);
      if (part == "in" && parts.size() == 1 && parts.front().kind != StreamPart::Kind::kChunk) {
        parts.front().all = expression(placed(rest, "up*COUNT in ALL").text);
        return;
      }
      parts.push_back(stream_part(part));
    }
  }

  /// "1", "(p-d)*1", "up*p", "down*p": the last star is that of the part.
  StreamPart stream_part(std::string_view text) const {
    StreamPart part{.count = expression("1")};
    std::string_view what = text;
    if (text.starts_with("up*") || text.starts_with("down*")) {
      part.kind = text[0] == 'u' ? StreamPart::Kind::kUp : StreamPart::Kind::kDown;
      part.count = expression(text.substr(text.find('*') + 1));
      return part;
    }
    const std::size_t star = text.rfind('*');
    if (star != std::string_view::npos) {
      part.count = expression(text.substr(0, star));
      what = text.substr(star + 1);
    }
    part.chunk = chunk_number(what, 0);
    return part;
  }

  std::string file_;
  bool once_ = false;
  int line_ = 0;
  PhaseRules rules_;
  std::shared_ptr<NameTable> names_ = std::make_shared<NameTable>();
  std::vector<std::size_t> open_;  ///< statements that begin the blocks around this line
};

}  // namespace

bool offers_option(const PhaseRules& rules, std::string_view name) {
  return std::ranges::any_of(rules.offers, [&](const PhaseOffer& one) { return one.name == name; });
}

namespace {

PhaseRules rules_of(std::string_view text, RuleLines lines) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.take(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines.finish();
}

}  // namespace

PhaseRules phase_rules_from_text(std::string_view text, std::string_view file_name) {
  if (text.size() > kRulesText.most) throw Error(std::string(file_name) + ": expected rules of at most 4 MiB");
  return rules_of(text, RuleLines(file_name, false));
}

PhaseRules rules_said_once(std::string_view text) { return rules_of(text, RuleLines({}, true)); }

}  // namespace plumb
