#pragma once

#include <string>

namespace plumb::testing {

/// The text of tests/golden/`name`; empty when there is none. With the environment variable PLUMB_UPDATE_GOLDEN set,
/// `actual` is written there first: review the difference before it is committed.
std::string golden(const std::string& name, const std::string& actual);

}  // namespace plumb::testing
