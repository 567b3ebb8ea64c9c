#include "trainer/cuda/dnn/dnn_table.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "models/ground/error.hpp"
#include "models/ground/text_file.hpp"
#include "trainer/ground/choices_file.hpp"

namespace plumb::cuda {

namespace {

DnnChoice faster(const DnnTrial& trial) {
  const std::optional<double> library = trial.time(false);
  if (!library) return {true, "cuDNN's plan was refused"};
  const std::optional<double> own = trial.time(true);
  if (own && *own <= *library) return {true, "they are faster"};
  return {false, ""};
}

}  // namespace

std::optional<DnnChoice> DnnTable::find(const std::string& key) const {
  const auto found = choices_.find(key);
  return found == choices_.end() ? std::nullopt : std::optional(found->second);
}

void DnnTable::set(const std::string& key, DnnChoice choice) {
  choices_[key] = std::move(choice);
  changed_ = true;
}

DnnChoice DnnTable::choose(const std::string& key, bool timed, const DnnTrial& trial) {
  const std::optional<DnnChoice> known = find(key);
  if (known && known->own) return *known;
  const std::string no_plan = trial.plan();
  if (!no_plan.empty()) {
    set(key, {true, no_plan});
    return {true, no_plan};
  }
  const std::string wrong = trial.compare();
  if (known && wrong.empty()) return *known;
  const DnnChoice choice = !wrong.empty() ? DnnChoice{true, wrong} : timed ? faster(trial) : DnnChoice{false, ""};
  set(key, choice);
  return choice;
}

std::string DnnTable::summary() const {
  if (choices_.empty()) return work_ + ": none in bf16";
  std::set<std::string> reasons;
  std::size_t own = 0;
  for (const auto& [key, choice] : choices_) {
    if (choice.own) ++own;
    if (choice.own && !choice.why.empty()) reasons.insert(choice.why);
  }
  std::string text = work_ + ": " + made_for_.substr(0, made_for_.find(',')) + " for " +
                     std::to_string(choices_.size() - own) + " of " + std::to_string(choices_.size()) + " kinds";
  if (own == 0) return text;
  text += ", own kernels for " + std::to_string(own);
  std::string list;
  for (const std::string& reason : reasons) list += (list.empty() ? " (" : "; ") + reason;
  return text + list + (list.empty() ? "" : ")");
}

std::string DnnTable::text() const {
  std::string text = head() + "\n";
  for (const auto& [key, choice] : choices_) text += (choice.own ? "own " : "cudnn ") + key + "\n";
  return text;
}

void DnnTable::read(std::string_view text, const std::string& name) {
  std::map<std::string, DnnChoice> choices;
  read_choices(text, name, head(), [&](std::string_view row, const std::string& where) {
    const std::size_t space = std::min(row.find(' '), row.size());
    const std::string_view who = row.substr(0, space);
    if ((who != "own" && who != "cudnn") || row.size() < space + 2) {
      throw Error(where + "'" + std::string(row) + "'; expected 'own' or 'cudnn', and a kind of " + work_);
    }
    choices[std::string(row.substr(space + 1))] = {who == "own", "the table says so"};
  });
  choices_ = std::move(choices);
  changed_ = false;
}

void DnnTable::load(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path)) return;
  read(read_text_file(path), path.string());
}

void DnnTable::save(const std::filesystem::path& path) {
  if (changed_) save_choices(path, text());
  changed_ = false;
}

}  // namespace plumb::cuda
