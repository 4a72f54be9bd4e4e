"""Files: data, models and scaling ranges, in LIBSVM's formats and in others.

``read_data`` and ``write_data`` choose the format by the file's name; the modules here implement
the formats.  None of them imports scikit-learn until an estimator is requested.
"""

from softmargin.io.data.block_folder import BlockFolder
from softmargin.io.data.formats import Data, read_data, write_data
from softmargin.io.data.parquet_blocks import ParquetBlocks
from softmargin.io.data.to_blocks import convert_to_blocks
from softmargin.io.file_error import FileError

__all__ = [
    "BlockFolder",
    "Data",
    "FileError",
    "ParquetBlocks",
    "convert_to_blocks",
    "read_data",
    "write_data",
]
