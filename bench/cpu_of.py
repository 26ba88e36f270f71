"""Runs a command and prints the CPU time that it and its children took, in microseconds. Discards the output of the command.

    python cpu_of.py ROUNDS COMMAND…
"""

import os
import subprocess
import sys


def once(command):
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    words = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{command} ended with {status}:\n{words.decode(errors='replace')}")
    return (used.ru_utime + used.ru_stime) * 1e6


print("cpu_us", min(once(sys.argv[2:]) for _ in range(int(sys.argv[1]))))
