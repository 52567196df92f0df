"""The one error a user can cause: a message without a traceback."""


class UserError(Exception):
    """Something the user can mend: a setting, an input file, a resource.

    The message says what was wrong, where (file, line or key), what is allowed and what to do.
    `ctxaudit.logs` prints it without a traceback; any other exception is a bug of ours.
    """
