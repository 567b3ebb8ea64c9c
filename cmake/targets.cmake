# Warnings are ours alone: private to our targets, never exported.
add_library(plumb_warnings INTERFACE)
# g++ 12 warns of overlapping copies inside std::string that cannot happen (https://gcc.gnu.org/PR105651).
target_compile_options(plumb_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion
                              $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> $<$<BOOL:${PLUMB_WERROR}>:-Werror>>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Wshadow $<$<BOOL:${PLUMB_WERROR}>:-Werror=all-warnings>>)

add_library(plumb_sanitizers INTERFACE)
if(PLUMB_SANITIZE)
  target_compile_options(plumb_sanitizers INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${PLUMB_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all>)
  if(PLUMB_SANITIZE MATCHES undefined)
    # These checks of every access double the time to compile. A null dereference stops the program anyway, and the
    # address sanitizer finds what leaves its object.
    target_compile_options(plumb_sanitizers INTERFACE
      $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=null,alignment,vptr,pointer-overflow,object-size>)
  endif()
  target_link_options(plumb_sanitizers INTERFACE -fsanitize=${PLUMB_SANITIZE})
endif()

if(PLUMB_FUZZ)
  target_compile_options(plumb_sanitizers INTERFACE -fsanitize=fuzzer-no-link,address,undefined)
  target_link_options(plumb_sanitizers INTERFACE -fsanitize=address,undefined)
endif()

# plumb_library(models SOURCES generated.cpp EXCEPT REGEX...): target plumb_models, alias plumb::models, of all sources and
# headers in this folder, whatever room they stand in: a new file needs no row. EXCEPT leaves out paths (relative to this
# folder) that match; SOURCES adds generated ones.
function(plumb_library folder)
  cmake_parse_arguments(ARG "" "" "SOURCES;EXCEPT" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/*.hpp)
  foreach(pattern IN LISTS ARG_EXCEPT)
    list(FILTER sources EXCLUDE REGEX ${pattern})
    list(FILTER headers EXCLUDE REGEX ${pattern})
  endforeach()
  add_library(plumb_${folder} STATIC ${sources} ${ARG_SOURCES})
  add_library(plumb::${folder} ALIAS plumb_${folder})
  target_sources(plumb_${folder} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${headers})
  target_compile_features(plumb_${folder} PUBLIC cxx_std_20)  # for those who include the headers
  target_link_libraries(plumb_${folder} PRIVATE $<BUILD_INTERFACE:plumb_warnings>
                                        PUBLIC $<BUILD_INTERFACE:plumb_sanitizers>)
  set_target_properties(plumb_${folder} PROPERTIES EXPORT_NAME ${folder} POSITION_INDEPENDENT_CODE ON
                                                   VERIFY_INTERFACE_HEADER_SETS ON)
  set_property(GLOBAL APPEND PROPERTY PLUMB_LIBRARIES plumb_${folder})
endfunction()
