# Warnings are ours alone: private to our targets, never exported. Who builds a release to use it is not told of them, which
# saves a twelfth of the compiler's time.
add_library(plumb_warnings INTERFACE)
set(plumb_warns $<OR:$<BOOL:${PLUMB_WERROR}>,$<NOT:$<CONFIG:Release>>>)
# g++ 12 warns of overlapping copies inside std::string that cannot happen (https://gcc.gnu.org/PR105651).
target_compile_options(plumb_warnings INTERFACE
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,${plumb_warns}>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion
                              $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> $<$<BOOL:${PLUMB_WERROR}>:-Werror>>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Wshadow $<$<BOOL:${PLUMB_WERROR}>:-Werror=all-warnings>>)

add_library(plumb_sanitizers INTERFACE)
if(PLUMB_SANITIZE)
  target_compile_options(plumb_sanitizers INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${PLUMB_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all>)
  if(PLUMB_SANITIZE MATCHES undefined)
    # These checks of every access add up to a third each to the time to compile, and nearly double it together
    # (results/hardening). A null dereference stops the program anyway, and the address sanitizer finds what leaves its
    # object. Who names one in PLUMB_SANITIZE has it.
    set(plumb_slow_checks null alignment vptr pointer-overflow object-size)
    string(REPLACE "," ";" plumb_named_checks "${PLUMB_SANITIZE}")
    list(REMOVE_ITEM plumb_slow_checks ${plumb_named_checks})
    list(JOIN plumb_slow_checks "," plumb_slow_checks)
    if(plumb_slow_checks)
      target_compile_options(plumb_sanitizers INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=${plumb_slow_checks}>)
    endif()
  endif()
  if(PLUMB_SANITIZE MATCHES address)
    target_compile_definitions(plumb_sanitizers INTERFACE PLUMB_ADDRESS_SANITIZER)
  endif()
  target_link_options(plumb_sanitizers INTERFACE -fsanitize=${PLUMB_SANITIZE})
endif()

# Coverage in the libraries: a fuzzer sees which inputs reach new code. Sections, so that a fuzzer consists of what its
# target calls: after every input it looks at all counters that it was linked with.
if(PLUMB_FUZZ)
  target_compile_options(plumb_sanitizers INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=fuzzer-no-link -ffunction-sections -fdata-sections>)
endif()

# plumb_library(models SOURCES generated.cpp EXCEPT REGEX...): target plumb_models, alias plumb::models, of all sources and
# headers in this folder, whatever room they stand in: a new file needs no row. ROOMS takes only these subfolders; EXCEPT
# leaves out paths (relative to this folder) that match; SOURCES adds generated ones. The library is installed, and with it
# the header through which outsiders come in: include/plumbline/models.hpp. CORE and BEYOND_CORE: see plumb_archive.
function(plumb_library name)
  cmake_parse_arguments(ARG "CORE" "" "SOURCES;EXCEPT;ROOMS;BEYOND_CORE" ${ARGN})
  plumb_glob(sources "*.cpp" ${ARG_ROOMS})
  plumb_glob(headers "*.hpp" ${ARG_ROOMS})
  foreach(pattern IN LISTS ARG_EXCEPT PLUMB_REPLACED)
    list(FILTER sources EXCLUDE REGEX ${pattern})
    list(FILTER headers EXCLUDE REGEX ${pattern})
  endforeach()
  if(ARG_CORE)
    plumb_archive(${name} "${sources};${ARG_SOURCES}" ${ARG_BEYOND_CORE})
  else()
    add_library(plumb_${name} STATIC ${sources} ${ARG_SOURCES})
  endif()
  add_library(plumb::${name} ALIAS plumb_${name})
  set(include ${PROJECT_SOURCE_DIR}/include)
  target_sources(plumb_${name}
    PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${headers}
           FILE_SET doorway TYPE HEADERS BASE_DIRS ${include} FILES ${include}/plumbline/${name}.hpp)
  target_compile_features(plumb_${name} PUBLIC cxx_std_20)  # for those who include the headers
  target_link_libraries(plumb_${name} PRIVATE $<BUILD_INTERFACE:plumb_warnings>)
  # The trainer's threads write nothing but what it and models own. Those of the other libraries are oneTBB's, and the
  # thread sanitizer understands them only with a oneTBB that was compiled for it.
  if(PLUMB_SANITIZE STREQUAL thread AND NOT PLUMB_SANITIZED_TBB AND NOT name MATCHES "^(models|trainer)$")
    target_compile_options(plumb_${name} PRIVATE -O0 -g0)
  else()
    target_link_libraries(plumb_${name} PUBLIC $<BUILD_INTERFACE:plumb_sanitizers>)
  endif()
  set_target_properties(plumb_${name} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON
                                                 VERIFY_INTERFACE_HEADER_SETS ON)
  set_property(GLOBAL APPEND PROPERTY PLUMB_LIBRARIES plumb_${name})
endfunction()

# plumb_archive(NAME SOURCES REGEX...): library plumb_NAME, of which the core program takes all sources but those that match
# (tools/core). They are compiled once, as the objects of plumb_NAME_core, with the options of plumb_NAME.
function(plumb_archive name sources)
  set(core ${sources})
  foreach(pattern IN LISTS ARGN)
    list(FILTER core EXCLUDE REGEX ${pattern})
  endforeach()
  list(REMOVE_ITEM sources "" ${core})
  add_library(plumb_${name}_core OBJECT ${core})
  add_library(plumb_${name} STATIC ${sources} $<TARGET_OBJECTS:plumb_${name}_core>)
  foreach(property IN ITEMS COMPILE_OPTIONS COMPILE_DEFINITIONS INCLUDE_DIRECTORIES)
    set_target_properties(plumb_${name}_core PROPERTIES ${property} "$<TARGET_PROPERTY:plumb_${name},${property}>")
  endforeach()
  set_target_properties(plumb_${name}_core PROPERTIES POSITION_INDEPENDENT_CODE ON)
  if(CMAKE_UNITY_BUILD_BATCH_SIZE EQUAL 20)  # as in a release: half as many units read half as many headers
    set_target_properties(plumb_${name}_core PROPERTIES UNITY_BUILD_BATCH_SIZE 40)
  endif()
  set_target_properties(plumb_${name} PROPERTIES LINKER_LANGUAGE CXX)
  set_property(GLOBAL APPEND PROPERTY PLUMB_CORE_OBJECTS $<TARGET_OBJECTS:plumb_${name}_core>)
endfunction()

# plumb_glob(OUT "*.cpp" ROOM...): files of this folder, or only of these subfolders, relative to it. Those that include
# a large library come first: they share a unit, and its templates are instantiated once.
function(plumb_glob out pattern)
  set(patterns ${CMAKE_CURRENT_SOURCE_DIR}/${pattern})
  if(ARGN)
    set(patterns ${ARGN})
    list(TRANSFORM patterns PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
    list(TRANSFORM patterns APPEND /${pattern})
  endif()
  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${patterns})
  set(first "")
  foreach(file IN LISTS files)
    file(STRINGS ${file} large REGEX "^#include <(nlohmann|boost|Eigen)/" LIMIT_COUNT 1)
    if(large)
      list(APPEND first ${file})
    endif()
  endforeach()
  list(REMOVE_ITEM files "" ${first})
  set(${out} ${first} ${files} PARENT_SCOPE)
endfunction()
