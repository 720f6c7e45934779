#!/bin/bash
# Makes the pictures of README and guide: each task on the demo head, by mouse and keyboard in a window of 1280 × 800.
# It needs Xvfb, openbox, xdotool and ImageMagick. Usage: assets/make_pictures.sh [PROGRAM] [FOLDER]
# PATIENCE multiplies the waits on a slow machine. Look at the pictures before you commit them.
set -euo pipefail
cd "$(dirname "$0")/.."
program=${1:-target/release/arcuate}
folder=${2:-assets/pictures}
patience=${PATIENCE:-1}
home=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$home"' EXIT

# Empty folders of its own: the pictures show no recent file and no path of this machine.
export XDG_CONFIG_HOME=$home/config XDG_DATA_HOME=$home/data XDG_STATE_HOME=$home/state
export XDG_CACHE_HOME=$home/cache XDG_RUNTIME_DIR=$home/runtime DISPLAY=:39
mkdir -m 700 "$XDG_RUNTIME_DIR"

wait_for() { sleep "$(echo "$1 * $patience" | bc)"; }
at() { xdotool mousemove "$1" "$2"; sleep 0.5; }
click() { at "$1" "$2"; xdotool click 1; sleep 1; }
press() { xdotool key "$1"; sleep 1; }
picture() {
    at 22 500 # On the bar at the left, where the pointer shows no buttons in a view.
    wait_for 3
    # Without the frame of the window manager.
    import -window root png:- | convert - -crop 1278x760+1+20 +repage -colors 256 "PNG8:$folder/$1.png"
}

Xvfb "$DISPLAY" -screen 0 1280x800x24 &
sleep 1
openbox &
sleep 1
"$program" &
wait_for 10
click 741 408 # Open the demo head
wait_for 60
picture view

press ctrl+2 # Track: the corticospinal tract, in the coronal view
press s
click 246 600
wait_for 2
press t
click 205 480
wait_for 4
press Escape
wait_for 4
picture track
click 1194 83 # Geodesic rays
wait_for 30
picture rays
click 1044 83 # Streamlines
press Escape

press ctrl+3 # Pathways
wait_for 60
picture pathways

press ctrl+4 # Segment: the lateral ventricles
wait_for 10
at 254 540
xdotool keydown p mousedown 1
for place in "256 541" "259 542" "262 542" "264 543"; do
    # shellcheck disable=SC2086
    at $place
done
xdotool mouseup 1 keyup p
sleep 2
press a
click 259 542
press Escape
click 1024 277 # Run
wait_for 25
click 1024 277 # Pause
wait_for 15
picture segment

press ctrl+2
wait_for 3
click 1042 728 # Keep as layer
wait_for 3
press ctrl+5 # Filter
wait_for 5
click 1032 728 # Run
wait_for 40
picture filter
