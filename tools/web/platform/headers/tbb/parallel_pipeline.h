// What Plumbline uses of oneTBB, on one thread: a pipeline of a source, a stage and a sink.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace tbb {

enum class filter_mode { parallel, serial_in_order };

class flow_control {
 public:
  void stop() { stopped_ = true; }
  bool is_stopped() const { return stopped_; }

 private:
  bool stopped_ = false;
};

/// `body` makes an `Out` of an `In`; a source, whose `In` is void, takes a `flow_control`.
template <class In, class Out, class Body>
struct filter {
  Body body;
};

template <class In, class Out, class Body>
filter<In, Out, Body> make_filter(filter_mode, Body body) {
  return {std::move(body)};
}

/// Two filters, one after the other.
template <class In, class Between, class Out, class First, class Second>
auto operator&(filter<In, Between, First> first, filter<Between, Out, Second> second) {
  if constexpr (std::is_void_v<In>) {
    auto both = [first = std::move(first.body), second = std::move(second.body)](flow_control& control) {
      auto item = first(control);
      if (!control.is_stopped()) return second(std::move(item));
      return decltype(second(std::move(item)))();
    };
    return filter<In, Out, decltype(both)>{std::move(both)};
  } else {
    auto both = [first = std::move(first.body), second = std::move(second.body)](In item) {
      return second(first(std::move(item)));
    };
    return filter<In, Out, decltype(both)>{std::move(both)};
  }
}

/// Runs the pipeline until its source stops it. `in_flight`: not needed on one thread.
template <class Body>
void parallel_pipeline(std::size_t, const filter<void, void, Body>& all) {
  for (flow_control control; !control.is_stopped();) all.body(control);
}

}  // namespace tbb
