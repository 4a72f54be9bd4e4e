"""The examples of LIBSVM's practical guide with `softmargin`, as a transcript.

    SOFTMARGIN_DATA=folder python benchmarks/guide.py [--easy]

svmguide1: 66.925 % as it is, 96.15 % scaled (96.125 % at the optimum, with LIBSVM too), 96.875 %
with the guide's C = 2 and gamma = 2. Then vehicle by cross-validation. With --easy also
`softmargin easy`, which searches the whole grid.
"""

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from softmargin.io import write_data

GUIDE = """
softmargin train svmguide1
softmargin predict svmguide1.t svmguide1.model svmguide1.t.predict
softmargin scale -l -1 -u 1 -s range1 -o svmguide1.scale svmguide1
softmargin scale -r range1 -o svmguide1.t.scale svmguide1.t
softmargin train svmguide1.scale
softmargin predict svmguide1.t.scale svmguide1.scale.model svmguide1.t.predict
softmargin train -v 5 -c 2 -g 2 svmguide1.scale
softmargin train -c 2 -g 2 svmguide1.scale
softmargin predict svmguide1.t.scale svmguide1.scale.model svmguide1.t.predict
softmargin scale -o vehicle.scale vehicle
softmargin train -v 5 vehicle.scale
softmargin train -v 5 -c 128 -g 0.125 vehicle.scale
"""
EASY = "softmargin easy svmguide1 svmguide1.t\nsoftmargin easy vehicle"


def write(name: str) -> None:
    with np.load(Path(os.environ["SOFTMARGIN_DATA"]) / f"{name}.npz") as arrays:
        if "X" in arrays:
            write_data(name, arrays["X"], arrays["y"])
        else:
            write_data(name, arrays["X_train"], arrays["y_train"])
            write_data(f"{name}.t", arrays["X_test"], arrays["y_test"])


def main() -> None:
    os.chdir(tempfile.mkdtemp())
    for name in ("svmguide1", "vehicle"):
        write(name)
    for line in (GUIDE + (EASY if "--easy" in sys.argv else "")).strip().splitlines():
        print(f"$ {line}", flush=True)
        subprocess.run([sys.executable, "-m", *shlex.split(line)], check=True)


if __name__ == "__main__":
    main()
