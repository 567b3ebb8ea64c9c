#pragma once

// What work there is and what it costs: networks, clusters, stages, times and bytes. Library: plumb::models.

#include "models/cluster/cluster.hpp"
#include "models/cluster/cluster_io.hpp"
#include "models/costs/stage_costs.hpp"
#include "models/ground/error.hpp"
#include "models/ground/units.hpp"
#include "models/import/load_network.hpp"
#include "models/jobs/job_costs.hpp"
#include "models/jobs/parallelism.hpp"
#include "models/kernels/kernel_rates_io.hpp"
#include "models/network/lora.hpp"
#include "models/network/network.hpp"
#include "models/network/network_io.hpp"
#include "models/pricing/known_books.hpp"
#include "models/pricing/price.hpp"
#include "models/sources/abstract_costs.hpp"
#include "models/sources/profile.hpp"
#include "models/stages/partition.hpp"
