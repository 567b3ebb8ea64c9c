#include "tools/terminal/process_share.hpp"

#include "models/ground/error.hpp"
#include "tools/terminal/mpi_job.hpp"

namespace plumb {

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
