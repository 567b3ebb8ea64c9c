#include "models/launches/shell_script.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "models/ground/error.hpp"
#include "models/launches/settings.hpp"
#include "models/launches/shell_pattern.hpp"
#include "models/launches/shell_tokens.hpp"

namespace plumb {
namespace {

using Token = ShellToken::Kind;

constexpr int kMostSteps = 200'000;
constexpr int kDeepestCommands = 48;
constexpr int kMostRounds = 64;

/// Follows the tokens of one script.
class ShellFollower {
 public:
  ShellFollower(const std::string& name, const ShellSource& source) : name_(name), source_(source) {}

  void follow(std::string_view script, std::size_t first_line) {
    run.values.work().spend(script.size());
    if (++depth_ > kDeepestCommands) throw Error(name_ + ": scripts inside of scripts, expected fewer");
    const std::vector<ShellToken> tokens = shell_tokens(script, name_, first_line);
    const std::vector<ShellToken>* outer = std::exchange(tokens_, &tokens);
    const std::size_t outer_at = std::exchange(at_, 0);
    auto outer_functions = std::exchange(functions_, {});
    while (at_ < tokens.size()) {
      const std::size_t before = at_;
      list(true, {});
      if (at_ == before) ++at_;  // an end without a beginning
    }
    check_work();
    functions_ = std::move(outer_functions);
    tokens_ = outer;
    at_ = outer_at;
    --depth_;
  }

  ShellRun run;

 private:
  using Ends = std::initializer_list<std::string_view>;

  const ShellToken* here() const { return at_ < tokens_->size() ? &(*tokens_)[at_] : nullptr; }
  bool is_word(std::string_view text) const {
    return here() != nullptr && here()->kind == Token::kWord && here()->text == text;
  }
  bool is_operator(std::string_view text) const {
    return here() != nullptr && here()->kind == Token::kOperator && here()->text == text;
  }
  bool take_word(std::string_view text) {
    if (!is_word(text)) return false;
    ++at_;
    return true;
  }
  bool take_operator(std::string_view text) {
    if (!is_operator(text)) return false;
    ++at_;
    return true;
  }
  std::size_t line() const { return here() != nullptr ? here()->line : 0; }

  /// Throws behind the limit, where nothing that values come to is right.
  void check_work() const {
    if (!run.values.work().exhausted()) return;
    throw Error(name_ + ":" + std::to_string(where_) +
                ": the variables grow too long to follow, expected texts of a few thousand letters");
  }

  void leave_out(std::size_t line, const std::string& what) {
    run.values.work().spend(what.size());
    run.not_followed.push_back(std::to_string(line) + ": " + what);
  }

  /// Returns the commands up to one of the words `ends`, which is left standing.
  std::optional<bool> list(bool live, Ends ends) {
    std::optional<bool> status = true;
    while (here() != nullptr) {
      if (here()->kind == Token::kOperator && here()->text != "(") {
        if (here()->text == ")" || here()->text == ";;") return status;
        ++at_;
        continue;
      }
      if (here()->kind == Token::kWord && std::ranges::find(ends, here()->text) != ends.end()) return status;
      status = chain(live);
    }
    return status;
  }

  /// Returns the commands joined by && and ||.
  std::optional<bool> chain(bool live) {
    std::optional<bool> status = pipeline(live);
    while (is_operator("&&") || is_operator("||")) {
      const bool both = here()->text == "&&";
      const std::size_t where = line();
      ++at_;
      while (is_operator("\n")) ++at_;
      const bool runs = status.has_value() && *status == both;
      if (live && !status) leave_out(where, "what follows " + std::string(both ? "&&" : "||"));
      const auto next = pipeline(live && runs);
      if (runs) status = next;
    }
    return status;
  }

  std::optional<bool> pipeline(bool live) {
    bool negated = false;
    while (take_word("!")) negated = !negated;
    std::optional<bool> status = command(live);
    while (is_operator("|")) {
      ++at_;
      while (is_operator("\n")) ++at_;
      command(false);
    }
    return negated && status ? std::optional(!*status) : status;
  }

  std::optional<bool> command(bool live) {
    check_work();
    where_ = std::max(line(), std::size_t{1});
    if (++steps_ > kMostSteps) throw Error(name_ + ": the script takes too many steps to follow");
    if (depth_ > kDeepestCommands) throw Error(name_ + ":" + std::to_string(line()) + ": too deep to follow");
    ++depth_;
    const auto status = any_command(live);
    --depth_;
    return status;
  }

  std::optional<bool> any_command(bool live) {
    if (here() == nullptr) return true;
    if (here()->kind == Token::kArray) return simple(live);
    if (is_word("if")) return conditional(live);
    if (is_word("case")) return choice(live);
    if (is_word("for")) return loop(live);
    if (is_word("while") || is_word("until")) return repeated(live);
    if (is_word("function")) return function(live);
    if (is_word("[[")) return double_brackets(live);
    if (take_word("{")) {
      const auto status = list(live, {"}"});
      take_word("}");
      skip_redirections();
      return status;
    }
    if (is_operator("(")) return in_brackets(live);
    const bool named = here()->kind == Token::kWord && at_ + 2 < tokens_->size() && (*tokens_)[at_ + 1].text == "(" &&
                       (*tokens_)[at_ + 2].text == ")";
    return named ? function(live) : simple(live);
  }

  /// ( commands ), or (( arithmetic )).
  std::optional<bool> in_brackets(bool live) {
    ++at_;
    if (!take_operator("(")) {
      const auto status = list(live, {});
      take_operator(")");
      skip_redirections();
      return status;
    }
    std::string text;
    int open = 2;
    for (; here() != nullptr && open > 0; ++at_) {
      if (is_operator("(")) ++open;
      if (is_operator(")")) --open;
      if (open > 1 || !is_operator(")")) text += here()->text + " ";
    }
    if (text.ends_with(") ")) text.resize(text.size() - 2);
    const auto value = live ? shell_arithmetic(text, run.values) : std::nullopt;
    return value ? std::optional(*value != 0) : std::nullopt;
  }

  /// Redirections behind a bracket.
  void skip_redirections() {
    while (here() != nullptr && here()->kind == Token::kOperator &&
           here()->text.find_first_of("<>") != std::string::npos) {
      ++at_;
      if (here() != nullptr && here()->kind != Token::kOperator) ++at_;
    }
  }

  std::optional<bool> conditional(bool live) {
    bool decided = !live;
    const std::size_t where = line();
    ++at_;
    while (true) {
      const std::size_t begin = at_;
      const auto holds = list(!decided, {"then"});
      const std::size_t end = at_;
      take_word("then");
      list(!decided && holds == true, {"elif", "else", "fi"});
      if (!decided && !holds) {
        leave_out(where, "if " + text_between(begin, end));
        decided = true;
      }
      decided = decided || holds == true;
      if (!take_word("elif")) break;
    }
    if (take_word("else")) list(!decided, {"fi"});
    take_word("fi");
    skip_redirections();
    return true;
  }

  std::string text_between(std::size_t begin, std::size_t end) const {
    std::string text;
    for (std::size_t k = begin; k < end && text.size() < 60; ++k) {
      if ((*tokens_)[k].text != "\n" && (*tokens_)[k].text != ";")
        text += (text.empty() ? "" : " ") + (*tokens_)[k].text;
    }
    return text;
  }

  std::optional<bool> choice(bool live) {
    const std::size_t where = line();
    ++at_;
    const std::string subject = here() != nullptr ? run.values.joined(here()->text) : "";
    const std::string shown = here() != nullptr ? here()->text : "";
    ++at_;
    bool decided = !live;
    if (live && !unknown_in(subject).empty()) {
      leave_out(where, "case " + shown);
      decided = true;
    }
    while (here() != nullptr && !is_word("in")) ++at_;
    take_word("in");
    while (here() != nullptr && !is_word("esac")) {
      bool fits = false;
      for (; here() != nullptr && !is_operator(")") && !is_word("esac"); ++at_) {
        if (here()->kind == Token::kWord)
          fits = fits || shell_pattern_fits(run.values.joined(here()->text), subject, run.values.work());
      }
      if (!take_operator(")")) break;
      list(!decided && fits, {"esac"});
      decided = decided || fits;
      take_operator(";;");
    }
    take_word("esac");
    return true;
  }

  std::optional<bool> loop(bool live) {
    const std::size_t where = line();
    ++at_;
    const std::string variable = here() != nullptr ? here()->text : "";
    const bool over_words = is_shell_name(variable);
    ++at_;
    ShellValues::Words words;
    for (; here() != nullptr && !is_word("do"); ++at_) {
      if (here()->kind != Token::kWord || here()->text == "in" || !over_words || !live) continue;
      for (std::string& word : run.values.expanded(here()->text)) words.push_back(std::move(word));
    }
    const std::size_t body = ++at_;
    if (!over_words || words.empty() || words.size() > kMostRounds) {
      if (live && !(over_words && words.empty())) leave_out(where, "for " + variable);
      words.clear();
    }
    for (const std::string& word : words) {
      at_ = body;
      run.values.set(variable, {word});
      list(true, {"done"});
      run.values.work().spend(at_ - body);  // tokens that were walked over once more
    }
    if (words.empty()) list(false, {"done"});
    take_word("done");
    skip_redirections();
    return true;
  }

  std::optional<bool> repeated(bool live) {
    const std::size_t where = line();
    const bool until = is_word("until");
    const std::size_t begin = ++at_;
    bool again = live;
    for (int round = 0;; ++round) {
      at_ = begin;
      const auto holds = list(again, {"do"});
      if (again && (!holds || round == kMostRounds)) leave_out(where, until ? "until" : "while");
      again = again && holds && *holds != until && round < kMostRounds;
      take_word("do");
      list(again, {"done"});
      run.values.work().spend(at_ - begin);
      if (!again) break;
    }
    take_word("done");
    skip_redirections();
    return true;
  }

  std::optional<bool> function(bool live) {
    take_word("function");
    const std::string called = here() != nullptr ? here()->text : "";
    ++at_;
    take_operator("(");
    take_operator(")");
    while (is_operator("\n")) ++at_;
    if (live) functions_[called] = at_;
    return command(false);
  }

  std::optional<bool> double_brackets(bool live) {
    ++at_;
    std::vector<std::string> words;
    for (; here() != nullptr && !is_word("]]"); ++at_) {
      if (here()->kind == Token::kWord) {
        words.push_back(run.values.joined(here()->text));
      } else if (here()->text != "\n") {
        words.push_back(here()->text);
      }
    }
    take_word("]]");
    return live ? shell_condition(words, run.values.work()) : std::nullopt;
  }

  /// A command with its redirections and assignments.
  struct Simple {
    std::vector<ShellWord> words;
    std::optional<std::string> here_text;
    std::string written_to;
  };

  std::optional<bool> simple(bool live) {
    Simple command;
    while (here() != nullptr) {
      if (here()->kind == Token::kOperator) {
        if (here()->text.find_first_of("<>") == std::string::npos) break;
        redirect(command);
      } else if (here()->kind == Token::kArray) {
        array(live);
      } else if (here()->kind == Token::kHereText) {
        if (live) command.here_text = here()->quoted ? here()->text : run.values.joined("\"" + with_quotes() + "\"");
        ++at_;
      } else {
        word(command, live);
      }
    }
    return live ? finished(std::move(command)) : std::nullopt;
  }

  /// Quotes mean nothing in a here-document.
  std::string with_quotes() const {
    std::string text;
    for (const char letter : here()->text) {
      if (letter == '"') text += '\\';
      text += letter;
    }
    return text;
  }

  void redirect(Simple& command) {
    const bool out = here()->text == ">" || here()->text == ">>";
    if (!command.words.empty() && (command.words.back().text == "2" || command.words.back().text == "1")) {
      command.words.pop_back();  // the number of a stream
    }
    ++at_;
    if (here() == nullptr || here()->kind != Token::kWord) return;
    if (out) command.written_to = run.values.joined(here()->text);
    ++at_;
  }

  void array(bool live) {
    const auto name = assigned_name(here()->text);
    const bool more = here()->text.ends_with("+=");
    ShellValues::Words words;
    for (++at_; here() != nullptr && here()->kind != Token::kArrayEnd; ++at_) {
      if (here()->kind != Token::kWord || !live) continue;
      for (std::string& one : run.values.expanded(here()->text)) words.push_back(std::move(one));
    }
    ++at_;
    if (!live || !name) return;
    if (more) {
      run.values.append(name->first, words, true);
    } else {
      run.values.set(name->first, std::move(words));
    }
  }

  void word(Simple& command, bool live) {
    const ShellToken& token = *here();
    ++at_;
    if (!live) return;
    static constexpr std::array<std::string_view, 6> kDeclarations{"export",   "local",   "declare",
                                                                   "readonly", "typeset", "env"};
    const bool declares =
        !command.words.empty() && std::ranges::find(kDeclarations, command.words.front().text) != kDeclarations.end();
    const auto name = command.words.empty() || declares ? assigned_name(token.text) : std::nullopt;
    if (!name) {
      for (std::string& text : run.values.expanded(token.text)) command.words.push_back({std::move(text), token.line});
      return;
    }
    const std::string value = run.values.joined(std::string_view(token.text).substr(name->second));
    if (token.text[name->second - 2] == '+') {
      run.values.append(name->first, {value}, false);
    } else {
      run.values.set(name->first, {value});
    }
  }

  std::optional<bool> finished(Simple command) {
    if (command.words.empty()) return true;
    const std::string first = command.words.front().text;
    std::vector<std::string> rest;
    for (std::size_t k = 1; k < command.words.size(); ++k) rest.push_back(command.words[k].text);
    if (first == "[" && !rest.empty()) rest.pop_back();
    if (first == "[" || first == "test") return shell_condition(rest, run.values.work());
    if (first == "true" || first == ":" || first == "false") return first != "false";
    if (first == "unset") {
      for (const std::string& name : rest) run.values.unset(name);
    } else if ((first == "source" || first == ".") && !rest.empty()) {
      read_in(command.words.front().line, rest.front());
    } else if (first == "eval") {
      follow_words(rest, command.words.front().line);
    } else if (first == "read" && command.here_text && !rest.empty()) {
      run.values.set(rest.back(), {*command.here_text});
    } else if (const auto found = functions_.find(first); found != functions_.end()) {
      call(found->second, std::move(rest));
    } else if (first == "cat" && command.here_text && !command.written_to.empty()) {
      run.files[command.written_to] = *command.here_text;
    } else {
      static constexpr std::array<std::string_view, 7> kAsked{"command", "grep",       "which", "type",
                                                              "ls",      "nvidia-smi", "kill"};
      run.commands.push_back(std::move(command.words));
      if (first == "bash" || first == "sh" || first == "sbatch") start(rest, run.commands.back().front().line);
      if (std::ranges::find(kAsked, first) != kAsked.end()) return std::nullopt;
    }
    return true;
  }

  void follow_words(const std::vector<std::string>& words, std::size_t line) {
    std::string text;
    for (const std::string& word : words) text += word + " ";
    follow(text, line);
  }

  void read_in(std::size_t line, const std::string& path) {
    if (const auto text = source_ ? source_(path) : std::nullopt) return follow(*text, 1);
    leave_out(line, "source " + path);
  }

  /// The script that a command starts, once each, as if all variables were passed on.
  void start(const std::vector<std::string>& words, std::size_t line) {
    const auto is_script = [](const std::string& word) { return word.ends_with(".sh") || word.ends_with(".slurm"); };
    const auto script = std::ranges::find_if(words, is_script);
    if (script == words.end() || name_.ends_with(*script) || !started_.insert(*script).second) return;
    for (const std::string& word : words) export_assigned(word);
    with_arguments({script + 1, words.end()}, [&] {
      if (const auto text = source_ ? source_(*script) : std::nullopt) {
        run.values.work().spend(text->size());
        run.started.emplace(*script, *text);
      }
      read_in(line, *script);
    });
  }

  /// "--export=ALL,NNODES=4" of sbatch.
  void export_assigned(std::string_view word) {
    constexpr std::string_view kExport = "--export=";
    if (!word.starts_with(kExport)) return;
    word.remove_prefix(kExport.size());
    while (!word.empty()) {
      const std::string_view part = word.substr(0, word.find(','));
      word.remove_prefix(std::min(part.size() + 1, word.size()));
      const std::size_t equals = part.find('=');
      const bool assigns = equals != std::string_view::npos && is_shell_name(part.substr(0, equals));
      if (assigns) run.values.set(part.substr(0, equals), {std::string(part.substr(equals + 1))});
    }
  }

  void call(std::size_t body, ShellValues::Words given) {
    const std::size_t back = std::exchange(at_, body);
    with_arguments(std::move(given), [&] { command(true); });
    run.values.work().spend(at_ > body ? at_ - body : 0);
    at_ = back;
  }

  /// `body` with arguments of its own.
  template <class Body>
  void with_arguments(ShellValues::Words given, Body body) {
    static constexpr std::array<std::string_view, 11> kOwn{"@", "#", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
    std::array<std::optional<ShellValues::Words>, kOwn.size()> before;
    for (std::size_t k = 0; k < kOwn.size(); ++k) before[k] = run.values.take(kOwn[k]);
    for (std::size_t k = 0; k < given.size(); ++k) run.values.set(std::to_string(k + 1), {given[k]});
    run.values.set("#", {std::to_string(given.size())});
    run.values.set("@", std::move(given));
    body();
    for (std::size_t k = 0; k < kOwn.size(); ++k) {
      run.values.unset(kOwn[k]);
      if (before[k]) run.values.set(kOwn[k], std::move(*before[k]));
    }
  }

  std::string name_;
  const ShellSource& source_;
  const std::vector<ShellToken>* tokens_ = nullptr;
  std::set<std::string> started_;
  std::map<std::string, std::size_t> functions_;  ///< where their bodies begin
  std::size_t at_ = 0;
  int depth_ = 0;
  int steps_ = 0;
  std::size_t where_ = 1;  ///< the line of the last command
};

}  // namespace

ShellRun follow_shell_script(std::string_view script, const std::string& name, ShellValues given,
                             const ShellSource& source, std::size_t first_line) {
  std::string text(script);
  std::erase_if(text, [](char letter) { return letter == kUnknownBegin || letter == kUnknownEnd || letter == '\0'; });
  ShellFollower follower(name, source);
  given.work().spend(given.size());
  follower.run.values = std::move(given);
  follower.follow(text, first_line);
  return std::move(follower.run);
}

}  // namespace plumb
