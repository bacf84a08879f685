"""The most expensive test files, in CPU seconds and compiled programs.

python -m tests.profile [what pytest takes: files, -k, -n 2, …]
"""

import sys

import pytest

if __name__ == "__main__":
    raise SystemExit(pytest.main(["--costs", "-q", *sys.argv[1:]]))
