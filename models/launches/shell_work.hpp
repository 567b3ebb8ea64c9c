#pragma once

#include <cstddef>
#include <memory>

namespace plumb {

/// How much following a script has cost so far: letters that its words came to, and steps of its patterns and of its
/// arithmetic. A few lines that use a variable twice for the next one would otherwise fill any memory. Copies count
/// together.
class ShellWork {
 public:
  static constexpr std::size_t kMost = std::size_t{1} << 22U;  ///< launch scripts take some ten thousand

  /// Counts `work`; whether the limit still holds.
  bool spend(std::size_t work) {
    *spent_ = work > kMost - *spent_ ? kMost : *spent_ + work;
    return !exhausted();
  }
  bool exhausted() const { return *spent_ == kMost; }

 private:
  std::shared_ptr<std::size_t> spent_ = std::make_shared<std::size_t>(0);
};

}  // namespace plumb
