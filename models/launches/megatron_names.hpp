#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "models/launches/settings.hpp"

namespace plumb {

/// What a name that was not read means for time and memory.
enum class SettingClass : std::uint8_t {
  kNoEffect,     ///< data, files, logs, learning: a step takes as long and as much memory with any value
  kNotModelled,  ///< changes time or memory, and its effect is not part of the prediction
  kUnknown,
};

SettingClass megatron_setting_class(std::string_view name);

/// Gives the settings of Megatron's family one name each, that of Megatron-LM's `args`: flags that switch something
/// off become its name and "false" (--disable-bias-linear: add_bias_linear), older names and the field names of
/// Megatron Core's configurations (NeMo, Megatron-Bridge) and of GPT-NeoX become newer ones.
void rename_to_megatron(Settings& settings);

}  // namespace plumb
