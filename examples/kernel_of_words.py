"""A kernel of words.

A kernel can be any Python function of two collections of examples, and the examples can be
anything: here words, compared by the pairs of letters that they share. The solver calls the
function only for the rows that it needs.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from softmargin import SVC

ENGLISH = [
    "the",
    "house",
    "water",
    "green",
    "mother",
    "night",
    "through",
    "which",
    "winter",
    "stone",
]
ITALIAN = ["il", "casa", "acqua", "verde", "madre", "notte", "attraverso", "quale", "pane", "sole"]


def letter_pairs(word):
    word = f" {word} "
    return {word[i : i + 2] for i in range(len(word) - 1)}


def common_pairs(A, B):
    sizes = [[len(letter_pairs(a)) * len(letter_pairs(b)) for b in B] for a in A]
    shared = [[len(letter_pairs(a) & letter_pairs(b)) for b in B] for a in A]
    return np.array(shared) / np.sqrt(sizes)


words = ENGLISH + ITALIAN
language = ["English"] * len(ENGLISH) + ["Italian"] * len(ITALIAN)
machine = SVC(kernel=common_pairs, C=10).fit(words, language)
for word in ("weather", "fratello", "thing", "porta"):
    print(f"{word:10s} {machine.predict([word])[0]}")

figure, ax = plt.subplots(figsize=(6.4, 5.4), layout="constrained")
image = ax.imshow(common_pairs(words, words), cmap="Blues")
ax.set_xticks(range(len(words)), words, rotation=90, fontsize=7)
ax.set_yticks(range(len(words)), words, fontsize=7)
figure.colorbar(image, label="kernel value")

figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "kernel_of_words.png", dpi=100)
