"""Table 4: the three rules without shrinking.

    SOFTMARGIN_DATA=<folder> python benchmarks/maximum_gain/table4_no_shrinking.py [--quick]
        [--data spambase connect4 mnist] [--orders N] [--examples N] [--cache MB]
        [--rules RULE ...]

The paper stops hybrid maximum gain as soon as its own rule fires; softmargin continues until the
optimality conditions hold. The column "own rule" says after how many iterations the own rule fired
first, which is the paper's count.
"""

from experiment import PROBLEMS, WORK, data_arguments, heading, markdown, medians, parsed, work
from paper import TABLE_4, rule_argument, rules_of


def main() -> None:
    parser = data_arguments(__doc__, PROBLEMS)
    rule_argument(parser)
    args = parsed(parser)
    heading(args, "data", "rule", *WORK, "own rule", "paper: iterations", "s")
    cases = [(r.name, {"working_set": r, "shrinking": False}) for r in rules_of(args)]
    for name, rule, run in medians(args, cases):
        iterations, seconds = TABLE_4[name][rule]
        paper = [f"{iterations:,}", f"{seconds:,}"]
        cells = [name, rule, *work(run), f"{run.rule_stop:,.0f}", *paper]
        print(markdown(*cells), flush=True)


if __name__ == "__main__":
    main()
