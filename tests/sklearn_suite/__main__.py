"""Run scikit-learn's own SVM tests with our classes: python -m tests.sklearn_suite"""

import sys
from pathlib import Path

import pytest

if __name__ == "__main__":
    config = Path(__file__).with_name("pytest.ini")
    modules = [f"sklearn.svm.tests.{name}" for name in ("test_svm", "test_sparse")]
    sys.exit(
        pytest.main(["-c", str(config), "-p", "tests.sklearn_suite.plugin", "--pyargs", *modules])
    )
