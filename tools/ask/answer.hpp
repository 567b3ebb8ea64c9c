#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schedules/checks/validate.hpp"
#include "schedules/document/schedule.hpp"
#include "sim/timeline/timeline_io.hpp"
#include "tools/terminal/command_line.hpp"

namespace plumb {

/// An answer document while it is made. Parts are JSON, in the order in which they were added; each is written where it
/// stays, because a large timeline's text is copied more slowly than it is computed.
class AnswerDocument {
 public:
  /// `memory`: a text of which the document takes the memory, and nothing else.
  explicit AnswerDocument(std::string memory = {}) : text_(std::move(memory)) { text_.clear(); }

  ExitStatus status = ExitStatus::kDone;
  std::vector<std::string> findings{};
  std::string command{};  ///< that asks the same

  /// `document` is JSON already.
  void add_json(std::string_view name, std::string_view document);
  /// `write` hands the part, which is JSON, to its argument piece by piece.
  void add_pieces(std::string_view name, const std::function<void(const TextSink&)>& write);
  void add_text(std::string_view name, std::string_view text);
  /// Bytes that are no text, in base64.
  void add_bytes(std::string_view name, std::string_view bytes);
  /// The schedule called `where` as "document", in the format of this name; a no where it cannot be said so.
  void add_schedule(const std::string& where, const std::string& format, Schedule schedule);
  /// Makes the answer a no, with every violation as a line and as an object with device, position, action and reason.
  void refuse(const std::string& where, const std::vector<Violation>& violations);

  /// The whole document, once. `notes`: lines that a command would print beside its answer.
  std::string finish(const std::vector<std::string>& notes);

 private:
  /// What stands before the parts.
  std::string head(const std::vector<std::string>& notes) const;
  void begin_part(std::string_view name);

  std::string text_;
  std::size_t head_size_ = 0;  ///< of the head that is written already; most documents end with one as long
};

}  // namespace plumb
