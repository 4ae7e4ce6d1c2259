"""`python -m allranks` is the command line."""

from allranks.cli import main

main()
