#include "tests/support/cuda_on_cpu/fiber.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <new>

#if defined(PLUMB_ADDRESS_SANITIZER)
#include <sanitizer/common_interface_defs.h>
#endif

#ifdef __x86_64__
// Callee-saved registers go on the old stack, then the new one's come back. `swapcontext` would do, but it asks the
// kernel for the signal mask, which is a hundred times slower.
extern "C" void cuda_on_cpu_switch(void** leave, void* enter);
asm(R"(
.text
.globl cuda_on_cpu_switch
.type cuda_on_cpu_switch,@function
cuda_on_cpu_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size cuda_on_cpu_switch,.-cuda_on_cpu_switch
)");
#else
#include <ucontext.h>
#endif

namespace cuda_on_cpu {

namespace {

constexpr std::size_t kStackBytes = std::size_t{256} << 10U;

class Stack {
 public:
  Stack() : bytes_(mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (bytes_ == MAP_FAILED) throw std::bad_alloc();
  }
  ~Stack() { munmap(bytes_, kStackBytes); }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;

  char* begin() const { return static_cast<char*>(bytes_); }
  char* end() const { return begin() + kStackBytes; }

 private:
  void* bytes_;
};

}  // namespace

struct Fiber::State {
  Stack stack;
  const std::function<void()>* body = nullptr;
#ifdef __x86_64__
  void* inside = nullptr;
  void* outside = nullptr;
#else
  ucontext_t inside;
  ucontext_t outside;
#endif
  void* fake_stack = nullptr;
  const void* outer_bottom = nullptr;
  std::size_t outer_size = 0;

  static State* entering;

  [[noreturn]] static void enter() {
    State& self = *entering;
    self.entered();
    (*self.body)();
    for (;;) self.swap_out();
  }

  void swap_in() {
#if defined(PLUMB_ADDRESS_SANITIZER)
    void* own = nullptr;
    __sanitizer_start_switch_fiber(&own, stack.begin(), kStackBytes);
#endif
    entering = this;
#ifdef __x86_64__
    cuda_on_cpu_switch(&outside, inside);
#else
    swapcontext(&outside, &inside);
#endif
#if defined(PLUMB_ADDRESS_SANITIZER)
    __sanitizer_finish_switch_fiber(own, nullptr, nullptr);
#endif
  }

  void swap_out() {
#if defined(PLUMB_ADDRESS_SANITIZER)
    __sanitizer_start_switch_fiber(&fake_stack, outer_bottom, outer_size);
#endif
#ifdef __x86_64__
    cuda_on_cpu_switch(&inside, outside);
#else
    swapcontext(&inside, &outside);
#endif
    entered();
  }

  void entered() {
#if defined(PLUMB_ADDRESS_SANITIZER)
    __sanitizer_finish_switch_fiber(fake_stack, &outer_bottom, &outer_size);
#endif
  }
};

Fiber::State* Fiber::State::entering = nullptr;

Fiber::Fiber() : state_(std::make_unique<State>()) {}
Fiber::~Fiber() = default;
Fiber::Fiber(Fiber&&) noexcept = default;

void Fiber::start(const std::function<void()>* body) {
  state_->body = body;
  state_->fake_stack = nullptr;
#ifdef __x86_64__
  // As if the switch had been called in the middle of nowhere: six registers, then where to return to.
  auto* top = reinterpret_cast<std::uintptr_t*>(state_->stack.end() - 64);
  *--top = 0;
  *--top = reinterpret_cast<std::uintptr_t>(&State::enter);
  for (int i = 0; i < 6; ++i) *--top = 0;
  state_->inside = top;
#else
  getcontext(&state_->inside);
  state_->inside.uc_stack.ss_sp = state_->stack.begin();
  state_->inside.uc_stack.ss_size = kStackBytes;
  makecontext(&state_->inside, reinterpret_cast<void (*)()>(&State::enter), 0);
#endif
}

void Fiber::resume() { state_->swap_in(); }
void Fiber::leave() { state_->swap_out(); }

}  // namespace cuda_on_cpu
