#include "models/ground/error.hpp"
#include "trainer/processes/mpi_processes.hpp"

namespace plumb {

bool has_mpi() { return false; }

std::unique_ptr<Processes> join_mpi_job() {
  throw Error("transport mpi: this program was built without MPI; expected a build with it (libopenmpi-dev), or local");
}

}  // namespace plumb
