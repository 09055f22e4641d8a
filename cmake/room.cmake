# loopsmith_room(NAME SOURCES a.cpp ... ROOMS support ir ... LIBRARIES fmt::fmt ...)
#
# A room is one folder and one static library, `loopsmith_NAME`. ROOMS lists the rooms it may use, all of
# them lower in the picture of ARCHITECTURE.md; LIBRARIES the outside libraries it hides. A room that uses
# what it does not list fails to link, and tests/unit/tidy reads the includes and says so in words.
function(loopsmith_room NAME)
  cmake_parse_arguments(ARG "" "" "SOURCES;ROOMS;LIBRARIES" ${ARGN})
  if(ARG_SOURCES)
    add_library(loopsmith_${NAME} STATIC ${ARG_SOURCES})
    set(scope PUBLIC)
  else()
    add_library(loopsmith_${NAME} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(loopsmith_${NAME} ${scope} ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/compiler)
  target_link_libraries(loopsmith_${NAME} ${scope} loopsmith_flags)
  foreach(room ${ARG_ROOMS})
    target_link_libraries(loopsmith_${NAME} ${scope} loopsmith_${room})
  endforeach()
  if(ARG_LIBRARIES)
    if(ARG_SOURCES)
      target_link_libraries(loopsmith_${NAME} PRIVATE ${ARG_LIBRARIES})
    else()
      target_link_libraries(loopsmith_${NAME} INTERFACE ${ARG_LIBRARIES})
    endif()
  endif()
endfunction()

# What every room is compiled with.
add_library(loopsmith_flags INTERFACE)
target_compile_options(loopsmith_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Werror -Wno-unused-parameter -fno-rtti -fvisibility=hidden>)
if(LOOPSMITH_CHECKED)
  target_compile_definitions(loopsmith_flags INTERFACE LOOPSMITH_CHECKED=1)
endif()
if(LOOPSMITH_SANITIZE)
  target_compile_options(loopsmith_flags INTERFACE -fsanitize=${LOOPSMITH_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  target_link_options(loopsmith_flags INTERFACE -fsanitize=${LOOPSMITH_SANITIZE})
endif()
