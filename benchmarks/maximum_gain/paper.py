"""The paper's rules, and the figures of its tables, to be printed beside ours."""

import argparse

from softmargin.working_sets import HybridMaximumGain, MostViolatingPair, SecondOrder, WorkingSet

RULES = (MostViolatingPair(), SecondOrder(), HybridMaximumGain())  # LIBSVM 2.71, 2.8, HMG
MVP, SO, HMG = (rule.name for rule in RULES)


def rule_argument(parser: argparse.ArgumentParser) -> None:
    names = [MVP, SO, HMG]
    parser.add_argument("--rules", nargs="+", choices=names, default=names, help="to compare")


def rules_of(args: argparse.Namespace) -> list[WorkingSet]:
    return [rule for rule in RULES if rule.name in args.rules]


# iterations, seconds, f
TABLE_2 = {
    "spambase": {
        MVP: (36_610, 11.21, 27_019.138),
        SO: (9_228, 8.44, 27_019.140),
        HMG: (10_563, 9.17, 27_019.140),
    },
    "connect4": {
        MVP: (65_167, 916, 13_557.542),
        SO: (45_504, 734, 13_557.542),
        HMG: (50_281, 633, 13_557.536),
    },
    "mnist": {
        MVP: (185_162, 13_657, 143_199.142),
        SO: (110_441, 9_957, 143_199.146),
        HMG: (152_873, 7_485, 143_199.160),
    },
}

# SVM-light, q = 10: iterations, seconds, f
TABLE_3 = {
    "spambase": (9_450, 23.97, 27_019.125),
    "connect4": (17_315, 5_589, 13_557.520),
    "mnist": (42_347, 282_262, 143_175.447),
}

# without shrinking: iterations, seconds
TABLE_4 = {
    "spambase": {MVP: (33_340, 12.77), SO: (9_123, 8.98), HMG: (9_342, 11.41)},
    "connect4": {MVP: (65_735, 2_223), SO: (45_466, 1_567), HMG: (49_512, 1_005)},
    "mnist": {MVP: (187_653, 94_981), SO: (110_470, 58_213), HMG: (155_182, 41_097)},
}

# connect-4: seconds by MB
TABLE_5 = {
    20: {MVP: 958, SO: 766, HMG: 656},
    40: {MVP: 916, SO: 734, HMG: 633},
    100: {MVP: 758, SO: 649, HMG: 583},
    200: {MVP: 603, SO: 547, HMG: 555},
}

# iterations, f
TABLE_6_ONE_ROW = {"spambase": (14_023, 27_019.134), "connect4": (83_305, 13_557.529)}
TABLE_7_WHOLE_CACHE = {"spambase": (7_280, 27_019.143), "connect4": (51_285, 13_557.538)}
