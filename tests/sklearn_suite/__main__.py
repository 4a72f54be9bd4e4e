"""Run scikit-learn's own tests of SVMs and searches with our classes:
python -m tests.sklearn_suite"""

import sys
from pathlib import Path

import pytest

if __name__ == "__main__":
    config = Path(__file__).with_name("pytest.ini")
    modules = [
        "sklearn.svm.tests.test_svm",
        "sklearn.svm.tests.test_sparse",
        "sklearn.svm.tests.test_bounds",
        "sklearn.model_selection.tests.test_search",
    ]
    sys.exit(
        pytest.main(["-c", str(config), "-p", "tests.sklearn_suite.plugin", "--pyargs", *modules])
    )
