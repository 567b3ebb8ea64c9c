#pragma once

#include <string>

#include "models/ground/error.hpp"

namespace plumb::testing {

/// The message of the `Error` that `action` throws; empty when it throws none.
template <class Action>
std::string error_message(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace plumb::testing
