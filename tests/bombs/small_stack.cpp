// Preloaded into a program, runs its `main` in a thread with little stack, as a server or a Python module may do. The
// size is that of macOS's threads, the smallest of the systems that people have.
#include <dlfcn.h>
#include <pthread.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr std::size_t kStackBytes = std::size_t{512} << 10U;

using Main = int (*)(int, char**, char**);

struct WrappedMain {
  Main main = nullptr;
  int count = 0;
  char** arguments = nullptr;
  char** environment = nullptr;
  int status = 1;
};

Main wrapped_main = nullptr;

void* run(void* given) {
  auto* program = static_cast<WrappedMain*>(given);
  program->status = program->main(program->count, program->arguments, program->environment);
  return nullptr;
}

int main_in_thread(int count, char** arguments, char** environment) {
  WrappedMain program{.main = wrapped_main, .count = count, .arguments = arguments, .environment = environment};
  pthread_attr_t attributes;
  pthread_t thread{};
  if (pthread_attr_init(&attributes) != 0 || pthread_attr_setstacksize(&attributes, kStackBytes) != 0 ||
      pthread_create(&thread, &attributes, run, &program) != 0) {
    std::fputs("small_stack: no thread can be made, expected one with 512 KiB of stack\n", stderr);
    return 70;
  }
  pthread_join(thread, nullptr);
  return program.status;
}

}  // namespace

/// What the system's start-up code calls with the program's `main`: the C library's, with another `main`.
extern "C" int __libc_start_main(Main main, int count, char** arguments, void (*init)(), void (*fini)(),
                                 void (*rtld_fini)(), void* stack_end) {
  using Start = int (*)(Main, int, char**, void (*)(), void (*)(), void (*)(), void*);
  const auto start = reinterpret_cast<Start>(dlsym(RTLD_NEXT, "__libc_start_main"));
  if (start == nullptr) std::abort();
  wrapped_main = main;
  return start(main_in_thread, count, arguments, init, fini, rtld_fini, stack_end);
}
