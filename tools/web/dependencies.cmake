# What the halls link to, where the program is a WebAssembly module: headers of the system, behind a folder of links, so
# that the headers of its C library stay out of sight; what is compiled there is replaced by tools/web/platform.
set(plumb_web_headers ${CMAKE_BINARY_DIR}/headers)
file(MAKE_DIRECTORY ${plumb_web_headers})
foreach(package IN ITEMS boost nlohmann toml++)
  if(NOT EXISTS /usr/include/${package})
    message(FATAL_ERROR "the headers of ${package} are missing in /usr/include")
  endif()
  file(CREATE_LINK /usr/include/${package} ${plumb_web_headers}/${package} SYMBOLIC)
endforeach()
foreach(target IN ITEMS yaml-cpp tomlplusplus::tomlplusplus nlohmann_json::nlohmann_json ZLIB::ZLIB SQLite::SQLite3 TBB::tbb)
  add_library(${target} INTERFACE IMPORTED)
endforeach()
if(NOT EXISTS /usr/include/eigen3/Eigen)
  message(FATAL_ERROR "the headers of Eigen are missing in /usr/include/eigen3")
endif()
file(CREATE_LINK /usr/include/eigen3/Eigen ${plumb_web_headers}/Eigen SYMBOLIC)
add_library(Eigen3::Eigen INTERFACE IMPORTED)
include_directories(BEFORE SYSTEM ${CMAKE_SOURCE_DIR}/tools/web/platform/headers)
include_directories(SYSTEM ${plumb_web_headers})
add_compile_definitions(BOOST_NO_CXX98_FUNCTION_BASE _LIBCPP_ENABLE_CXX17_REMOVED_UNARY_BINARY_FUNCTION)

# Sources that tools/web/platform replaces, or that nothing there calls.
set(PLUMB_REPLACED
  ground/text_file.cpp ground/disk.cpp ground/huge_pages.cpp ground/memory_reuse.cpp ground/available_memory.cpp cluster/host.cpp
  launches/yaml_settings.cpp traces/readers/gzip.cpp traces/readers/nsys.cpp formats/schedule_program.cpp
  terminal/output_file.cpp terminal/results_folder.cpp terminal/run_main.cpp terminal/terminal.cpp)
list(TRANSFORM PLUMB_REPLACED REPLACE "[.]" "[.]")
list(TRANSFORM PLUMB_REPLACED APPEND "$")
