#pragma once

#include <functional>
#include <memory>
#include <string>

#include "tools/terminal/command_line.hpp"
#include "trainer/processes/process_group.hpp"

namespace plumb {

/// Joins the processes that `--transport` names: "local", all devices in this process (null), or "mpi" and "nccl", the
/// job that mpirun started. Throws `Error` for another name, for several processes without `mpi`, and when the program
/// was built without it.
std::unique_ptr<ProcessGroup> join_job(const std::string& transport);

/// Whether messages between the processes go by links of NCCL, from GPU to GPU ("nccl").
bool goes_by_links(const std::string& transport);

/// Does `prepare` here, or in all processes of `job`: what one of them finds wrong, the first one tells.
void prepare_in(ProcessGroup* job, const std::function<void()>& prepare);

/// Runs a command in this process of `job` (null: the only one). When it fails here alone, says so and ends the job
/// with the exit status of the failure.
ExitStatus run_in(ProcessGroup* job, const std::function<ExitStatus()>& command);

/// The transport that a command line names, whatever else is on it: "local" without any. A job is joined before the
/// rest is read, because only processes that know each other can leave it to the first one to say what is wrong.
std::string named_transport(const CommandLine& arguments);

}  // namespace plumb
