# loopsmith_precompile(): the headers of others that most sources read, compiled once per build.
#
# A build from nothing takes two thirds of the time. Sources include what they use either way: `-DLOOPSMITH_PRECOMPILED=OFF` builds without.
# The compiler cache hits across folders (measure with `ccache -s`): `precompile` gives it a checksum that names no folder, and sources read
# the compiled header alone, whose path the cache makes relative.
set(loopsmith_headers
  <algorithm> <array> <atomic> <charconv> <chrono> <cmath> <cstdint> <cstdlib> <cstring> <deque> <fstream> <functional>
  <limits> <map> <memory> <mutex> <numeric> <optional> <random> <set> <span> <sstream> <string> <string_view> <thread>
  <unordered_map> <unordered_set> <utility> <variant> <vector> <fmt/format.h> <nlohmann/json.hpp>)

# What is precompiled serves programs and libraries alike.
set(CMAKE_CXX_COMPILE_OPTIONS_PIE ${CMAKE_CXX_COMPILE_OPTIONS_PIC})
# CMake's own options also read the header's text, by a path that the compiler cache keeps absolute.
set(CMAKE_CXX_COMPILE_OPTIONS_USE_PCH -Xclang -include-pch -Xclang <PCH_FILE>)

function(loopsmith_precompile)
  set(bearer ${CMAKE_BINARY_DIR}/precompiled.cpp)
  file(CONFIGURE OUTPUT ${bearer} CONTENT "// The bearer of the precompiled headers.\n")
  add_library(loopsmith_headers OBJECT ${bearer})
  target_link_libraries(loopsmith_headers PRIVATE loopsmith_flags fmt::fmt nlohmann_json::nlohmann_json)
  target_precompile_headers(loopsmith_headers PRIVATE ${loopsmith_headers})
  target_compile_options(loopsmith_headers PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  set_target_properties(loopsmith_headers PROPERTIES
    CXX_COMPILER_LAUNCHER "${CMAKE_SOURCE_DIR}/cmake/precompile;${CMAKE_SOURCE_DIR};${CMAKE_BINARY_DIR}")
  loopsmith_precompile_folder(${CMAKE_SOURCE_DIR})
endfunction()

function(loopsmith_precompile_folder FOLDER)
  get_property(targets DIRECTORY ${FOLDER} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target ${targets})
    get_target_property(type ${target} TYPE)
    get_target_property(sources ${target} SOURCES)
    get_target_property(options ${target} COMPILE_OPTIONS)
    if(NOT type MATCHES "^(STATIC_LIBRARY|OBJECT_LIBRARY|EXECUTABLE)$" OR NOT sources MATCHES "\\.cpp" OR target MATCHES "^loopsmith_headers$" OR options MATCHES "-O|-fsanitize=fuzzer")
      continue()
    endif()
    target_precompile_headers(${target} REUSE_FROM loopsmith_headers)
    # What the headers were compiled with, wherever they are read.
    target_compile_definitions(${target} PRIVATE $<TARGET_PROPERTY:fmt::fmt,INTERFACE_COMPILE_DEFINITIONS>)
  endforeach()
  get_property(folders DIRECTORY ${FOLDER} PROPERTY SUBDIRECTORIES)
  foreach(folder ${folders})
    loopsmith_precompile_folder(${folder})
  endforeach()
endfunction()
