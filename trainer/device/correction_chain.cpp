#include "trainer/device/correction_chain.hpp"

#include <algorithm>
#include <cassert>

namespace plumb {
namespace {

CorrectedHolder with_buffers(CorrectedHolder holder, const std::vector<std::byte*>& buffers) {
  holder.buffers = buffers;
  return holder;
}

}  // namespace

CorrectionChain::CorrectionChain(const CorrectionSetting& setting, const MethodPlace& place,
                                 const std::vector<Block>& buffers) {
  std::size_t next = setting.schedule.weights.correction_buffers.size();
  for (const Method& method : setting.schedule.weights.methods) {
    Link link{make_correction({setting, method, place}), {}};
    const std::int32_t own = buffers_of(method, setting.schedule, place);
    for (std::int32_t i = 0; i < own; ++i) link.buffers.push_back(buffers[next++].data());
    links_.push_back(std::move(link));
  }
  assert(next == buffers.size() && "lowering and the trainer count by the same rule");
}

void CorrectionChain::start(const CorrectedHolder& holder) {
  for (Link& link : links_) link.correction->start(with_buffers(holder, link.buffers));
}

const std::byte* CorrectionChain::weights(const WeightRead& read, const CorrectedHolder& holder) {
  for (Link& link : links_) {
    const std::byte* weights = link.correction->weights(read, with_buffers(holder, link.buffers));
    if (weights != nullptr) return weights;
  }
  return nullptr;
}

bool CorrectionChain::exchange(Exchange step, std::span<std::byte> values, const CorrectedHolder& holder) {
  for (Link& link : links_) {
    if (link.correction->exchange(step, values, with_buffers(holder, link.buffers))) return true;
  }
  return false;
}

double CorrectionChain::rate_factor(std::int64_t update) const {
  double factor = 1;
  for (const Link& link : links_) factor *= link.correction->rate_factor(update);
  return factor;
}

void CorrectionChain::before_update(UpdateStep& step, const CorrectedHolder& holder) {
  for (Link& link : links_) link.correction->before_update(step, with_buffers(holder, link.buffers));
}

void CorrectionChain::after_update(const UpdateStep& step, const CorrectedHolder& holder) {
  for (Link& link : links_) link.correction->after_update(step, with_buffers(holder, link.buffers));
}

bool CorrectionChain::carries_gradients(std::int64_t update) const {
  return std::ranges::any_of(links_, [&](const Link& link) { return link.correction->carries_gradients(update); });
}

std::vector<std::int64_t*> CorrectionChain::notes() {
  std::vector<std::int64_t*> notes;
  for (Link& link : links_) {
    for (std::int64_t* note : link.correction->notes()) notes.push_back(note);
  }
  return notes;
}

}  // namespace plumb
