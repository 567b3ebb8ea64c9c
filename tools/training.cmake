# The programs that train. Included by CMakeLists.txt.
set(demo_text ${CMAKE_CURRENT_SOURCE_DIR}/demo/devils_dictionary.txt)
add_custom_command(
  OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/demo_text.cpp
  COMMAND ${CMAKE_COMMAND} -DINPUT=${demo_text} -DOUTPUT=${CMAKE_CURRENT_BINARY_DIR}/demo_text.cpp
          -P ${CMAKE_CURRENT_SOURCE_DIR}/demo_text.cmake
  DEPENDS ${demo_text} ${CMAKE_CURRENT_SOURCE_DIR}/demo_text.cmake
  COMMENT "Inlining the demo's text"
  VERBATIM)

plumb_part(training claims training)
target_sources(plumb_training PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/demo_text.cpp)
target_link_libraries(plumb_training PUBLIC plumb_tools plumb_trainer)

add_executable(plumbline main.cpp)
target_link_libraries(plumbline PRIVATE plumb_training plumb_warnings)

# What a first run on a GPU has to find out (results/fidelity/scripts/gpu/validate.sh).
if(PLUMB_CUDA)
  add_executable(plumbline-gpu-probe gpu/probe.cpp gpu/probe_kernels.cu gpu/probe_links.cpp gpu/probe_overheads.cpp
                                     gpu/probe_partitions.cpp gpu/probe_parts.cpp gpu/probe_rates.cpp)
  target_link_libraries(plumbline-gpu-probe PRIVATE plumb_trainer plumb_warnings nlohmann_json::nlohmann_json
                                                    CUDA::cudart_static)
  target_include_directories(plumbline-gpu-probe PRIVATE ${PROJECT_SOURCE_DIR})
  set_target_properties(plumbline-gpu-probe PROPERTIES CUDA_STANDARD 20 UNITY_BUILD OFF)
endif()
