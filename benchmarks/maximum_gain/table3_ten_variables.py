"""Table 3: working sets of ten variables, as SVM-light's.

    SOFTMARGIN_DATA=<folder> python benchmarks/maximum_gain/table3_ten_variables.py [--quick]
        [--data spambase connect4 mnist] [--orders N] [--examples N] [--cache MB]

Iterations are those of the pair steps within the working sets: they do not compare with the
paper's, which are of the outer loop.
"""

from experiment import PROBLEMS, WORK, data_arguments, heading, markdown, medians, parsed, work
from paper import TABLE_3

from softmargin.working_sets import Block


def main() -> None:
    args = parsed(data_arguments(__doc__, PROBLEMS))
    heading(args, "data", *WORK, "paper: iterations", "s", "f")
    for name, _, run in medians(args, [("ten", {"working_set": Block(10)})]):
        iterations, seconds, f = TABLE_3[name]
        print(
            markdown(name, *work(run), f"{iterations:,}", f"{seconds:,}", f"{f:,.3f}"), flush=True
        )


if __name__ == "__main__":
    main()
