# man.cmake - writes the man pages that the program TUTTI prints to the folder MAN, compressed to MAN.gz:
# `cmake -D... -P man.cmake`.
function(page name section)
  execute_process(COMMAND ${EMULATOR} "${TUTTI}" docs ${ARGN} OUTPUT_FILE "${MAN}/man${section}/${name}.${section}"
    COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE "${MAN}")
file(MAKE_DIRECTORY "${MAN}/man1" "${MAN}/man5")
page(tutti 1 man)
execute_process(COMMAND ${EMULATOR} "${TUTTI}" docs complete -- help "" OUTPUT_VARIABLE commands
  COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" commands "${commands}")
foreach(line IN LISTS commands)
  string(REGEX REPLACE "\t.*" "" command "${line}")
  page(tutti-${command} 1 man ${command})
endforeach()
foreach(format run engine plugin)
  page(tutti-${format} 5 format "${SCHEMAS}/${format}.schema.json" tutti-${format})
endforeach()

file(REMOVE_RECURSE "${MAN}.gz")
file(COPY "${MAN}/" DESTINATION "${MAN}.gz")
file(GLOB_RECURSE pages "${MAN}.gz/*.[15]")
execute_process(COMMAND gzip -9n ${pages} COMMAND_ERROR_IS_FATAL ANY)
