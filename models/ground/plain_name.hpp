#pragma once

#include <string>
#include <string_view>

namespace plumb {

/// `name` without what systems and people spell differently: small letters, digits and signs other than `-`, `_` and
/// blanks.
std::string plain_name(std::string_view name);

/// `name` in small letters, with dashes for `_` and blanks.
std::string dashed_name(std::string_view name);

}  // namespace plumb
