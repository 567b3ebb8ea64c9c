#include "trainer/cuda/dnn/attention_table.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "models/ground/error.hpp"
#include "models/ground/text_file.hpp"
#include "trainer/ground/choices_file.hpp"

namespace plumb::cuda {

namespace {

constexpr std::string_view kAttentionHead = "plumbline attention, ";

AttentionChoice faster(const AttentionTrial& trial) {
  const std::optional<double> library = trial.time(false);
  if (!library) return {true, "cuDNN's plan was refused"};
  const std::optional<double> own = trial.time(true);
  if (own && *own <= *library) return {true, "they are faster"};
  return {false, ""};
}

}  // namespace

std::optional<AttentionChoice> AttentionTable::find(const std::string& key) const {
  const auto found = choices_.find(key);
  return found == choices_.end() ? std::nullopt : std::optional(found->second);
}

void AttentionTable::set(const std::string& key, AttentionChoice choice) {
  choices_[key] = std::move(choice);
  changed_ = true;
}

AttentionChoice AttentionTable::choose(const std::string& key, bool timed, const AttentionTrial& trial) {
  const std::optional<AttentionChoice> known = find(key);
  if (known && known->own) return *known;
  const std::string no_plan = trial.plan();
  if (!no_plan.empty()) {
    set(key, {true, no_plan});
    return {true, no_plan};
  }
  const std::string wrong = trial.compare();
  if (known && wrong.empty()) return *known;
  const AttentionChoice choice = !wrong.empty() ? AttentionChoice{true, wrong}
                                 : timed        ? faster(trial)
                                                : AttentionChoice{false, ""};
  set(key, choice);
  return choice;
}

std::string AttentionTable::summary() const {
  if (choices_.empty()) return "attention: none in bf16";
  std::set<std::string> reasons;
  std::size_t own = 0;
  for (const auto& [key, choice] : choices_) {
    if (choice.own) ++own;
    if (choice.own && !choice.why.empty()) reasons.insert(choice.why);
  }
  std::string text = "attention: " + made_for_.substr(0, made_for_.find(',')) + " for " +
                     std::to_string(choices_.size() - own) + " of " + std::to_string(choices_.size()) + " kinds";
  if (own == 0) return text;
  text += ", own kernels for " + std::to_string(own);
  std::string list;
  for (const std::string& reason : reasons) list += (list.empty() ? " (" : "; ") + reason;
  return text + list + (list.empty() ? "" : ")");
}

std::string AttentionTable::text() const {
  std::string text = std::string(kAttentionHead) + made_for_ + "\n";
  for (const auto& [key, choice] : choices_) text += (choice.own ? "own " : "cudnn ") + key + "\n";
  return text;
}

void AttentionTable::read(std::string_view text, const std::string& name) {
  std::map<std::string, AttentionChoice> choices;
  read_choices(text, name, std::string(kAttentionHead) + made_for_,
               [&](std::string_view row, const std::string& where) {
                 const std::size_t space = std::min(row.find(' '), row.size());
                 const std::string_view who = row.substr(0, space);
                 if ((who != "own" && who != "cudnn") || row.size() < space + 2) {
                   throw Error(where + "'" + std::string(row) + "'; expected 'own' or 'cudnn', and an attention");
                 }
                 choices[std::string(row.substr(space + 1))] = {who == "own", "the table says so"};
               });
  choices_ = std::move(choices);
  changed_ = false;
}

void AttentionTable::load(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path)) return;
  read(read_text_file(path), path.string());
}

void AttentionTable::save(const std::filesystem::path& path) {
  if (changed_) save_choices(path, text());
  changed_ = false;
}

}  // namespace plumb::cuda
