"""`python -m labelwise`: the command line, where its script is not on the path."""

from labelwise.cli import main

main()
