#include "schedules/catalogue/zero_bubble/dualpipe_writer.hpp"

namespace plumb {

void DualPipeWriter::write() {
  const std::int64_t before = p_ - d_ - 1;  // how far the place is away where the pipelines meet
  list_.each(2 * before, [&] { add(0, Op::kF, 0); });
  list_.each(d_ + 1, [&] {
    add(0, Op::kF, 2 * before);
    add(1, Op::kF, 0);
  });
  list_.each(before, [&] {
    add(1, Op::kI, 0);
    add(1, Op::kW, 0);
    add(1, Op::kF, d_ + 1);
  });
  steady(m_ - 2 * p_ + d_ + 1);
  list_.each(before, [&] {
    add(1, Op::kB, m_ - p_);
    add_overlapped(1, m_ - before, m_ - 2 * p_ + d_ + 1);
  });
  switch_to_input();
  drain();
}

Action DualPipeWriter::action(std::size_t arm, Op op, std::int64_t microbatch) const {
  const DualPipeArm& of = arms_[arm];
  return ListBuilder::action(of.stage, op, of.first_microbatch + microbatch, of.replica);
}

void DualPipeWriter::add(std::size_t arm, Op op, std::int64_t microbatch) {
  const Action one = action(arm, op, microbatch);
  list_.add_all({&one, 1});
}

/// A forward of one arm overlapped with a full backward of the other.
void DualPipeWriter::add_overlapped(std::size_t forward_arm, std::int64_t forward, std::int64_t backward) {
  list_.add_pair(action(forward_arm, Op::kF, forward), action(1 - forward_arm, Op::kB, backward));
}

/// `count` times {F0|B1} {F1|B0}; where the pipelines meet, the first of all is not overlapped.
void DualPipeWriter::steady(std::int64_t count) {
  const auto turn = [&](std::int64_t first, bool apart) {
    const std::int64_t f0 = 2 * p_ - d_ - 1 + first;
    const std::int64_t b1 = p_ - d_ - 1 + first;
    if (apart) {
      add(0, Op::kF, f0);
      add(1, Op::kB, b1);
    } else {
      add_overlapped(0, f0, b1);
    }
    add_overlapped(1, p_ + first, first);
  };
  const std::int64_t apart = d_ == p_ - 1 ? 1 : 0;
  if (apart != 0) turn(0, true);
  list_.each(count - apart, [&] { turn(apart, false); });
}

/// d + 1 times B1 B0; from the middle on I takes the place of B.
void DualPipeWriter::switch_to_input() {
  const std::int64_t middle = d_ + 1;  // backwards before the switch
  for (std::int64_t i = 0; i < 2 * (d_ + 1); ++i) {
    const std::size_t arm = i % 2 == 0 ? 1 : 0;
    const std::int64_t microbatch = (arm == 1 ? m_ - d_ - 1 : m_ - p_) + i / 2;
    add(arm, i < middle ? Op::kB : Op::kI, microbatch);
    if (i >= middle) left_over_.emplace_back(arm, microbatch);
  }
}

/// The rest of I0, each after the oldest W left over; then all W.
void DualPipeWriter::drain() {
  for (std::int64_t i = m_ - p_ + d_ + 1; i < m_; ++i) {
    take();
    add(0, Op::kI, i);
    left_over_.emplace_back(0, i);
  }
  while (taken_ < left_over_.size()) take();
}

void DualPipeWriter::take() {
  const auto& [arm, microbatch] = left_over_[taken_++];
  add(arm, Op::kW, microbatch);
}

}  // namespace plumb
