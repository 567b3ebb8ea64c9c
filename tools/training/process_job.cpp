#include "tools/training/process_job.hpp"

#include <array>
#include <cstddef>
#include <cstring>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "models/ground/error.hpp"
#include "tools/terminal/process_share.hpp"
#include "tools/training/training.hpp"
#include "trainer/ground/run_aborted.hpp"
#include "trainer/processes/mpi_processes.hpp"

namespace plumb {
namespace {

constexpr std::array<std::string_view, 3> kTransports{"local", "mpi", "nccl"};

ExitStatus end_job(ProcessGroup& job, ExitStatus status, const std::string& what) {
  std::cerr << "plumbline: process " + std::to_string(job.rank()) + ": " + what + "\n" << std::flush;
  job.abort(static_cast<int>(status));
  return status;
}

}  // namespace

bool goes_by_links(const std::string& transport) { return transport == kTransports[2]; }

std::unique_ptr<ProcessGroup> join_job(const std::string& transport) {
  if (transport == kTransports[0]) {
    const std::string size = mpi_job_size();
    if (size == "1") return nullptr;
    throw Error("--transport local: mpirun has started " + size +
                " processes, which would all do the same work; expected --transport mpi");
  }
  if (transport != kTransports[1] && !goes_by_links(transport)) throw_unknown("transport", transport, kTransports);
  return std::make_unique<ProcessGroup>(join_mpi_job());
}

void prepare_in(ProcessGroup* job, const std::function<void()>& prepare) {
  if (job == nullptr) return prepare();
  job->agree([&] {
    prepare();
    return std::string();
  });
}

ExitStatus run_in(ProcessGroup* job, const std::function<ExitStatus()>& command) {
  if (job == nullptr) return command();
  try {
    return command();
  } catch (const AgreedError&) {
    throw;
  } catch (const RunAborted&) {
    return ExitStatus::kDone;  // the first process tells why, and with what status the job ends
  } catch (const CannotRun& error) {
    return end_job(*job, ExitStatus::kNo, std::string("error: ") + error.what());
  } catch (const Error& error) {
    return end_job(*job, ExitStatus::kWrongInput, std::string("error: ") + error.what());
  } catch (const std::exception& error) {
    return end_job(*job, ExitStatus::kOurFault, std::string("internal error: ") + error.what());
  }
}

std::string named_transport(const CommandLine& arguments) {
  constexpr std::string_view kOption = "--transport";
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    if (!word.starts_with(kOption)) continue;
    if (word == kOption && i + 1 < arguments.size()) return arguments[i + 1];
    if (word.substr(kOption.size()).starts_with('=')) return std::string(word.substr(kOption.size() + 1));
  }
  return std::string(kTransports[0]);
}

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
