#include "tools/terminal/process_share.hpp"

#include <cstdlib>
#include <string>

#include "models/ground/error.hpp"

namespace plumb {

std::string mpi_job_size() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    if (const char* size = std::getenv(name); size != nullptr) return size;
  }
  return "1";
}

ExitStatus run_in_job(const char* name, RunShared shared, const std::function<ExitStatus(const ProcessShare&)>& part) {
  const std::string size = mpi_job_size();
  if (size == "1") return part({});
  if (shared == nullptr) {
    throw Error(std::string(name) + ": mpirun has started " + size +
                " processes, and this program was built without MPI; expected the one with the trainer, which "
                "`./plumbline train --help` builds");
  }
  return shared(part);
}

}  // namespace plumb
