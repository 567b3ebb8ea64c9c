#pragma once

#include <memory>
#include <string>

#include "models/pricing/job_price_book.hpp"

namespace plumb {

/// Returns the prices of a built-in network on a built-in cluster, which are kept from one question to the next.
/// Nothing where one of them is a file or this machine, which may change between questions.
std::shared_ptr<JobPriceBook> known_book(const std::string& network, const std::string& cluster);

/// Forgets all that is kept.
void release_known_books();

}  // namespace plumb
