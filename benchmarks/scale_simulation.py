"""How long would a fit take on 10, 100, 1,000 workers?  A small model of the costs of a round.

    python benchmarks/scale_simulation.py --rounds 4:200 16:300 ... [--rows 1e9] [--features 1e3]

The rounds for each number of blocks are measured elsewhere (block_rounds.py); everything else is
computed from the formulas of docs/scale.md.  Prints a table in Markdown.  Nothing here is measured.
"""

import argparse
import math

FAN_IN = 8  # softmargin.fitting.blocks.FAN_IN
JUMPS = 1 / 3  # of a round, which cost about as much as a step


def seconds(given, blocks, workers):
    """Of one round: descent, traffic of W, scheduling."""
    entries = given.rows * given.entries
    descent = math.ceil(blocks / workers) / blocks * entries * given.classes / given.speed
    W = 8 * given.features * given.classes
    levels = math.ceil(math.log(max(blocks, 2), FAN_IN))
    traffic = W / given.bandwidth * (2 + math.log2(max(workers, 2)) + FAN_IN * levels)
    latency = given.latency * (4 + math.log2(max(workers, 2)) + 2 * levels)
    tasks = 3 * blocks + math.ceil(blocks / (FAN_IN - 1))
    return descent, traffic, latency + tasks * given.task


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", nargs="+", required=True, metavar="BLOCKS:ROUNDS")
    parser.add_argument("--workers", nargs="+", type=int, default=[10, 100, 1000])
    parser.add_argument("--rows", type=float, default=1e8)
    parser.add_argument("--entries", type=float, default=100, help="nonzero values of a row")
    parser.add_argument("--features", type=float, default=1e5)
    parser.add_argument("--classes", type=float, default=10)
    parser.add_argument("--speed", type=float, default=3e8, help="entries times classes a second")
    parser.add_argument("--bandwidth", type=float, default=1e9, help="bytes a second")
    parser.add_argument("--latency", type=float, default=1e-3, help="seconds of a message")
    parser.add_argument("--task", type=float, default=1e-3, help="seconds of scheduling a task")
    given = parser.parse_args()
    print("| workers | blocks | rounds | descent s | traffic s | scheduling s | fit, minutes |")
    print("|--:|--:|--:|--:|--:|--:|--:|")
    for workers in given.workers:
        for text in given.rounds:
            blocks, rounds = (int(value) for value in text.split(":"))
            parts = seconds(given, blocks, min(workers, blocks))
            total = rounds * (1 + JUMPS) * sum(parts) / 60
            cells = " | ".join(f"{part:.2g}" for part in parts)
            print(f"| {workers:,} | {blocks} | {rounds} | {cells} | {total:.3g} |")


if __name__ == "__main__":
    main()
