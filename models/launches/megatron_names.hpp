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
  kDecides,      ///< decides the network, the stages, precision, the optimizer or memory, and is not modelled
  kUnknown,
};

SettingClass megatron_setting_class(std::string_view name);

/// Gives the settings of Megatron's family one name each, that of Megatron-LM's `args`: flags that switch something
/// off become its name and "false" (--disable-bias-linear: add_bias_linear), older names and the field names of
/// Megatron Core's configurations (NeMo, Megatron-Bridge) and of GPT-NeoX become newer ones.
void rename_to_megatron(Settings& settings);

/// Systems that take settings of Megatron's family and have defaults of their own.
enum class MegatronSystem : std::uint8_t {
  kNeoX,   ///< GPT-NeoX, which DeepSpeed runs
  kSwift,  ///< ms-swift: "megatron sft", "megatron pt"
};

/// Sets what the system takes where nothing is said, under its own names for settings.
void add_system_defaults(MegatronSystem system, Settings& settings);

/// Returns whether a configuration has settings that only GPT-NeoX has.
bool is_neox_configuration(const Settings& settings);

/// Throws `Error` where the settings are those of a model that is no plain language model: with a vision encoder, or
/// with layers that nobody here knows. `settings` are renamed; `of_command` where they are flags, of which none is
/// there by default.
void refuse_other_models(const Settings& settings, bool of_command);

}  // namespace plumb
