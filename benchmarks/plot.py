"""A plot of lines on logarithmic axes, as SVG and without a package."""
import math
from xml.sax.saxutils import escape

COLOURS = ["#0b6fa4", "#b3541e", "#4f7a28", "#7a4b94"]


def label(value):
    return f"{value:g}" if value < 10000 else f"{value / 1000:g} 000"


def growth_plot(series, title):
    """`series`: a dict of lists of (n, microseconds)."""
    width, height, left, right, top, bottom = 720, 440, 80, 24, 48, 132
    points = [p for line in series.values() for p in line]
    x0, x1 = 0, math.ceil(math.log10(max(n for n, _ in points)))
    y0 = math.floor(math.log10(min(t for _, t in points)))
    y1 = math.ceil(math.log10(max(t for _, t in points)))

    def at(n, t):
        x = left + (math.log10(n) - x0) / (x1 - x0) * (width - left - right)
        y = height - bottom - (math.log10(t) - y0) / (y1 - y0) * (height - top - bottom)
        return f"{x:.1f}", f"{y:.1f}"

    def text(x, y, words, anchor="middle", size=12, weight="normal"):
        return (f'<text x="{x}" y="{y}" text-anchor="{anchor}" font-size="{size}" font-weight="{weight}">'
                f"{escape(words)}</text>")

    svg = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" fill="#222">',
           f"<title>{escape(title)}</title>", f'<rect width="{width}" height="{height}" fill="#fff"/>',
           text(width / 2, 28, title, size=15, weight="bold")]
    for power in range(x0, x1 + 1):
        x, _ = at(10**power, 10**y0)
        svg.append(f'<line x1="{x}" x2="{x}" y1="{top}" y2="{height - bottom}" stroke="#ddd"/>')
        svg.append(text(x, height - bottom + 18, label(10**power)))
    for power in range(y0, y1 + 1):
        _, y = at(1, 10.0**power)
        svg.append(f'<line x1="{left}" x2="{width - right}" y1="{y}" y2="{y}" stroke="#ddd"/>')
        svg.append(text(left - 8, float(y) + 4, label(10.0**power) + " us", anchor="end"))
    for i, (name, line) in enumerate(series.items()):
        colour = COLOURS[i % len(COLOURS)]
        line = sorted(line)
        places = [at(n, t) for n, t in line]
        joined = " ".join(f"{x},{y}" for x, y in places)
        svg.append(f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="2"/>')
        svg += [f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>' for x, y in places]
        # For comparison: linear from the last point down, as far as the line goes.
        (n_first, _), (n_last, t_last) = line[0], line[-1]
        n_low = max(n_first, n_last * 10**y0 / t_last)
        (xa, ya), (xb, yb) = at(n_low, t_last * n_low / n_last), at(n_last, t_last)
        svg.append(f'<line x1="{xa}" y1="{ya}" x2="{xb}" y2="{yb}" stroke="{colour}" stroke-dasharray="2 5"/>')
        y = height - bottom + 44 + 20 * i
        svg.append(f'<line x1="{left}" x2="{left + 28}" y1="{y - 4}" y2="{y - 4}" stroke="{colour}" stroke-width="2"/>')
        svg.append(text(left + 38, y, name, anchor="start"))
    svg.append(text(width - right, height - bottom + 44, "dotted: linear", anchor="end"))
    return "\n".join(svg + ["</svg>", ""])
