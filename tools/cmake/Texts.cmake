# Texts.cmake - source files as texts inside of a library, for a compiler that runs with the program.

# tutti_find_text(<name> <list> FOLDERS ... EMPTY ...): adds "<name>=<file>" to the list, and all that the file includes.
# A file is looked for in FOLDERS; what is not there, and what EMPTY (regular expressions) matches, has no file.
function(tutti_find_text name list)
  cmake_parse_arguments(T "" "" "FOLDERS;EMPTY" ${ARGN})
  set(file "")
  list(JOIN T_EMPTY "|" empty)
  foreach(folder IN LISTS T_FOLDERS)
    if(NOT file AND EXISTS "${folder}/${name}" AND NOT name MATCHES "^(${empty})$")
      set(file "${folder}/${name}")
    endif()
  endforeach()
  set(found ${${list}} "${name}=${file}")
  if(file)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
    file(STRINGS "${file}" lines REGEX "^#include [<\"]")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^#include [<\"]([^>\"]+)[>\"].*" "\\1" include "${line}")
      if(NOT ";${found}" MATCHES ";${include}=")
        tutti_find_text("${include}" found FOLDERS ${T_FOLDERS} EMPTY ${T_EMPTY})
      endif()
    endforeach()
  endif()
  set(${list} "${found}" PARENT_SCOPE)
endfunction()

# tutti_embed_texts(<target> <symbol> <header> <type> FILES ... FOLDERS ... EMPTY ...): `const <type> <symbol>[]`, which
# <header> declares with `const uint32_t <symbol>_count`, has the name and text of each of FILES and of what these include.
function(tutti_embed_texts target symbol header type)
  cmake_parse_arguments(T "" "" "FILES;FOLDERS;EMPTY" ${ARGN})
  set(texts "")
  foreach(name IN LISTS T_FILES)
    tutti_find_text("${name}" texts FOLDERS ${T_FOLDERS} EMPTY ${T_EMPTY})
  endforeach()
  set(bytes "")
  set(declarations "")
  set(entries "")
  set(files "")
  foreach(text IN LISTS texts)
    string(REGEX MATCH "^([^=]+)=(.*)$" _ "${text}")
    set(name "${CMAKE_MATCH_1}")
    set(file "${CMAKE_MATCH_2}")
    if(file)
      list(LENGTH files number)
      list(APPEND files "${file}")
      string(APPEND bytes "    \"${symbol}_${number}: .incbin \\\"${file}\\\"\\n.byte 0\\n\"\n"
        "    \".globl ${symbol}_${number}\\n.hidden ${symbol}_${number}\\n\"\n")
      string(APPEND declarations "extern const char ${symbol}_${number}[];\n")
      string(APPEND entries "    {\"${name}\", ${symbol}_${number}},\n")
    else()
      string(APPEND entries "    {\"${name}\", \"\"},\n")
    endif()
  endforeach()
  set(out "${CMAKE_CURRENT_BINARY_DIR}/${symbol}.c")
  file(CONFIGURE OUTPUT "${out}" @ONLY CONTENT "/* Generated: files as texts. */
#include \"@header@\"
__asm__(\".section .rodata\\n\"
@bytes@    \".text\\n\");
@declarations@const @type@ @symbol@[] = {
@entries@};
const uint32_t @symbol@_count = sizeof @symbol@ / sizeof *@symbol@;
")
  set_source_files_properties("${out}" TARGET_DIRECTORY ${target} PROPERTIES OBJECT_DEPENDS "${files}")
  target_sources(${target} PRIVATE "${out}")
endfunction()
