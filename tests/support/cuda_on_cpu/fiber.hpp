#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace cuda_on_cpu {

/// A function with a stack of its own, which it may leave and come back to.
class Fiber {
 public:
  Fiber();
  ~Fiber();
  Fiber(Fiber&&) noexcept;
  Fiber& operator=(Fiber&&) = delete;

  /// Makes `body` what the next `resume` runs. Whatever was under way is forgotten.
  void start(const std::function<void()>* body);
  /// Goes on with the body until it leaves or ends.
  void resume();
  /// From inside: back to whoever resumed.
  void leave();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cuda_on_cpu
