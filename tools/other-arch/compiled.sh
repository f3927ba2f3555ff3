#!/bin/bash
# Stands for gcc and heddle-cc in the emulated machine: hands out what compile.py made outside.
select=plain
[[ $0 == *heddle-c* ]] && select=all
while [ $# -gt 0 ]; do
	case $1 in
	-o) out=$2; shift ;;
	--select=*) select=${1#*=} ;;
	*.c | *.cpp) source=$1 ;;
	esac
	shift
done
exec cp "/heddle/compiled/${source#/heddle/}.$select" "$out"
