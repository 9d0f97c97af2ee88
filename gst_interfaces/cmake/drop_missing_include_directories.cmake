# The ROS 2 wheels carry absolute include directories of the machine that built them (/opt/python/...) in
# their imported targets, and CMake refuses to generate a project that uses such a target. This takes out
# of every imported target the absolute directories that are not there; the project finds Python and numpy
# headers by itself. With a ROS installation every directory exists, so nothing is changed.
function(drop_missing_include_directories)
  get_property(targets DIRECTORY PROPERTY IMPORTED_TARGETS)
  set(dropped "")
  foreach(target IN LISTS targets)
    get_target_property(directories ${target} INTERFACE_INCLUDE_DIRECTORIES)
    if(NOT directories)
      continue()
    endif()
    set(kept "")
    foreach(directory IN LISTS directories)
      # A generator expression is no path; leave it to CMake.
      if(directory MATCHES "^/" AND NOT directory MATCHES "\\$<" AND NOT IS_DIRECTORY "${directory}")
        list(APPEND dropped "${directory}")
      else()
        list(APPEND kept "${directory}")
      endif()
    endforeach()
    set_target_properties(${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${kept}")
  endforeach()
  if(dropped)
    list(REMOVE_DUPLICATES dropped)
    message(STATUS "Ignoring include directories of imported targets that do not exist: ${dropped}")
  endif()
endfunction()
