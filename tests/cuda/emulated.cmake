# emulated.cmake - the emulator, every kernel of the tree on it, and a libcudart whose device it is; what the SDK
# installs of them.  Included once all other folders are known.
# Flags of C++ here, of C++ alone.
add_library(emulator_flags INTERFACE)
target_compile_options(emulator_flags INTERFACE -Wall -Wextra -Wshadow -Wno-unused-parameter
  -Wno-unknown-pragmas -Wno-pass-failed -ffp-contract=off -fno-strict-aliasing -fvisibility=hidden -fno-exceptions
  -fno-rtti $<$<BOOL:${TUTTI_WERROR}>:-Werror> $<$<CONFIG:Release>:-O2>)
option(TUTTI_SANITIZE_KERNELS "Sanitizers see emulated kernels too, which take a minute to compile so" ON)
add_library(emulator_sanitized INTERFACE)
target_link_libraries(emulator_sanitized INTERFACE emulator_flags)
if(TUTTI_SANITIZE)
  target_compile_options(emulator_sanitized INTERFACE -fsanitize=${TUTTI_SANITIZE}
    -fno-omit-frame-pointer -fno-sanitize-recover=all
    $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function,vptr>) # programs in C lack their runtime
endif()
# A load of more than its address allows ends in a trap, as it ends in an error on a GPU; the sanitizers see
# it too.
if(NOT TUTTI_SANITIZE)
  target_compile_options(emulator_flags INTERFACE -fsanitize=alignment
    $<$<CXX_COMPILER_ID:GNU>:-fsanitize-undefined-trap-on-error> $<$<CXX_COMPILER_ID:Clang>:-fsanitize-trap=alignment>)
endif()
target_include_directories(emulator_flags INTERFACE "${CMAKE_CURRENT_LIST_DIR}/emulator"
  "${CMAKE_SOURCE_DIR}/sdk/include" "${CMAKE_SOURCE_DIR}/sdk/internal" "${CMAKE_SOURCE_DIR}/kernels"
  "${CMAKE_BINARY_DIR}/kernels/generated")

# tutti_emulated(<target> <image> <file.cu> <flags>): an object library of the file's kernels.
function(tutti_emulated target image source)
  set_source_files_properties("${source}" PROPERTIES LANGUAGE CXX)
  add_library(${target} OBJECT "${source}")
  target_compile_definitions(${target} PRIVATE CUDA_EMULATED_IMAGE="${image}")
  target_link_libraries(${target} PRIVATE ${ARGN})
endfunction()

add_library(cuda_emulator OBJECT "${CMAKE_CURRENT_LIST_DIR}/emulator/emulator.cc"
  "${CMAKE_CURRENT_LIST_DIR}/emulator/emulator_async.cc")
target_link_libraries(cuda_emulator PRIVATE emulator_sanitized)

# Every file that tutti_cuda_image was given.
set(flags $<IF:$<BOOL:${TUTTI_SANITIZE_KERNELS}>,emulator_sanitized,emulator_flags>)
set(emulated $<TARGET_OBJECTS:cuda_emulator>)
get_property(images GLOBAL PROPERTY TUTTI_CUDA_SOURCES)
foreach(entry IN LISTS images)
  string(REGEX MATCH "^([^=]+)=(.*)$" _ "${entry}")
  set(image "${CMAKE_MATCH_1}")
  set(source "${CMAKE_MATCH_2}")
  string(MAKE_C_IDENTIFIER "emulated_${image}" target)
  tutti_emulated(${target} "${image}" "${source}" ${flags})
  list(APPEND emulated $<TARGET_OBJECTS:${target}>)
endforeach()

set(TUTTI_STANDIN_DIR "${CMAKE_BINARY_DIR}/standin")
file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_LIST_DIR}/standin/*.c")
list(FILTER sources EXCLUDE REGEX "_test\\.c$")
add_library(standin_cudart SHARED ${sources} ${emulated})
target_include_directories(standin_cudart PRIVATE "${CMAKE_CURRENT_LIST_DIR}/emulator"
  PUBLIC "${CMAKE_CURRENT_LIST_DIR}/standin")
target_link_libraries(standin_cudart PRIVATE tutti_flags Threads::Threads ${CMAKE_DL_LIBS} m)
set_target_properties(standin_cudart PROPERTIES LINKER_LANGUAGE CXX
  LIBRARY_OUTPUT_DIRECTORY "${TUTTI_STANDIN_DIR}" OUTPUT_NAME cudart SOVERSION 13 VERSION 13)


# Third parties emulate their device code with these (sdk/cmake/TuttiConfig.cmake.in).
set(mode PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
set(emulator_headers cuda_atomics.h cuda_emulator.h cuda_functions.h cuda_types.h cuda_warp.h emulator.h emulator_calls.h)
list(TRANSFORM emulator_headers PREPEND "${CMAKE_CURRENT_LIST_DIR}/emulator/")
install(FILES ${emulator_headers} DESTINATION include/tutti_test/cuda COMPONENT emulator ${mode})
install(TARGETS standin_cudart LIBRARY DESTINATION lib/tutti/standin COMPONENT emulator ${mode} NAMELINK_SKIP)
