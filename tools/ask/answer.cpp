#include "tools/ask/answer.hpp"

#include <nlohmann/json.hpp>

#include "tools/formats/findings.hpp"

namespace plumb {
namespace {

/// Bytes that are no UTF-8 are replaced, so that there is always an answer.
std::string text_json(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string lines_json(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : ",") + text_json(line);
  return "[" + text + "]";
}

}  // namespace

void AnswerDocument::add_json(std::string_view name, std::string_view document) {
  parts_ += ",\n" + text_json(name) + ":" + std::string(document);
}

void AnswerDocument::add_text(std::string_view name, std::string_view text) { add_json(name, text_json(text)); }

void AnswerDocument::refuse(const std::string& where, const std::vector<Violation>& violations) {
  status = ExitStatus::kNo;
  std::string text = findings_text(where, violations);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    findings.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  auto rows = nlohmann::ordered_json::array();
  for (const Violation& violation : violations) {
    rows.push_back({{"device", index(violation.device)},
                    {"position", violation.position},
                    {"action", violation.action},
                    {"reason", violation.reason}});
  }
  add_json("violations", rows.dump());
}

std::string AnswerDocument::text(const std::vector<std::string>& notes) const {
  return "{\"version\":1,\"status\":" + std::to_string(static_cast<int>(status)) + ",\"notes\":" + lines_json(notes) +
         ",\"findings\":" + lines_json(findings) + ",\"command\":" + text_json(command) + parts_ + "}\n";
}

}  // namespace plumb
