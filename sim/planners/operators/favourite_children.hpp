#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "sim/planners/problem.hpp"

namespace plumb {

/// Work in a graph without cycles whose results take time to another place.
struct DelayedWork {
  struct Edge {
    std::size_t from = 0;
    std::size_t to = 0;
    double delay = 0;  ///< where `to` runs elsewhere
  };
  std::vector<double> times;  ///< by operator
  std::vector<Edge> edges;
};

/// Which successor of every operator should run where it did itself.
struct FavouriteChildren {
  std::vector<double> elsewhere;       ///< by edge, from 0 to 1, as the linear programme has it
  double makespan = 0;                 ///< of the linear programme: no placement on however many devices has less
  std::vector<std::size_t> favourite;  ///< by operator; as many as there are operators: none
};

/// The linear programme of Hanen and Munier (1995), which Baechi's m-SCT solves: start times s >= 0, x of every edge
/// from 0 to 1 (1: `to` runs elsewhere), s_from + t_from + delay x <= s_to, of every operator all but one of the edges
/// that leave it have 1, likewise of those that enter it; minimal makespan. Edges with x below 1/2 are favourites,
/// later ones in place of earlier ones of the same operator, as in Baechi's code. Solved by the dual simplex method on
/// a dense table; throws `Error` above 4 million entries.
FavouriteChildren favourite_children(const DelayedWork& work, const StopSign& stop);

}  // namespace plumb
