#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "tools/ask/answer.hpp"
#include "tools/ask/request.hpp"
#include "tools/options/option_table.hpp"

namespace plumb {

/// A kind of question that requests may ask: its fields, the parts of its answer, and the answer. For one request.
class AskedQuestion {
 public:
  AskedQuestion(const AskedQuestion&) = delete;
  AskedQuestion& operator=(const AskedQuestion&) = delete;
  virtual ~AskedQuestion() = default;

  /// The fields, and the command of the same words.
  const OptionTable& options() const { return options_; }
  /// What `Request::want` may name; the first is the answer to a request that wants nothing in particular.
  virtual std::vector<std::string_view> parts() const = 0;
  /// Answers `request`, whose fields have been taken. `answer.command` is known already.
  virtual void answer(const Request& request, AnswerDocument& answer) = 0;

 protected:
  /// `usage`: see `OptionTable`.
  explicit AskedQuestion(const char* usage) : options_(usage, "") {}

  OptionTable options_;
};

using AskedQuestionPtr = std::unique_ptr<AskedQuestion>;

/// The kind of this name in requests. Throws `Error` with the nearest name for an unknown one.
AskedQuestionPtr asked_question(std::string_view name);

}  // namespace plumb
