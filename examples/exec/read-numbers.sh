#!/bin/sh
# The call comes as JSON on stdin; the result goes as JSON to stdout.
file=$(sed -n 's/.*"file":"\([a-z.]*\)".*/\1/p')
exec cat "$(dirname "$0")/$file"
