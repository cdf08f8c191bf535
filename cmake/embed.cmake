# Turns files into a C source: cmake -DOUT=file.c -DFILES=a|b|c -P embed.cmake
# defines cli_files[] (src/cli/cli.h): name, bytes, length; the last entry has no name.
string(REPLACE "|" ";" files "${FILES}")
set(arrays "")
set(table "")
set(number 0)
foreach(file IN LISTS files)
  cmake_path(GET file FILENAME name)
  file(READ "${file}" hex HEX)
  string(LENGTH "${hex}" digits)
  math(EXPR size "${digits} / 2")
  # Eight bytes in a line.
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(REGEX REPLACE "((0x[0-9a-f][0-9a-f],)(0x[0-9a-f][0-9a-f],)(0x[0-9a-f][0-9a-f],)(0x[0-9a-f][0-9a-f],)(0x[0-9a-f][0-9a-f],)(0x[0-9a-f][0-9a-f],)(0x[0-9a-f][0-9a-f],)(0x[0-9a-f][0-9a-f],))" "\\1\n" bytes "${bytes}")
  string(APPEND arrays "static const unsigned char file_${number}[] = {\n${bytes}0};\n")
  string(APPEND table "    { \"${name}\", file_${number}, ${size} },\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE "${OUT}" "#include \"cli/cli.h\"\n\n${arrays}\n"
  "const cli_file cli_files[] = {\n${table}    { 0, 0, 0 },\n};\n")
