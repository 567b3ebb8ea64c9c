#include "tools/studies/public/public_results.hpp"

namespace plumb {

std::string public_group(const MeasuredStep& row) {
  if (row.data != "vtrain") return row.data;
  return row.data + (row.num_gpus > 8 ? ", several nodes" : ", one node");
}

}  // namespace plumb
