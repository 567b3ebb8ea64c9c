#pragma once

#include <benchmark/benchmark.h>

#include <ctime>

namespace plumb::bench {

/// Processor time of this process so far, in seconds: what a thread that never waits needs on a machine that does other
/// things, too.
inline double processor_s() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Processor time of `work`.
template <class Work>
double processor_s_of(Work&& work) {
  const double begin = processor_s();
  benchmark::DoNotOptimize(work());
  return processor_s() - begin;
}

}  // namespace plumb::bench
