#pragma once

#include <string>
#include <string_view>

namespace plumb {

/// `value` as a message quotes it: of a long one (`kQuotedValue`) its beginning and "...".
std::string short_value(std::string_view value);

/// `message` with every value between quotation marks ('...') as `short_value` gives it. A mark begins a value where no
/// letter or digit stands before it, and ends one where none stands behind it: "a device's list" quotes nothing.
std::string with_short_values(std::string_view message);

}  // namespace plumb
