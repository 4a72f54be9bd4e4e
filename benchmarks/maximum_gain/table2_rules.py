"""Table 2: iterations, work and f of the three rules, with shrinking.

SOFTMARGIN_DATA=<folder> python benchmarks/maximum_gain/table2_rules.py [--quick]
    [--data spambase connect4 mnist] [--orders N] [--examples N] [--cache MB]
    [--rules RULE ...]

The paper stops hybrid maximum gain as soon as its own rule fires; softmargin continues until the
optimality conditions hold. The column "own rule" says after how many iterations the own rule fired
first. f is printed a second time as LIBSVM sums it, from kernel values rounded to float32.
"""

from experiment import PROBLEMS, WORK, data_arguments, heading, markdown, medians, parsed, work
from paper import TABLE_2, rule_argument, rules_of


def main() -> None:
    parser = data_arguments(__doc__, PROBLEMS)
    rule_argument(parser)
    args = parsed(parser)
    columns = [*WORK, "f, values in float32", "own rule", "paper: iterations", "s", "f"]
    heading(args, "data", "rule", *columns)
    cases = [(rule.name, {"working_set": rule}) for rule in rules_of(args)]
    for name, rule, run in medians(args, cases):
        iterations, seconds, f = TABLE_2[name][rule]
        paper = [f"{iterations:,}", f"{seconds:,}", f"{f:,.3f}"]
        ours = [*work(run), f"{run.rounded:,.3f}", f"{run.rule_stop:,.0f}"]
        print(markdown(name, rule, *ours, *paper), flush=True)


if __name__ == "__main__":
    main()
