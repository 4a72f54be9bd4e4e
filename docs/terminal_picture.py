"""A terminal's text as a picture: ``tmux capture-pane -p | python docs/terminal_picture.py``."""

import sys
from xml.sax.saxutils import escape

LINE, CHARACTER, MARGIN = 18, 8.0, 14


def picture(text: str) -> str:
    lines = text.rstrip().splitlines()
    width = 2 * MARGIN + CHARACTER * max(map(len, lines))
    height = 2 * MARGIN + LINE * len(lines)
    rows = []
    for k, line in enumerate(lines):
        y = MARGIN + LINE * (k + 1) - 5
        colour = "#8fd18f" if line.startswith(("$", ">>>")) else "#dddddd"
        # On each line: browsers ignore it on the picture as a whole.
        rows.append(
            f'<text x="{MARGIN}" y="{y}" fill="{colour}" xml:space="preserve">{escape(line)}</text>'
        )
    size = f'width="{width:.0f}" height="{height}" viewBox="0 0 {width:.0f} {height}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="monospace" font-size="13">\n'
        f'<rect width="100%" height="100%" rx="6" fill="#1e1e1e"/>\n' + "\n".join(rows) + "\n</svg>"
    )


if __name__ == "__main__":
    print(picture(sys.stdin.read()))
