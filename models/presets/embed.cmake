# cmake -DOUTPUT=presets.cpp -DNETWORKS=a.json;b.json -DCLUSTERS=... -DDEVICES=... -DLAYOUTS=... -DTRACES=... -P embed.cmake
# Writes the files as string literals, so that the program does not depend on the source tree.
function(embed function_name files)
  set(rows "")
  foreach(file IN LISTS files)
    get_filename_component(name "${file}" NAME_WLE)
    file(READ "${file}" json)
    string(APPEND rows "    Preset{\"${name}\", R\"json(${json})json\"},\n")
  endforeach()
  string(APPEND text "std::span<const Preset> ${function_name}() {\n  static constexpr std::array kPresets{\n${rows}  };\n"
                     "  return kPresets;\n}\n\n")
  set(text "${text}" PARENT_SCOPE)
endfunction()

set(text "#include <array>\n\n#include \"models/ground/presets.hpp\"\n\nnamespace plumb {\n\n")
embed(network_presets "${NETWORKS}")
embed(cluster_presets "${CLUSTERS}")
embed(device_presets "${DEVICES}")
embed(layout_presets "${LAYOUTS}")
embed(trace_presets "${TRACES}")
string(APPEND text "}  // namespace plumb\n")
file(WRITE "${OUTPUT}" "${text}")
