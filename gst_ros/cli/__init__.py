"""The ``gst`` command.

    main.py        the command group: finds the subcommands, turns errors into one line and an exit code
    <name>.py      one file per subcommand, each with a click command named ``command``

A subcommand's module imports only what its options need; the heavy imports are inside its function, so
that ``gst --help`` stays quick.
"""
