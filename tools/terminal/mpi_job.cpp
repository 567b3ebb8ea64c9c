#include "tools/terminal/mpi_job.hpp"

#include <cstdlib>

namespace plumb {

std::string mpi_job_size() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    if (const char* size = std::getenv(name); size != nullptr) return size;
  }
  return "1";
}

}  // namespace plumb
