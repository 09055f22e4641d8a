# loopsmith_room(NAME SOURCES a.cpp ... ROOMS support ir ... LIBRARIES fmt::fmt ...)
#
# A room is one folder and one static library, `loopsmith_NAME`; a large room may have several. ROOMS lists the rooms whose headers
# its files include, all of them in lower rows of the picture in ARCHITECTURE.md; LIBRARIES lists the outside libraries that it
# hides. All rooms share one include path and static libraries are linked at the end, so neither the compiler nor the linker
# notices a room that is used but not listed. tests/unit/tidy compares the includes with these lists, in both directions.
function(loopsmith_room NAME)
  cmake_parse_arguments(ARG "" "" "SOURCES;ROOMS;LIBRARIES" ${ARGN})
  add_library(loopsmith_${NAME} STATIC ${ARG_SOURCES})
  target_include_directories(loopsmith_${NAME} PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/compiler)
  target_link_libraries(loopsmith_${NAME} PUBLIC loopsmith_flags PRIVATE ${ARG_LIBRARIES})
  loopsmith_rooms_of(loopsmith_${NAME} ROOMS ${ARG_ROOMS})
endfunction()

# loopsmith_rooms_of(TARGET ROOMS support ir ...): links a target with the rooms that its files include. Rooms that these use are
# linked, too, without their include paths and definitions.
function(loopsmith_rooms_of TARGET)
  cmake_parse_arguments(ARG "" "" "ROOMS" ${ARGN})
  list(TRANSFORM ARG_ROOMS PREPEND loopsmith_)
  target_link_libraries(${TARGET} PRIVATE ${ARG_ROOMS})
endfunction()

# The options for every room.
add_library(loopsmith_flags INTERFACE)
target_compile_options(loopsmith_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Werror -Wno-unused-parameter -fno-rtti -fvisibility=hidden>)
if(LOOPSMITH_CHECKED)
  target_compile_definitions(loopsmith_flags INTERFACE LOOPSMITH_CHECKED=1)
endif()
if(LOOPSMITH_SANITIZE)
  target_compile_options(loopsmith_flags INTERFACE -fsanitize=${LOOPSMITH_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined ${LOOPSMITH_SANITIZE_OPTIONS})
  target_link_options(loopsmith_flags INTERFACE -fsanitize=${LOOPSMITH_SANITIZE})
endif()
if(LOOPSMITH_FUZZER)
  target_compile_options(loopsmith_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
