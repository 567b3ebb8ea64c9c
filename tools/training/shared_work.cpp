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

std::vector<std::string> gathered_texts(ProcessGroup& job, const std::string& own) {
  ProcessGroup::Bytes bytes(own.size());
  std::memcpy(bytes.data(), own.data(), own.size());
  std::vector<std::string> texts;
  for (const ProcessGroup::Bytes& each : job.gather(std::move(bytes))) {
    texts.emplace_back(reinterpret_cast<const char*>(each.data()), each.size());
  }
  return texts;
}

}  // namespace

ExitStatus run_shared(const std::function<ExitStatus(const ProcessShare&)>& command) {
  const std::unique_ptr<ProcessGroup> job = join_job("mpi");
  const ProcessShare share{.rank = job->rank(),
                           .size = job->size(),
                           .prepare = [&](const std::function<void()>& work) { prepare_in(job.get(), work); },
                           .gather = [&](const std::string& own) { return gathered_texts(*job, own); }};
  return run_in(job.get(), [&] { return command(share); });
}

}  // namespace plumb
