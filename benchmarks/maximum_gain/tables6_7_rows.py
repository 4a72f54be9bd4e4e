"""Tables 6 and 7: hybrid maximum gain from one row, two rows and all cached rows.

SOFTMARGIN_DATA=<folder> python benchmarks/maximum_gain/tables6_7_rows.py [--quick]
    [--rows one two cached] [--data spambase connect4] [--orders N] [--examples N] [--cache MB]
"""

from experiment import WORK, data_arguments, heading, markdown, medians, parsed, work
from paper import HMG, TABLE_2, TABLE_6_ONE_ROW, TABLE_7_WHOLE_CACHE

from softmargin.working_sets import HybridMaximumGain


def of_the_paper(name: str, rows: str) -> tuple[float, float]:
    """Iterations and f."""
    if rows == "two":
        iterations, _, f = TABLE_2[name][HMG]
        return iterations, f
    return (TABLE_6_ONE_ROW if rows == "one" else TABLE_7_WHOLE_CACHE)[name]


def main() -> None:
    parser = data_arguments(__doc__, ["spambase", "connect4"])
    choices = ["one", "two", "cached"]
    parser.add_argument("--rows", nargs="+", choices=choices, default=choices)
    args = parsed(parser)
    if "mnist" in args.data:
        parser.error("argument --data: the paper has no mnist in these tables")
    heading(args, "data", "rows", *WORK, "paper: iterations", "f")
    cases = [(rows, {"working_set": HybridMaximumGain(rows)}) for rows in args.rows]
    for name, rows, run in medians(args, cases):
        iterations, f = of_the_paper(name, rows)
        print(markdown(name, rows, *work(run), f"{iterations:,}", f"{f:,.3f}"), flush=True)


if __name__ == "__main__":
    main()
