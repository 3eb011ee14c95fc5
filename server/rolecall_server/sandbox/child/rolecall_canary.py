"""Tries the system calls that are to fail behind walls, and ends with 1 at the first that does not.

Arguments: the number of the call for keys and our own session keyring, which may not be this process's; then a list in
JSON of calls, each with its name, number, arguments, and the error with which it is to fail.
"""

from __future__ import annotations

import ctypes
import json
import sys

_GET_KEYRING_ID, _SESSION_KEYRING = 0, -3


def main(keyctl: str, keyring: str, calls: str) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    if int(keyctl) and libc.syscall(int(keyctl), _GET_KEYRING_ID, _SESSION_KEYRING, 0) == int(keyring):
        print("not held: the session keyring is ours")
        return 1
    for name, number, arguments, error in json.loads(calls):
        result = libc.syscall(number, *map(ctypes.c_long, arguments))
        if result != -1 or ctypes.get_errno() != error:
            print(f"not held: {name}")
            return 1
    return 0


sys.exit(main(*sys.argv[1:]))
