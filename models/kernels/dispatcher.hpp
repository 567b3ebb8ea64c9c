#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace plumb {

/// How tokens come to their experts and back.
enum class Dispatcher : std::uint8_t {
  kAllToAll,     ///< every copy of a token is a message of its own to the rank of its expert
  kOncePerNode,  ///< a token crosses to a node once and is copied inside (DeepEP, HybridEP; DeepSeek-AI 2024)
};

inline constexpr std::array<std::string_view, 2> kDispatcherNames{"all-to-all", "deepep"};

}  // namespace plumb
