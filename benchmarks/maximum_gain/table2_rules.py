"""Table 2: iterations, work and f of the three rules, with shrinking.

SOFTMARGIN_DATA=<folder> python benchmarks/maximum_gain/table2_rules.py [--quick]
    [--data spambase connect4 mnist] [--orders N] [--examples N] [--cache MB]
"""

from experiment import PROBLEMS, WORK, data_arguments, heading, markdown, medians, parsed, work
from paper import RULES, TABLE_2


def main() -> None:
    args = parsed(data_arguments(__doc__, PROBLEMS))
    heading(args, "data", "rule", *WORK, "paper: iterations", "s", "f")
    cases = [(rule.name, {"working_set": rule}) for rule in RULES]
    for name, rule, run in medians(args, cases):
        iterations, seconds, f = TABLE_2[name][rule]
        paper = [f"{iterations:,}", f"{seconds:,}", f"{f:,.3f}"]
        print(markdown(name, rule, *work(run), *paper), flush=True)


if __name__ == "__main__":
    main()
