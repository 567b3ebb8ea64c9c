#pragma once

#include <memory>

#include "trainer/processes/processes.hpp"

namespace plumb {

/// Returns whether this program was built with MPI.
bool has_mpi();

/// Joins the MPI job that this process was started in (without mpirun: a job of one). May be called once in a process.
/// The job is left when the result is destroyed. Throws `Error` when the program was built without MPI.
std::unique_ptr<Processes> join_mpi_job();

}  // namespace plumb
