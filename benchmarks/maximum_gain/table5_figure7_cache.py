"""Table 5 and Figure 7: connect-4 with 20, 40, 100 and 200 MB, and with all rows in memory.

SOFTMARGIN_DATA=<folder> python benchmarks/maximum_gain/table5_figure7_cache.py [--quick]
    [--orders N] [--examples N] [--budgets MB ...] [--rules RULE ...]
    [--figure figure7.png]
"""

from experiment import WORK, data_arguments, heading, markdown, medians, parsed, work
from matplotlib.figure import Figure
from paper import TABLE_5, rule_argument, rules_of


def main() -> None:
    parser = data_arguments(__doc__, ["connect4"])
    budgets = [20, 40, 100, 200, 4000]
    parser.add_argument("--budgets", nargs="+", type=float, default=budgets, help="in MB")
    rule_argument(parser)
    parser.add_argument("--figure", default="figure7.png", help="where the picture goes")
    args = parsed(parser)
    heading(args, "MB", "rule", *WORK, "paper: s", cache=False)
    rules = rules_of(args)
    rows: dict[str, list[float]] = {rule.name: [] for rule in rules}
    for megabytes in args.budgets:
        cases = [(r.name, {"working_set": r, "cache_megabytes": megabytes}) for r in rules]
        for _, rule, run in medians(args, cases):
            rows[rule].append(run.kernel_rows)
            paper = TABLE_5.get(int(megabytes), {}).get(rule, "-")
            print(markdown(f"{megabytes:g}", rule, *work(run), f"{paper}"), flush=True)
    draw(args.budgets, rows, args.figure)


def draw(megabytes: list[float], rows: dict[str, list[float]], path: str) -> None:
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for rule, counts in rows.items():
        axes.plot(megabytes, counts, "o-", label=rule)
    axes.set(xscale="log", xlabel="cache (MB)", ylabel="kernel rows computed")
    axes.set_ylim(bottom=0)
    axes.set_xticks(megabytes, [f"{value:g}" for value in megabytes], minor=False)
    axes.minorticks_off()
    axes.legend()
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
