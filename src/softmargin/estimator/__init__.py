"""What the estimators share: parameters, validation, the fitted kernel expansion, one-vs-one."""

PLAIN = False
"""Whether the estimators avoid scikit-learn; the command sets it before importing them."""
