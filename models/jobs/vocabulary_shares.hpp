#pragma once

#include <cstdint>

#include "models/costs/vocabulary_stages.hpp"
#include "models/jobs/job_costs.hpp"
#include "models/network/network.hpp"
#include "models/stages/partition.hpp"

namespace plumb {

/// Returns the layers between embedding and head, which the stages of a vocabulary-parallel schedule hold. Throws
/// `Error` for networks that do not begin with an embedding and end with a head.
Network without_vocabulary(const Network& network);

/// `network` with one of `shares` equal shares (rounded up) of the vocabulary's rows of its embedding and its head:
/// what one device computes of it. Throws as `without_vocabulary` does.
Network with_vocabulary_share(const Network& network, std::size_t shares);

/// Returns the cut of a network with embedding and head whose layers between these are cut as `layers` says: both stand
/// alone.
Partition around_layers(const Partition& layers);

/// Costs by stage of a schedule, from those of the chain "a share of the embedding, stages of layers, a share of the
/// head". A loss takes no time, and the first stage of the layers holds the positions of the embedding. The work
/// becomes that of `network`, whose share the chain was, for microbatches of `shape`.
StageCosts dealt_out(StageCosts chain, const VocabularyStages& stages, const Network& network,
                     const MicrobatchShape& shape);

/// `job_costs` of a vocabulary-parallel schedule; `layers` cuts the layers between embedding and head. Shares that are
/// computed at once take the time of their collectives as well (over the places of the pipeline: the head's input to
/// all, the largest logits, both sums of the loss, and the sum of the input's gradients).
JobCosts vocabulary_job_costs(const Network& network, const Partition& layers, const JobMachine& machine,
                              const Parallelism& parallelism, const VocabularyStages& stages);

}  // namespace plumb
