#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tools/training/process_job.hpp"
#include "tools/training/training.hpp"

namespace plumb {
namespace {

ProcessGroup::Bytes parcel_of(const std::string& text) {
  ProcessGroup::Bytes bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

std::vector<std::string> texts_of(const std::vector<ProcessGroup::Bytes>& all) {
  std::vector<std::string> texts;
  for (const ProcessGroup::Bytes& each : all) {
    texts.emplace_back(reinterpret_cast<const char*>(each.data()), each.size());
  }
  return texts;
}

}  // namespace

ExitStatus run_shared(const std::function<ExitStatus(const ProcessShare&)>& command) {
  const std::unique_ptr<ProcessGroup> job = join_job("mpi");
  const ProcessShare share{
      .rank = job->rank(),
      .size = job->size(),
      .prepare = [&](const std::function<void()>& work) { prepare_in(job.get(), work); },
      .gather = [&](const std::string& own) { return texts_of(job->gather(parcel_of(own))); },
      .exchange =
          [&](const std::string& own) { return texts_of(job->exchange(std::vector(job->size(), parcel_of(own)))); }};
  return run_in(job.get(), [&] { return command(share); });
}

}  // namespace plumb
