#include "tools/ask/answer.hpp"

#include <cstdint>

#include <nlohmann/json.hpp>

#include "tools/formats/findings.hpp"
#include "tools/formats/schedule_formats.hpp"

namespace plumb {
namespace {

/// Bytes that are no UTF-8 are replaced, so that there is always an answer.
std::string text_json(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::string_view group = bytes.substr(at, 3);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i)
      bits = bits << 8U | (i < group.size() ? static_cast<unsigned char>(group[i]) : 0U);
    for (std::size_t i = 0; i < 4; ++i) text += i <= group.size() ? kDigits[bits >> (18U - 6U * i) & 63U] : '=';
  }
  return text;
}

std::string lines_json(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : ",") + text_json(line);
  return "[" + text + "]";
}

}  // namespace

void AnswerDocument::add_json(std::string_view name, std::string_view document) {
  begin_part(name);
  text_ += document;
}

void AnswerDocument::add_pieces(std::string_view name, const std::function<void(const TextSink&)>& write) {
  begin_part(name);
  write([this](std::string_view piece) { text_ += piece; });
}

void AnswerDocument::add_text(std::string_view name, std::string_view text) { add_json(name, text_json(text)); }

void AnswerDocument::add_bytes(std::string_view name, std::string_view bytes) {
  add_json(name, '"' + base64(bytes) + '"');
}

void AnswerDocument::add_schedule(const std::string& where, const std::string& format, Schedule schedule) {
  const auto text = written_schedule(where, written_format(format, ""), std::move(schedule));
  if (!text) {
    status = ExitStatus::kNo;
  } else {
    add_text("document", *text);
  }
}

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

std::string AnswerDocument::finish(const std::vector<std::string>& notes) {
  text_.replace(0, head_size_, head(notes));
  text_ += "}\n";
  return std::move(text_);
}

std::string AnswerDocument::head(const std::vector<std::string>& notes) const {
  return "{\"version\":1,\"status\":" + std::to_string(static_cast<int>(status)) + ",\"notes\":" + lines_json(notes) +
         ",\"findings\":" + lines_json(findings) + ",\"command\":" + text_json(command);
}

void AnswerDocument::begin_part(std::string_view name) {
  if (head_size_ == 0) {
    text_ += head({});  // not assigned: that would replace the memory
    head_size_ = text_.size();
  }
  text_ += ",\n" + text_json(name) + ":";
}

}  // namespace plumb
