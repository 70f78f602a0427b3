# Compilers: gcc 12 or clang 14, or newer.  Kernels use __builtin_shufflevector, which gcc has since 12.
# Included before project(): where nobody names a compiler and the default gcc is older, as on Ubuntu 22.04, the
# oldest sufficient gcc-N beside it is taken, and a message says so.
if(NOT DEFINED CMAKE_C_COMPILER AND NOT DEFINED CMAKE_CXX_COMPILER AND NOT DEFINED CMAKE_TOOLCHAIN_FILE
    AND NOT DEFINED ENV{CC} AND NOT DEFINED ENV{CXX})
  execute_process(COMMAND cc --version OUTPUT_VARIABLE about ERROR_QUIET RESULT_VARIABLE result)
  execute_process(COMMAND cc -dumpversion OUTPUT_VARIABLE version ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(result EQUAL 0 AND about MATCHES "Free Software Foundation" AND version VERSION_LESS 12)
    foreach(newer RANGE 12 16)
      find_program(TUTTI_GCC_${newer} gcc-${newer})
      find_program(TUTTI_GXX_${newer} g++-${newer})
      mark_as_advanced(TUTTI_GCC_${newer} TUTTI_GXX_${newer})
      if(TUTTI_GCC_${newer} AND TUTTI_GXX_${newer})
        message(STATUS "the default gcc is ${version}; taking gcc-${newer}")
        set(CMAKE_C_COMPILER ${TUTTI_GCC_${newer}})
        set(CMAKE_CXX_COMPILER ${TUTTI_GXX_${newer}})
        break()
      endif()
    endforeach()
  endif()
endif()

# After project(): refuses what cannot build the kernels.
function(tutti_check_compiler)
  set(oldest_GNU 12)
  set(oldest_Clang 14)
  set(oldest "${oldest_${CMAKE_C_COMPILER_ID}}")
  if(oldest AND CMAKE_C_COMPILER_VERSION VERSION_LESS oldest)
    message(FATAL_ERROR "${CMAKE_C_COMPILER} is ${CMAKE_C_COMPILER_ID} ${CMAKE_C_COMPILER_VERSION}; Tutti needs gcc 12 or "
      "clang 14, or newer: install one (tools/setup does) and name it by CC and CXX in an empty build folder")
  endif()
endfunction()
