#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "models/ground/error.hpp"

namespace plumb {

/// The mistakes of one input, which are told together.
class Mistakes {
 public:
  /// Throws `Errors` where there are more than anybody reads.
  void note(const std::string& message) {
    messages_.push_back(message);
    if (messages_.size() == kMost) throw Errors(messages_);
  }
  /// Calls `read`; what it throws as `Error` or `Errors` is noted. Whether nothing was.
  template <class Read>
  bool keep(Read read) {
    try {
      read();
      return true;
    } catch (const Errors& errors) {
      if (messages_.size() >= kMost) throw;  // those of this object: `read` notes, too
      for (const std::string& message : errors.messages()) note(message);
      return false;
    } catch (const Error& error) {
      note(error.what());
      return false;
    }
  }
  bool any() const { return !messages_.empty(); }
  /// Throws what was noted.
  void finish() const {
    if (messages_.size() == 1) throw Error(messages_.front());
    if (any()) throw Errors(messages_);
  }

 private:
  static constexpr std::size_t kMost = 50;

  std::vector<std::string> messages_;
};

}  // namespace plumb
