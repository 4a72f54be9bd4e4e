"""Dual problems of the five formulations, stated for the slow twin and for the core."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from softmargin.problem import formulations
from tests.oracles import naive

FORMULATIONS = ["c_svc", "nu_svc", "one_class", "epsilon_svr", "nu_svr"]


@dataclass
class Case:
    """One problem, stated for the twin and for the core."""

    twin: naive.Problem
    formulation: Any
    model: Any  # function from the solved twin to (coefficients, intercept)

    def alpha(self, beta):
        """The paper's variables, computed from the core's signed ones."""
        if len(self.twin.p) == 2 * self.twin.vectors:
            return np.concatenate([-beta[1], beta[0]])
        return self.twin.y * sum(beta)


def make_case(name, K, y, C, nu=0.3, epsilon=0.1):
    if name == "c_svc":
        stated = formulations.CSupportVectorClassification(y, C)
        return Case(naive.c_svc(K, y, C), stated, naive.classifier)
    if name == "nu_svc":
        stated = formulations.NuSupportVectorClassification(y, C, nu)
        return Case(naive.nu_svc(K, y, C, nu), stated, naive.classifier)
    if name == "one_class":
        return Case(
            naive.one_class(K, C, nu), formulations.OneClass(C, nu), naive.one_class_function
        )
    if name == "epsilon_svr":
        stated = formulations.EpsilonSupportVectorRegression(y, C, epsilon)
        return Case(naive.epsilon_svr(K, y, C, epsilon), stated, naive.regressor)
    stated = formulations.NuSupportVectorRegression(y, C, nu)
    return Case(naive.nu_svr(K, y, C, nu), stated, naive.regressor)


def beta_of(case, solver):
    return [solver.beta(s) for s in range(len(case.formulation.dual().parts))]


def random_data(seed, name, n=20, features=3):
    """Data away from the origin and with separated classes, so that no optimum is zero."""
    rng = np.random.default_rng(seed)
    X = 1.0 + rng.normal(size=(n, features))
    z = X[:, 0] + 0.3 * rng.normal(size=n)
    classes = np.where(z > np.median(z), 1.0, -1.0)
    X[:, 0] += 0.5 * classes
    return X, z if name.endswith("svr") else classes, rng
