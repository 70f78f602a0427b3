# Tutti.cmake - flags in one place, and the four verbs: library, op, plugin, test.

option(BUILD_TESTING "Build the tests, which want the packages of tools/setup --test" ON)
option(TUTTI_EMULATOR "Without tests too, build the CUDA device that runs on the CPU: the component emulator" OFF)
option(TUTTI_WERROR "Warnings are errors" OFF)
option(TUTTI_CUDA "Build the CUDA kernels" OFF)
if(TUTTI_CUDA)
  find_program(TUTTI_NVCC nvcc HINTS /usr/local/cuda/bin REQUIRED)
endif()
option(TUTTI_FUZZ "Build the fuzzers (clang only)" OFF)
set(TUTTI_SANITIZE "" CACHE STRING "Sanitizers, as in -fsanitize=")

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_package(PkgConfig REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS C)
find_package(Threads REQUIRED)
# Tests in Python want Debian's interpreter, which has the packages that tools/setup installs.
find_program(TUTTI_PYTHON python3 HINTS /usr/bin NO_CMAKE_SYSTEM_PATH)
if(NOT TUTTI_PYTHON)
  set(TUTTI_PYTHON python3)
endif()

# Our own code, never third parties'.
add_library(tutti_flags INTERFACE)
target_compile_definitions(tutti_flags INTERFACE _GNU_SOURCE)
target_compile_options(tutti_flags INTERFACE
  -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wvla
  -Wno-unused-parameter -fno-math-errno -fvisibility=hidden -fno-strict-aliasing
  $<$<BOOL:${TUTTI_WERROR}>:-Werror>
  $<$<CONFIG:Release>:-O3>)
if(TUTTI_SANITIZE)
  target_compile_options(tutti_flags INTERFACE -fsanitize=${TUTTI_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(tutti_flags INTERFACE -fsanitize=${TUTTI_SANITIZE})
endif()

# The SDK: headers alone.
add_library(tutti_sdk INTERFACE)
target_include_directories(tutti_sdk INTERFACE "${CMAKE_SOURCE_DIR}/sdk/include")
# What the host and the kernels share and no plugin sees.
add_library(tutti_internal INTERFACE)
target_include_directories(tutti_internal INTERFACE "${CMAKE_SOURCE_DIR}/sdk/internal")
target_link_libraries(tutti_internal INTERFACE tutti_sdk)
target_compile_definitions(tutti_internal INTERFACE TUTTI_USE_MINOR=2)

include("${CMAKE_CURRENT_LIST_DIR}/Isa.cmake")

# What is built for one level of instruction sets takes half of the time for kernels.
set(TUTTI_ISA_ONLY "" CACHE STRING "The one level that hot loops are compiled for, native for this machine's; all where empty")
set(TUTTI_ISA_AT "${TUTTI_ISA_ONLY}")
if(TUTTI_ISA_ONLY AND NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  set(TUTTI_ISA_AT "") # only there does each level have those below it
elseif(TUTTI_ISA_ONLY STREQUAL "native")
  unset(TUTTI_ISA_RUNS CACHE) # the folder may have come from another machine
  try_run(TUTTI_ISA_RUNS TUTTI_ISA_COMPILES "${CMAKE_BINARY_DIR}/isa" "${CMAKE_CURRENT_LIST_DIR}/isa_level.c"
    CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${CMAKE_SOURCE_DIR}/sdk/include" RUN_OUTPUT_VARIABLE TUTTI_ISA_AT)
  if(NOT TUTTI_ISA_COMPILES OR NOT TUTTI_ISA_RUNS EQUAL 0)
    message(FATAL_ERROR "TUTTI_ISA_ONLY is native, and the program that tells this machine's level does not build or run "
      "(${CMAKE_CURRENT_LIST_DIR}/isa_level.c)")
  endif()
endif()
if(TUTTI_ISA_AT AND NOT TUTTI_ISA_AT STREQUAL "base" AND NOT TUTTI_ISA_AT IN_LIST TUTTI_ISA_LEVELS)
  message(FATAL_ERROR "TUTTI_ISA_ONLY is \"${TUTTI_ISA_ONLY}\", want native, base or one of ${TUTTI_ISA_LEVELS}")
endif()
if(TUTTI_ISA_AT AND BUILD_TESTING)
  message(FATAL_ERROR "TUTTI_ISA_ONLY is \"${TUTTI_ISA_ONLY}\", and tests are of all levels: set BUILD_TESTING=OFF as well")
endif()

# tutti_pkg(<target> <pkg-config name>): an imported target pkg::<target>.
function(tutti_pkg target module)
  pkg_check_modules(${target} REQUIRED IMPORTED_TARGET ${module})
endfunction()

set(TUTTI_TEST_DATA "${CMAKE_SOURCE_DIR}/../shared/data" CACHE PATH
  "Folder with cifar10/ and tinyshakespeare/; tests that read them count as skipped without")
set(TUTTI_TEST_ENVIRONMENT
  "OMP_WAIT_POLICY=passive;CK_DEFAULT_TIMEOUT=120;ASAN_OPTIONS=allocator_may_return_null=1;TUTTI_TUNE=0;TUTTI_BUILD=${CMAKE_BINARY_DIR};TUTTI_SOURCE=${CMAKE_SOURCE_DIR};TUTTI_TEST_DATA=${TUTTI_TEST_DATA}")

# tutti_add_test(<name> SOURCES ... [LIBS ...] [LABEL ...] [ARGS ...] [TIMEOUT s]): a Check program.
function(tutti_add_test name)
  cmake_parse_arguments(T "" "LABEL;TIMEOUT" "SOURCES;LIBS;ARGS" ${ARGN})
  if(NOT BUILD_TESTING) # the folders' files may add to it, nothing makes it
    add_executable(${name} EXCLUDE_FROM_ALL ${T_SOURCES})
    return()
  endif()
  if(NOT TARGET PkgConfig::CHECK)
    pkg_check_modules(CHECK REQUIRED IMPORTED_TARGET GLOBAL check)
  endif()
  add_executable(${name} ${T_SOURCES})
  target_include_directories(${name} PRIVATE "${CMAKE_SOURCE_DIR}/tests/include")
  target_link_libraries(${name} PRIVATE tutti_flags tutti_sdk ${T_LIBS} PkgConfig::CHECK
    Threads::Threads m)
  add_test(NAME ${name} COMMAND ${name} ${T_ARGS})
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 120)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${T_LABEL}" TIMEOUT ${T_TIMEOUT}
    SKIP_RETURN_CODE 77 ENVIRONMENT "${TUTTI_TEST_ENVIRONMENT}")
endfunction()

# tutti_add_skipped_test(<name> <label> <why>): a test of what this build cannot make; ctest counts it as skipped.
function(tutti_add_skipped_test name label why)
  if(BUILD_TESTING)
    add_test(NAME ${name} COMMAND "${CMAKE_COMMAND}" -E echo "skipped: ${why}")
    set_tests_properties(${name} PROPERTIES LABELS "${label}" SKIP_REGULAR_EXPRESSION "^skipped: ")
  endif()
endfunction()

# tutti_add_library(<name> SOURCES ... [LIBS ...] [INCLUDE dir ...]): a static library of the host.
function(tutti_add_library name)
  cmake_parse_arguments(T "" "" "SOURCES;LIBS;INCLUDE" ${ARGN})
  add_library(${name} STATIC ${T_SOURCES})
  target_include_directories(${name} PUBLIC ${T_INCLUDE})
  target_link_libraries(${name} PUBLIC tutti_internal ${T_LIBS} PRIVATE tutti_flags)
endfunction()

# tutti_add_op(<folder> [OPS op ...] [SOURCES file ...] [ISA_OPS op ...] [ISA_SOURCES file ...] [ISA_EXPORTS name ...]
# [ISA_DISPATCH name ...] [ISA_LEVELS level ...] [LIBS ...] [TEST <name>_test.c ...]): one folder of kernels/.
# Every OPS entry is a `const tutti_op tutti_op_<name>` in SOURCES and joins the generated table.  What has hot
# loops is in ISA_SOURCES, compiled once per instruction set (Isa.cmake); operations that are defined there are
# ISA_OPS, and the table has the variant that suits the CPU.
# POINTWISE <op>:<operands>[:<type of attributes>] ...: operations that may be in a fused group on a device.
# Their expression is <op>_f32 of <folder>.h, of the operands and then the attributes.
function(tutti_add_op folder)
  cmake_parse_arguments(T "" "" "OPS;SOURCES;LIBS;TEST;POINTWISE;ISA_OPS;ISA_SOURCES;ISA_EXPORTS;ISA_DISPATCH;ISA_LEVELS" ${ARGN})
  add_library(op_${folder} OBJECT ${T_SOURCES})
  target_include_directories(op_${folder} PRIVATE "${CMAKE_SOURCE_DIR}/kernels")
  target_link_libraries(op_${folder} PRIVATE tutti_flags tutti_internal OpenMP::OpenMP_C ${T_LIBS})
  # No FMA by the way, so that results do not depend on the CPU; nobody looks at the floating point
  # flags, which leaves compilers free to compute both sides of a choice.
  target_compile_options(op_${folder} PRIVATE -ffp-contract=off -fno-trapping-math)
  tutti_cuda_image(op_${folder} "${CMAKE_CURRENT_SOURCE_DIR}/${folder}.cu" kernels/${folder})
  if(T_ISA_SOURCES)
    list(TRANSFORM T_ISA_OPS PREPEND tutti_op_ OUTPUT_VARIABLE descriptors)
    tutti_isa_sources(op_${folder} SOURCES ${T_ISA_SOURCES} EXPORTS ${descriptors} ${T_ISA_EXPORTS}
      DISPATCH ${T_ISA_DISPATCH} LEVELS ${T_ISA_LEVELS})
    get_property(variants TARGET op_${folder} PROPERTY TUTTI_ISA_OBJECTS) # none on other machines
    set_property(GLOBAL APPEND PROPERTY TUTTI_OP_OBJECTS ${variants})
  endif()
  set_property(GLOBAL APPEND PROPERTY TUTTI_OPS ${T_OPS} ${T_ISA_OPS})
  set_property(GLOBAL APPEND PROPERTY TUTTI_ISA_OPS ${T_ISA_OPS})
  foreach(op IN LISTS T_ISA_OPS)
    set_property(GLOBAL PROPERTY TUTTI_ISA_LEVELS_OF_${op} ${T_ISA_LEVELS})
  endforeach()
  set_property(GLOBAL APPEND PROPERTY TUTTI_OP_OBJECTS $<TARGET_OBJECTS:op_${folder}>)
  set_property(GLOBAL APPEND PROPERTY TUTTI_OP_LIBS ${T_LIBS})
  list(TRANSFORM T_POINTWISE PREPEND "${folder}:")
  set_property(GLOBAL APPEND PROPERTY TUTTI_POINTWISE ${T_POINTWISE})
  foreach(test IN LISTS T_TEST) # op_<name>_test of <name>_test.c
    string(REGEX REPLACE "_test\\.c$" "" name "${test}")
    set_property(GLOBAL APPEND PROPERTY TUTTI_OP_TESTS "${name}=${CMAKE_CURRENT_SOURCE_DIR}/${test}")
  endforeach()
endfunction()

# tutti_add_plugin(<name> SOURCES ... [LIBS ...] [CUDA file] [TEST file] [MANIFEST plugin.json] [COMPONENT name] [INSIDE]): one
# folder of plugins/, installed with its own component or `runtime`: a module that sees the SDK alone, its manifest beside it, its test, and a check that it
# exports the entry function and nothing but what the manifest names.  INSIDE: plugin_<name>_inside is a library of the same
# objects, for tests that call what is in it.
include("${CMAKE_SOURCE_DIR}/sdk/cmake/TuttiPlugin.cmake")
set(TUTTI_PLUGIN_DIR "${CMAKE_BINARY_DIR}/lib/tutti/plugins")
function(tutti_add_plugin name)
  cmake_parse_arguments(T "INSIDE" "MANIFEST;OUTPUT;CUDA;COMPONENT" "SOURCES;LIBS;TEST" ${ARGN})
  if(NOT T_MANIFEST)
    set(T_MANIFEST plugin.json)
  endif()
  if(NOT T_OUTPUT)
    set(T_OUTPUT "${TUTTI_PLUGIN_DIR}")
  endif()
  add_library(plugin_${name} MODULE ${T_SOURCES})
  tutti_plugin_module(plugin_${name} ${name} "${T_MANIFEST}" "${T_OUTPUT}/${name}")
  target_link_libraries(plugin_${name} PRIVATE tutti_flags tutti_sdk ${T_LIBS} m)
  if(T_INSIDE AND BUILD_TESTING)
    add_library(plugin_${name}_inside STATIC EXCLUDE_FROM_ALL $<TARGET_OBJECTS:plugin_${name}>)
    target_link_libraries(plugin_${name}_inside PUBLIC $<TARGET_PROPERTY:plugin_${name},LINK_LIBRARIES>)
  endif()
  if(NOT TUTTI_SANITIZE) # the sanitizers' symbols come from the program
    target_link_options(plugin_${name} PRIVATE -Wl,--no-undefined)
  endif()
  if(T_OUTPUT STREQUAL TUTTI_PLUGIN_DIR)
    tutti_install_plugin(plugin_${name} ${name} "${T_MANIFEST}" ${T_COMPONENT})
    if(T_CUDA AND TUTTI_CUDA)
      install(FILES "${T_OUTPUT}/${name}/${name}.fatbin" DESTINATION "lib/tutti/plugins/${name}" COMPONENT cuda)
    endif()
  endif()
  if(T_CUDA)
    tutti_plugin_code(${name} "${CMAKE_CURRENT_SOURCE_DIR}/${T_CUDA}" "${T_OUTPUT}/${name}/${name}.fatbin")
  endif()
  set_property(GLOBAL APPEND PROPERTY TUTTI_PLUGINS plugin_${name})
  if(T_TEST)
    tutti_add_test(${name}_test SOURCES ${T_TEST} LIBS ${CMAKE_DL_LIBS} LABEL plugins)
    target_compile_definitions(${name}_test PRIVATE
      PLUGIN_PATH="$<TARGET_FILE:plugin_${name}>"
      PLUGIN_FOLDER="${T_OUTPUT}/${name}")
    add_dependencies(${name}_test plugin_${name})
    target_include_directories(${name}_test PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}")
    if(T_CUDA) # there are kernels to call
      target_link_libraries(${name}_test PRIVATE kernel_check)
    endif()
  endif()
endfunction()

set(architectures 80 90)
if(TUTTI_CUDA)
  tutti_cuda_architectures(architectures "${TUTTI_NVCC}")
endif()
set(TUTTI_CUDA_ARCHITECTURES ${architectures} CACHE STRING "compute capabilities to generate code for, rising")

# tutti_fatbin(<target> <name> <source> <fatbin> <architectures> [flags]): device code for the listed compute
# capabilities, each with PTX.  What ptxas says goes to a log, and both join cuda_images.json, at which tests/cuda/gate looks.
option(TUTTI_CUDA_LINEINFO "Device code knows the lines of its source, for profilers" OFF)
function(tutti_fatbin target name source file architectures)
  set(log "${CMAKE_CURRENT_BINARY_DIR}/${target}.log")
  tutti_cuda_codes(codes "${architectures}")
  set(lines "")
  if(TUTTI_CUDA_LINEINFO)
    set(lines -lineinfo)
  endif()
  add_custom_command(OUTPUT "${file}"
    COMMAND sh -c "log=$1; shift; \"$@\" > \"$log\" 2>&1 || { cat \"$log\"; exit 1; }"
      sh "${log}" ${CMAKE_C_COMPILER_LAUNCHER} "${TUTTI_NVCC}" -fatbin -O3 -std=c++17 ${lines}
      ${ARGN} -Werror all-warnings ${codes} -Xptxas -v -I "${CMAKE_SOURCE_DIR}/sdk/include"
      -I "${CMAKE_SOURCE_DIR}/sdk/internal"
      -I "${CMAKE_SOURCE_DIR}/kernels" -I "${CMAKE_BINARY_DIR}/kernels/generated" -MD -MF "${log}.d" -MT "${file}" -o "${file}" "${source}"
    DEPENDS "${source}" DEPFILE "${log}.d" VERBATIM)
  add_custom_target(${target} DEPENDS "${file}")
  set_property(GLOBAL APPEND PROPERTY TUTTI_CUDA_IMAGES ${target})
  set_property(GLOBAL APPEND PROPERTY TUTTI_CUDA_FATBINS
    "{\"name\": \"${name}\", \"source\": \"${source}\", \"fatbin\": \"${file}\", \"log\": \"${log}\"}")
  set_property(GLOBAL APPEND PROPERTY TUTTI_CUDA_FILES "${name}=${file}")
endfunction()

# tutti_cuda_image(target source name [macro]): device code of the host, for a target.  Its sources see the image, a
# tutti_cuda_image without data, as CUDA_IMAGE or as `macro`.  What nvcc makes of `source` is packed into a file for
# each architecture beside the program (tutti_cuda_files).  `source` need not exist.
function(tutti_cuda_image target source name)
  string(MAKE_C_IDENTIFIER "tutti_cuda_image_${name}" symbol)
  set(file "${CMAKE_CURRENT_BINARY_DIR}/${symbol}")
  set(macro CUDA_IMAGE)
  if(ARGC GREATER 3)
    set(macro ${ARGV3})
  endif()
  target_compile_definitions(${target} PRIVATE ${macro}=${symbol})
  file(CONFIGURE OUTPUT "${file}.c" @ONLY CONTENT "/* Generated: the device code of ${name} lies in files beside the program. */
#include \"tutti/cuda.h\"
const tutti_cuda_image ${symbol} = {NULL, 0, \"${name}\"};
")
  target_sources(${target} PRIVATE "${file}.c")
  if(NOT EXISTS "${source}")
    return()
  endif()
  set_property(GLOBAL APPEND PROPERTY TUTTI_CUDA_SOURCES "${name}=${source}") # tests/cuda compiles them for its emulator
  set_property(GLOBAL APPEND PROPERTY TUTTI_CUDA_PACKED_0 "0 ${name} -")
  if(TUTTI_CUDA)
    foreach(sm IN LISTS TUTTI_CUDA_ARCHITECTURES)
      tutti_fatbin(${symbol}_sm_${sm} "${name}" "${source}" "${file}_sm_${sm}.fatbin" ${sm} --fmad=true)
      set_property(GLOBAL APPEND PROPERTY TUTTI_CUDA_PACKED_${sm} "${sm} ${name} ${file}_sm_${sm}.fatbin")
      set_property(GLOBAL APPEND PROPERTY TUTTI_CUDA_PACKED_FATBINS "${file}_sm_${sm}.fatbin")
    endforeach()
  endif()
endfunction()

# tutti_cuda_files(<target> <pack>): the files of device code of all images so far, made by the program `pack` and
# installed; `target` has their hashes.  One more, of names alone, is the stand-in's, where that is built.
set(TUTTI_CUDA_CODE_DIR "${CMAKE_BINARY_DIR}/lib/tutti/cuda")
function(tutti_cuda_files target pack)
  set(mode PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
  set(ids "${CMAKE_CURRENT_BINARY_DIR}/cuda_code_ids.inc")
  set(list "${CMAKE_CURRENT_BINARY_DIR}/cuda_code_files.txt")
  set(lines "")
  set(files "")
  if(BUILD_TESTING OR TUTTI_EMULATOR)
    get_property(images GLOBAL PROPERTY TUTTI_CUDA_PACKED_0)
    list(APPEND lines ${images})
    list(APPEND files "${TUTTI_CUDA_CODE_DIR}/emulated.code")
    install(FILES "${TUTTI_CUDA_CODE_DIR}/emulated.code" DESTINATION lib/tutti/cuda COMPONENT emulator ${mode})
  endif()
  if(TUTTI_CUDA)
    foreach(sm IN LISTS TUTTI_CUDA_ARCHITECTURES)
      get_property(images GLOBAL PROPERTY TUTTI_CUDA_PACKED_${sm})
      list(APPEND lines ${images})
      list(APPEND files "${TUTTI_CUDA_CODE_DIR}/sm_${sm}.code")
      install(FILES "${TUTTI_CUDA_CODE_DIR}/sm_${sm}.code" DESTINATION lib/tutti/cuda COMPONENT cuda ${mode})
    endforeach()
  endif()
  list(JOIN lines "\n" lines)
  file(CONFIGURE OUTPUT "${list}" @ONLY CONTENT "@lines@\n")
  file(MAKE_DIRECTORY "${TUTTI_CUDA_CODE_DIR}")
  if(files)
    get_property(fatbins GLOBAL PROPERTY TUTTI_CUDA_PACKED_FATBINS)
    add_custom_command(OUTPUT "${ids}" ${files} COMMAND ${pack} "${list}" "${TUTTI_CUDA_CODE_DIR}" "${ids}"
      DEPENDS ${pack} "${list}" ${fatbins} VERBATIM)
  else()
    file(CONFIGURE OUTPUT "${ids}" CONTENT "/* Generated: no device code in this build. */\n")
  endif()
  target_include_directories(${target} PRIVATE "${CMAKE_CURRENT_BINARY_DIR}")
  target_sources(${target} PRIVATE "${ids}")
endfunction()

# tutti_cuda_embedded(target source name): device code of a plugin that brings operations, inside of its library, as
# CUDA_IMAGE; without data where TUTTI_CUDA is off.
function(tutti_cuda_embedded target source name)
  string(MAKE_C_IDENTIFIER "tutti_cuda_image_${name}" symbol)
  set(file "${CMAKE_CURRENT_BINARY_DIR}/${symbol}")
  target_compile_definitions(${target} PRIVATE CUDA_IMAGE=${symbol})
  set_property(GLOBAL APPEND PROPERTY TUTTI_CUDA_SOURCES "${name}=${source}")
  if(TUTTI_CUDA)
    tutti_fatbin(${symbol}_fatbin "${name}" "${source}" "${file}.fatbin" "${TUTTI_CUDA_ARCHITECTURES}" --fmad=true)
    set_source_files_properties("${file}.c" PROPERTIES OBJECT_DEPENDS "${file}.fatbin")
    file(CONFIGURE OUTPUT "${file}.c" @ONLY CONTENT "/* Generated: device code of ${name}. */
__asm__(
    \".section .rodata\\n.balign 64\\n\"
    \"1: .incbin \\\"${file}.fatbin\\\"\\n2:\\n\"
    \"3: .asciz \\\"${name}\\\"\\n\"
    \".section .data.rel.ro,\\\"aw\\\"\\n.balign 8\\n.globl ${symbol}\\n.hidden ${symbol}\\n\"
    \"${symbol}: .quad 1b, 2b - 1b, 3b\\n.text\\n\");
")
  else()
    file(CONFIGURE OUTPUT "${file}.c" @ONLY CONTENT "/* Generated: no device code in this build. */
#include \"tutti/cuda.h\"
const tutti_cuda_image ${symbol} = {NULL, 0, \"${name}\"};
")
  endif()
  target_sources(${target} PRIVATE "${file}.c")
endfunction()

# tutti_plugin_code(<name> <source> <fatbin>): device code of a plugin, as a file beside its library; no
# sum and product become one, so that it computes the CPU's bits.  tests/cuda emulates it as plugins/<name>.
function(tutti_plugin_code name source file)
  set_property(GLOBAL APPEND PROPERTY TUTTI_CUDA_SOURCES "plugins/${name}=${source}")
  if(TUTTI_CUDA)
    tutti_fatbin(plugin_${name}_code "plugins/${name}" "${source}" "${file}" "${TUTTI_CUDA_ARCHITECTURES}" --fmad=false)
    set_target_properties(plugin_${name}_code PROPERTIES EXCLUDE_FROM_ALL FALSE)
  endif()
endfunction()

# tutti_add_folders(): every sub-folder that has a CMakeLists.txt, in byte order.
function(tutti_add_folders)
  file(GLOB entries CONFIGURE_DEPENDS RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}"
    "${CMAKE_CURRENT_SOURCE_DIR}/*/CMakeLists.txt")
  list(SORT entries)
  foreach(entry IN LISTS entries)
    get_filename_component(folder "${entry}" DIRECTORY)
    add_subdirectory("${folder}")
  endforeach()
endfunction()
