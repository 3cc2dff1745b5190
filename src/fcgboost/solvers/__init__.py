"""Solvers for the coefficients of the selected atoms, one file per algorithm."""

from fcgboost.solvers.admm import AdmmSolver
from fcgboost.solvers.base import Problem, Solution, Solver
from fcgboost.solvers.gradient import GradientDescentSolver
from fcgboost.solvers.interior import InteriorPointSolver
from fcgboost.solvers.newton import NewtonSolver

__all__ = [
    "AdmmSolver",
    "GradientDescentSolver",
    "InteriorPointSolver",
    "NewtonSolver",
    "Problem",
    "Solution",
    "Solver",
]
