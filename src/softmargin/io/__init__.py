"""Files: data, models and scaling ranges, in LIBSVM's formats and in others.

``read_data`` and ``write_data`` choose the format by the file's name; the modules here are the
formats themselves.  None of them imports scikit-learn before an estimator is asked for.
"""

from softmargin.io.data_file import Data, read_data, write_data
from softmargin.io.file_error import FileError

__all__ = ["Data", "FileError", "read_data", "write_data"]
