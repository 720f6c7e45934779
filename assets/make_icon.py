"""Draws icon.svg and icon.png (256 px): three quarter arcs about one centre on a dark plate.

    pip install pillow; python make_icon.py OUTPUT_FOLDER

Lengths are in units of 1/32 of the icon's side.
"""

import math
import os
import sys

from PIL import Image, ImageDraw

SIDE_PX = 256
OVERSAMPLING = 8
PLATE = "#0F1114"
ARCS = "#7AA2FF"
PLATE_RADIUS = 7
CENTRE = 24.5  # x and y: the arcs open towards the top left
RADII = (6.5, 11.5, 16.5)
STROKE = 2.6


def svg():
    arcs = "".join(
        f'<path d="M{CENTRE - r} {CENTRE}A{r} {r} 0 0 1 {CENTRE} {CENTRE - r}"/>' for r in RADII
    )
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">'
        f'<rect width="32" height="32" rx="{PLATE_RADIUS}" fill="{PLATE}"/>'
        f'<g fill="none" stroke="{ARCS}" stroke-width="{STROKE}" stroke-linecap="round">{arcs}</g>'
        "</svg>\n"
    )


def png():
    side = SIDE_PX * OVERSAMPLING
    unit = side / 32
    image = Image.new("RGBA", (side, side), PLATE + "00")
    draw = ImageDraw.Draw(image)
    draw.rounded_rectangle((0, 0, side - 1, side - 1), PLATE_RADIUS * unit, fill=PLATE)

    # A disc at every tenth of a degree: an even stroke with round ends.
    for r in RADII:
        for angle in map(math.radians, (i / 10 for i in range(901))):
            x, y = CENTRE - r * math.cos(angle), CENTRE - r * math.sin(angle)
            draw.ellipse([(c + s * STROKE / 2) * unit for s in (-1, 1) for c in (x, y)], fill=ARCS)
    return image.resize((SIDE_PX, SIDE_PX), Image.Resampling.LANCZOS)


if __name__ == "__main__":
    folder = sys.argv[1]
    with open(os.path.join(folder, "icon.svg"), "w", encoding="utf-8") as file:
        file.write(svg())
    png().save(os.path.join(folder, "icon.png"), optimize=True)
