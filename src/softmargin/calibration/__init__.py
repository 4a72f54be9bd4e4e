"""From decision values to probabilities and intervals.

Every function here takes decision values of examples that the machine was not trained on (out of
fold), because those of training examples are too good.  None needs scikit-learn: model files
predict probabilities too.
"""
