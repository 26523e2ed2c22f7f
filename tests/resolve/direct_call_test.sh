#!/bin/sh
# Compares the instructions of each NAME_function in these object files with those of NAME_pointer.
# Only checked_function must differ.
set -eu

objdump -d --no-show-raw-insn --no-addresses "$@" | awk '
  # "<dd_d_function>:" starts a function; "nop" and similar instructions pad it. If an archive has a
  # function with and without position-independent code, the last copy counts.
  /^<.*>:$/ {
    name = substr($1, 2, length($1) - 3)
    if (!(name in code)) order[++names] = name
    code[name] = ""
    next
  }
  /^Disassembly of section/ { name = "" }
  name != "" && NF > 0 {
    sub(/[ \t]*#.*/, "")
    if ($0 ~ /^[ \t]*(data16|cs |nop|xchg +%ax,%ax)/) next
    # Jumps inside a function contain its name: "jne 3f <loop_function+0x2f>".
    gsub(name, "SELF")
    # Without addresses objdump still prints the target of a jump as a number.
    if ($0 ~ /<SELF/) sub(/[0-9a-f]+ <SELF/, "<SELF")
    gsub(/[ \t]+/, " ")
    code[name] = code[name] $0 "\n"
  }
  END {
    for (i = 1; i <= names; ++i) {
      name = order[i]
      if (name !~ /_function$/) continue
      pointer = name
      sub(/_function$/, "_pointer", pointer)
      same = code[name] == code[pointer]
      if (code[name] == "" || code[pointer] == "") {
        print "FAIL: no code for " name " or " pointer
        failed = 1
      } else if (name == "checked_function") {
        if (same) { print "FAIL: the comparison does not see a check in " name; failed = 1 }
      } else if (!same) {
        print "FAIL: " name " is\n" code[name] "but " pointer " is\n" code[pointer]
        failed = 1
      } else {
        ++compared
      }
    }
    print compared " pairs have the same machine code"
    if (compared != 10) { print "FAIL: 10 pairs are expected"; failed = 1 }
    exit failed
  }'
