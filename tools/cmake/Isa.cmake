# Isa.cmake - the same sources compiled once per instruction set, as translation units of their own; for this tree and,
# as TuttiIsa.cmake, for those that find its SDK.

# Levels above `base`, as sdk/include/tutti/isa.h names them, and their flags.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  set(TUTTI_ISA_LEVELS v2 v3 v4 bf16 amx amx_fp16) # amx_fp16 is of minor 2 of the ABI: its sources define TUTTI_USE_MINOR
  set(TUTTI_ISA_FLAGS_v2 -march=x86-64-v2)
  set(TUTTI_ISA_FLAGS_v3 -march=x86-64-v3)
  set(TUTTI_ISA_FLAGS_v4 -march=x86-64-v4 $<$<C_COMPILER_ID:Clang>:-mprefer-vector-width=512>)
  set(TUTTI_ISA_FLAGS_bf16 ${TUTTI_ISA_FLAGS_v4} -mavx512bf16)
  set(TUTTI_ISA_FLAGS_amx ${TUTTI_ISA_FLAGS_bf16} -mamx-tile -mamx-bf16)
  # Compilers before gcc 13 and clang 16 do not know AMX-FP16: sources see TUTTI_ISA_HAS_AMX_FP16 and emit its instruction.
  set(TUTTI_ISA_FLAGS_amx_fp16 ${TUTTI_ISA_FLAGS_amx} -DTUTTI_ISA_HAS_AMX_FP16)
  set(TUTTI_ISA_DEFAULT v3 v4)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(TUTTI_ISA_LEVELS sve512 bf16) # of minor 2 of the ABI: sources define TUTTI_USE_MINOR
  set(TUTTI_ISA_FLAGS_sve512 -march=armv8.2-a+sve -msve-vector-bits=512)
  set(TUTTI_ISA_FLAGS_bf16 -march=armv8.2-a+bf16)
  set(TUTTI_ISA_DEFAULT "")
else()
  set(TUTTI_ISA_LEVELS "")
  set(TUTTI_ISA_DEFAULT "")
endif()

# tutti_isa_chosen(<out> level ...): those of a source's levels that this build makes, lowest first: all, or, with a
# level in TUTTI_ISA_AT, the highest that is not above it.
function(tutti_isa_chosen out)
  set(chosen "")
  if(NOT TUTTI_ISA_AT STREQUAL "base")
    foreach(level IN LISTS TUTTI_ISA_LEVELS)
      if(level IN_LIST ARGN)
        if(TUTTI_ISA_AT)
          set(chosen "")
        endif()
        list(APPEND chosen ${level})
      endif()
      if(level STREQUAL TUTTI_ISA_AT)
        break()
      endif()
    endforeach()
  endif()
  set(${out} ${chosen} PARENT_SCOPE)
endfunction()

# tutti_isa_sources(<target> SOURCES file ... [EXPORTS name ...] [DISPATCH name ...] [LEVELS level ...]): `target`
# gets the sources as they are and once more for each level (v3 and v4, or LEVELS).  A variant's global names end
# in its level, so EXPORTS and DISPATCH name all functions and constants with external linkage that the sources
# define; a forgotten one is a duplicate symbol for the linker.  C code calls a DISPATCH name by
# TUTTI_ISA_PICK (tutti/isa.h).  The objects of the variants are in the target's property TUTTI_ISA_OBJECTS, too.
function(tutti_isa_sources target)
  cmake_parse_arguments(T "" "" "SOURCES;EXPORTS;DISPATCH;LEVELS" ${ARGN})
  if(NOT T_LEVELS)
    set(T_LEVELS ${TUTTI_ISA_DEFAULT})
  endif()
  tutti_isa_chosen(levels ${T_LEVELS})
  set(all ${levels})
  if(TUTTI_ISA_AT AND levels)
    list(PREPEND all base) # nothing at hand runs these: no time is spent on making them fast
    set(TUTTI_ISA_FLAGS_base -O1)
  else()
    target_sources(${target} PRIVATE ${T_SOURCES})
  endif()
  set(objects "")
  foreach(level IN LISTS all)
    set(variant ${target}_isa_${level})
    add_library(${variant} OBJECT ${T_SOURCES})
    target_include_directories(${variant} PRIVATE $<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>)
    target_compile_definitions(${variant} PRIVATE $<TARGET_PROPERTY:${target},COMPILE_DEFINITIONS>)
    target_compile_options(${variant} PRIVATE $<TARGET_PROPERTY:${target},COMPILE_OPTIONS>
      ${TUTTI_ISA_FLAGS_${level}})
    target_compile_features(${variant} PRIVATE $<TARGET_PROPERTY:${target},COMPILE_FEATURES>)
    set_target_properties(${variant} PROPERTIES POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden)
    list(APPEND objects $<TARGET_OBJECTS:${variant}>)
    if(level STREQUAL "base")
      continue()
    endif()
    target_compile_definitions(${variant} PRIVATE TUTTI_ISA_LEVEL=TUTTI_ISA_${level})
    foreach(name IN LISTS T_EXPORTS T_DISPATCH)
      target_compile_definitions(${variant} PRIVATE ${name}=${name}_${level})
    endforeach()
  endforeach()
  if(T_DISPATCH)
    set(tables "")
    foreach(name IN LISTS T_DISPATCH)
      set(symbols "${name}[]")
      set(entries "[TUTTI_ISA_base] = ${name}")
      foreach(level IN LISTS levels)
        string(APPEND symbols ", ${name}_${level}[]")
        string(APPEND entries ", [TUTTI_ISA_${level}] = ${name}_${level}")
      endforeach()
      string(APPEND tables "extern const char ${symbols};\nconst tutti_isa_table ${name}_isa = {{${entries}}};\n")
    endforeach()
    file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/${target}_isa.c" @ONLY CONTENT
"/* ${target}_isa.c - generated: variants by level. */
#include \"tutti/isa.h\"
@tables@")
    target_sources(${target} PRIVATE "${CMAKE_CURRENT_BINARY_DIR}/${target}_isa.c")
  endif()
  set_property(TARGET ${target} APPEND PROPERTY TUTTI_ISA_OBJECTS ${objects})
  get_target_property(type ${target} TYPE)
  if(NOT type STREQUAL OBJECT_LIBRARY) # whose objects their user collects
    target_sources(${target} PRIVATE ${objects})
  endif()
endfunction()
