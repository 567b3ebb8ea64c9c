#pragma once

#include <string>

namespace plumb {

/// How many processes mpirun, or srun with PMI, has started together with this one, as they tell it in the environment;
/// "1" without them.
std::string mpi_job_size();

}  // namespace plumb
