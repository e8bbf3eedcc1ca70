"""The errors of the package."""


class WhimbrelError(ValueError):
    """Something is wrong with the input, as the command would say.

    Attributes:
        file: the file, or None.
        line: the line in it, from 1, or None.
        key: the key of the scenario (``link.L.loss``) or the name of the argument, or None.
    """

    def __init__(self, text, file=None, line=None, key=None):
        super().__init__(text)
        self.file = file
        self.line = line
        self.key = key

    def __reduce__(self):
        return type(self), (str(self), self.file, self.line, self.key)
