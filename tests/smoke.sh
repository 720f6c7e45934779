#!/usr/bin/env bash
# The window under a real X server with real pointer and key events: opens the demo head, places a
# seed and a target, tracks, drags the seed, saves streamlines and a picture, undoes and redoes,
# traces rays, sharpens and cuts them, steers a surface, weighs streamlines.
# Judged by the files it writes and by the window's own record (ARCUATE_TRACE), not by pixels.
#
#   bash tests/smoke.sh [BINARY]     KEEP=1 keeps the folder with files, record and last picture,
#                                    PATIENCE=5 waits five times as long on a busy machine
set -euo pipefail
cd "$(dirname "$0")/.."
binary=${1:-${CARGO_TARGET_DIR:-target}/release/arcuate}
[[ -x $binary ]] || cargo build --locked --release
for program in Xvfb xdotool xclip; do
    command -v "$program" >/dev/null || { echo "smoke: $program is missing: ./setup.sh --ci"; exit 1; }
done

folder=$(mktemp -d)
record=$folder/record.jsonl
server='' window=''
finish() {
    local status=$?
    if ((status)); then
        echo "smoke: FAILED; the last line of the record, and what the window said:"
        tail -n 1 "$record" 2>/dev/null | cut -c 1-3000 || true
        tail -n 20 "$folder/window.log" 2>/dev/null || true
        command -v import >/dev/null && import -window root "$folder/last.png" 2>/dev/null || true
        KEEP=1
    fi
    [[ -z $window ]] || kill "$window" 2>/dev/null || true
    # Its socket goes with it, not with the next one's.
    [[ -z $server ]] || { kill "$server" 2>/dev/null && wait "$server" 2>/dev/null; } || true
    if [[ ${KEEP:-} ]]; then echo "smoke: kept $folder"; else rm -rf "$folder"; fi
    exit "$status"
}
trap finish EXIT

# until_true SECONDS WHAT COMMAND...: repeats the command until it succeeds.
until_true() {
    local limit=$((SECONDS + $1 * ${PATIENCE:-1})) what=$2
    shift 2
    until "$@" >/dev/null 2>&1; do
        kill -0 "$window" 2>/dev/null || [[ -z $window ]] || { echo "smoke: the window is gone"; return 1; }
        ((SECONDS < limit)) || { echo "smoke: waited in vain for: $what"; return 1; }
        sleep 0.1
    done
    printf 'smoke: %3d s  %s\n' "$SECONDS" "$what"
}
now() { tail -n 1 "$record" | grep -qE -- "$1"; }          # in the state as it is
ever() { grep -qE -- "$1" "$record"; }                     # in any line so far
lines() { wc -l <"$record"; }
# press KEY PATTERN WHAT: presses the key, and again if the record does not show the pattern within 5 s.
press() { until_true 30 "$3" press_once "$1" "$2"; }
press_once() {
    local limit=$((SECONDS + 5 * ${PATIENCE:-1}))
    xdotool key "$1"
    until now "$2"; do
        ((SECONDS < limit)) || return 1
        sleep 0.1
    done
}
# Fails unless the condition (an awk expression) holds.
holds() { awk "BEGIN { exit !($2) }" || { echo "smoke: $1: not ($2)"; return 1; }; }

mkdir -p "$folder/home" "$folder/run"
chmod 700 "$folder/run"
# Without -noreset it begins again when xdotool leaves, while the window connects.
Xvfb -displayfd 3 -screen 0 1280x1000x24 -nolisten tcp -noreset 3>"$folder/display" >"$folder/xvfb.log" 2>&1 &
server=$!
until_true 20 "an X server" test -s "$folder/display"
export DISPLAY=:$(<"$folder/display") HOME=$folder/home XDG_RUNTIME_DIR=$folder/run
unset WAYLAND_DISPLAY XDG_STATE_HOME
# Without a PATH there is no zenity, whose dialog would come instead of the field for paths.
PATH= ARCUATE_TRACE=$record "$binary" demo >"$folder/window.log" 2>&1 &
window=$!
gets_keys() { xdotool windowfocus "$(xdotool search --onlyvisible --name Arcuate | head -n 1)"; }
until_true 20 "a window" gets_keys
# High enough for all that the panels hold: rows lie where they put them.
grows() {
    local id
    id=$(xdotool search --onlyvisible --name Arcuate | head -n 1)
    [[ $id ]] && xdotool windowsize "$id" 1280 1000
}
until_true 20 "a window of 1280 × 1000" grows

until_true 60 "the demo head, fitted" now '"fitted":[1-9][0-9]*'
until_true 20 "four views" now '"panes":\{"3-D":\[.*"Sagittal"'
# Without a window manager nobody else gives the window the keys.
gets_keys

# pane NAME: its corners as "left top right bottom".
pane() { tail -n 1 "$record" | sed -n "s/.*\"panes\":{[^}]*\"$1\":\[\([^]]*\)\].*/\1/p" | tr ',' ' '; }
crosshair() { tail -n 1 "$record" | sed -n 's/.*"crosshair":\[\([^]]*\)\].*/\1/p' | tr ',' ' '; }
# goes X Y: moves the pointer there.
goes() { xdotool mousemove "${1%.*}" "${2%.*}"; }
# looks X Y: clicks there and prints where the crosshair went.
looks() {
    local before
    before=$(lines)
    goes "$1" "$2"
    xdotool click 1
    until_true 10 "a click at $1 $2" moved_since "$before" >&2
    crosshair
}
moved_since() { tail -n "+$(($1 + 1))" "$record" | grep -q '"action":"View.MoveCrosshair"'; }
middle() { read -r l t r b <<<"$(pane "$1")"; echo "$(((${l%.*} + ${r%.*}) / 2)) $(((${t%.*} + ${b%.*}) / 2))"; }
# pixel BASE PER_PIXEL FROM TO: where along an axis the coordinate TO is, given FROM at BASE.
pixel() { awk "BEGIN { printf \"%d\", $1 + ($4 - ($3)) / ($2) + 0.5 }"; }

# In the left corticospinal tract of the demo head, mm.
seed=(-24 -16 10)
target=(-32 -22 52)

# Which way the axes run on screen is law: radiological, nose left.
read -r ax ay <<<"$(middle Axial)"
read -r cx cy <<<"$(middle Coronal)"
read -r sx sy <<<"$(middle Sagittal)"
read -r x0 y0 z0 <<<"$(looks $((ax + 1)) $((ay + 1)))"
read -r x1 y1 z1 <<<"$(looks $((ax + 61)) $((ay + 41)))"
holds "the patient's left is on the right of an axial slice" "$x1 < $x0 - 5 && $y1 < $y0 - 5 && $z1 == $z0"
ax_mm=$(awk "BEGIN { print ($x1 - ($x0)) / 60 }")
read -r x2 y2 z2 <<<"$(looks $((cx + 1)) $((cy + 1)))"
read -r x3 y3 z3 <<<"$(looks $((cx + 61)) $((cy - 29)))"
holds "the head is upright in a coronal slice" "$x3 < $x2 - 5 && $z3 > $z2 + 5 && $y3 == $y2"
c_mm=$(awk "BEGIN { print ($x3 - ($x2)) / 60 }")
read -r x4 y4 z4 <<<"$(looks $((sx + 1)) $((sy + 1)))"
read -r x5 y5 z5 <<<"$(looks $((sx + 61)) $((sy + 1)))"
holds "the nose is left in a sagittal slice" "$y5 < $y4 - 5 && $x5 == $x4"
s_mm=$(awk "BEGIN { print ($y5 - ($y4)) / 60 }")
axial_x() { pixel $((ax + 1)) "$ax_mm" "$x0" "$1"; }
axial_y() { pixel $((ay + 1)) "$ax_mm" "$y0" "$1"; }
coronal_x() { pixel $((cx + 1)) "$c_mm" "$x2" "$1"; }
coronal_y() { pixel $((cy + 1)) "$c_mm" "$z2" "$1"; }
sagittal_x() { pixel $((sx + 1)) "$s_mm" "$y4" "$1"; }
sagittal_y() { pixel $((sy + 1)) "$s_mm" "$z4" "$1"; }

# A seed: the coronal view chooses the axial slice, S and a click place it there.
looks "$(coronal_x "${seed[0]}")" "$(coronal_y "${seed[2]}")" >/dev/null
xdotool key s
goes "$(axial_x "${seed[0]}")" "$(axial_y "${seed[1]}")"
xdotool click 1
until_true 10 "a seed" now '"role":"Seed"'
until_true 20 "streamlines" now '"live":\{[^}]*"coarse":false[^}]*"kept":[1-9]'
placed=$(tail -n 1 "$record" | sed -n 's/.*"sphere_mm":\[\([^]]*\)\].*/\1/p' | tr ',' ' ')
read -r px py pz <<<"$placed"
holds "the seed is where the click was, to a pixel" \
    "($px - (${seed[0]}))^2 + ($py - (${seed[1]}))^2 + ($pz - (${seed[2]}))^2 < 3"

# Dragged a little and back, by its middle: coarse on the way, full at rest.
gx=$(axial_x "${seed[0]}") gy=$(axial_y "${seed[1]}")
goes "$gx" "$gy"
xdotool mousedown 1
for step in 4 8 12; do
    goes $((gx + step)) $((gy - step / 3))
    sleep 0.05
done
until_true 10 "coarse streamlines while the seed is dragged" ever '"coarse":true'
for step in 9 6 3; do
    goes $((gx + step)) $((gy - step / 3))
    sleep 0.05
done
xdotool mouseup 1
until_true 20 "full ones at rest" now '"live":\{[^}]*"coarse":false.*"undo":"Move region"'

# A target: pulled open to 12 mm in the sagittal view.
looks "$(coronal_x "${target[0]}")" "$(coronal_y "${target[2]}")" >/dev/null
xdotool key t
goes "$(sagittal_x "${target[1]}")" "$(sagittal_y "${target[2]}")"
xdotool mousedown 1
goes "$(sagittal_x "$((target[1] + 6))")" "$(sagittal_y "${target[2]}")"
goes "$(sagittal_x "$((target[1] + 12))")" "$(sagittal_y "${target[2]}")"
xdotool mouseup 1
until_true 10 "a target" now '"role":"Target"'
until_true 20 "streamlines that reach it" now '"live":\{[^}]*"coarse":false[^}]*--target[^}]*"kept":[1-9]'
kept=$(tail -n 1 "$record" | sed -n 's/.*"live":{[^}]*"kept":\([0-9]*\).*/\1/p')

# runs COMMAND: chooses it in the palette.
runs() {
    press ctrl+k '"typing":true' "the palette"
    sleep 0.5
    xdotool type --delay 20 "$1"
    xdotool key Return
}

# Saved through the path field.
types() {
    until_true 20 "a path field" now '"typing":true'
    xdotool key ctrl+a
    xdotool type --delay 1 "$1"
    xdotool key Return
}
press ctrl+e '"typing":true' "a field for the path"
types "$folder/tracks.tck"
until_true 20 "a streamline file" test -s "$folder/tracks.tck"
head -c 13 "$folder/tracks.tck" | grep -q '^mrtrix tracks'
grep -aqE "^count: 0*$kept\$" "$folder/tracks.tck"
grep -aq 'arcuate track phantom:' "$folder/tracks.tck"
# The camera in the top bar.
goes 1217 22
xdotool click 1
types "$folder/view.png"
until_true 30 "a picture" test -s "$folder/view.png"
[[ $(head -c 4 "$folder/view.png" | tail -c 3) == PNG ]]
grep -aq 'not a medical device' "$folder/view.png"

# Undo and redo, by keys.
xdotool key ctrl+z
until_true 20 "undone: no target" now '"redo":"Place region"'
if now '"role":"Target"'; then echo "smoke: the target is still there"; exit 1; fi
xdotool key ctrl+y
until_true 20 "redone: the target is back" now '"redo":null.*"role":"Target"'
until_true 20 "and its streamlines" now "\"live\":\\{[^}]*\"coarse\":false[^}]*\"kept\":$kept,"

# Geodesic rays: the switch at the top of the panel, 312 wide at the right of 1280, chips and the field
# below it; a slider's row and the histogram lie where the panel's rows put them.
# The guide's last note goes first; the rows below move up once the pointer has left them.
goes 1252 74
xdotool click 1
rays() {
    goes 600 987
    sleep 0.7
    goes 1196 70
    xdotool click 1
    sleep 0.7
    now 'arcuate geodesic'
}
until_true 20 "the panel of rays" rays
until_true 20 "rays that reach the target" now '"live":\{[^}]*"coarse":false[^}]*arcuate geodesic[^}]*"kept":[1-9]'
goes 1105 354
xdotool mousedown 1
for x in 1113 1121 1129 1137; do
    goes "$x" 354
    sleep 0.1
done
until_true 20 "sharpened rays while the knob moves" now '"live":\{[^}]*--sharpen power:[2-5]'
xdotool mouseup 1
until_true 20 "all of them at rest" now '"live":\{[^}]*"coarse":false[^}]*--sharpen power:[2-5].*"undo":"Rays"'
passed() { tail -n 1 "$record" | sed -n 's/.*"passed":\([0-9]*\).*/\1/p'; }
kept() { tail -n 1 "$record" | sed -n 's/.*"live":{[^}]*"kept":\([0-9]*\).*/\1/p'; }
all=$(passed)
# The cut moves, and nothing is traced again.
# A busy machine may take the whole drag for a click.
cuts() {
    local x waited
    goes 1000 545
    xdotool mousedown 1
    for x in 1050 1100 1150; do
        goes "$x" 545
        sleep 0.2
    done
    xdotool mouseup 1
    for waited in 1 2 3 4 5; do
        now '"command":"arcuate geodesic[^"]* --cut [0-9]+\.[0-9]*.*"undo":"Cut"' && return
        sleep "$waited"
    done
    return 1
}
until_true 40 "a cut" cuts
quiet() { local before; before=$(lines); sleep 0.7; [[ $(lines) == "$before" ]]; }
until_true 10 "a record at rest" quiet
holds "the cut keeps some of them" "$(kept) > 0 && $(kept) < $all && $(passed) == $all"
count=$(kept)
press ctrl+e '"typing":true' "a field for the path"
types "$folder/rays.tck"
until_true 20 "a ray file" test -s "$folder/rays.tck"
until_true 20 "its measures" test -s "$folder/rays.tsf"
until_true 20 "its weights" test -s "$folder/rays.weights.txt"
grep -aqE "^count: 0*$count\$" "$folder/rays.tck"
grep -aq 'arcuate geodesic phantom:.*--cut' "$folder/rays.tck"
goes 1050 70
xdotool click 1
until_true 20 "streamlines again" now "\"live\":\\{[^}]*arcuate track[^}]*\"kept\":$kept,"

# The command of these streamlines, by keys, to other programs.
xdotool key ctrl+shift+c
until_true 10 "a copied command" now '"status":"Command copied"'
shown=$(tail -n 1 "$record" | sed -n 's/.*"live":{[^}]*"command":"\([^"]*\)".*/\1/p')
copied() { [[ $shown == 'arcuate track'* && $(timeout 5 xclip -o -selection clipboard) == "$shown" ]]; }
until_true 10 "the same command in the clipboard" copied
now '"errors":\[\]'

# A surface, steered: sampled with P held in the left ventricle of the T1, begun with a sphere, three sliders that
# are dragged, a sphere added and one cut away on the way. Rows lie where the panel puts them.
press ctrl+4 '"task":"segment"' "the task Segment"
looks "$(coronal_x -8)" "$(coronal_y 16)" >/dev/null
xdotool keydown p
goes "$(axial_x -6)" "$(axial_y 4)"
xdotool mousedown 1
for y in 6 8 10 12; do
    goes "$(axial_x -8)" "$(axial_y "$y")"
    sleep 0.1
done
xdotool mouseup 1
xdotool keyup p
until_true 20 "values of a ventricle" now '"sampled":[1-9].*"target_chosen":true'
xdotool key a
goes "$(axial_x -8)" "$(axial_y 8)"
xdotool click 1
until_true 30 "a sphere" now '"spheres":1,.*"step":0'
press space '"running":true|"step":[1-9]' "a surface that starts"
until_true 30 "a surface that moves" now '"surface":\{[^}]*"step":[1-9]'
slides() { # Y FROM TO
    # A picture of the surface takes a while without a graphics card.
    goes "$2" "$1"
    xdotool mousedown 1
    sleep 0.8
    goes "$((($2 + $3) / 2))" "$1"
    sleep 0.8
    goes "$3" "$1"
    sleep 0.8
    xdotool mouseup 1
}
events() { tail -n 1 "$record" | sed -n 's/.*"surface":{[^}]*"events":\([0-9]*\).*/\1/p'; }
more_events() { [[ $(events) -gt $1 ]]; }
done_before=$(events)
for row in "447 1117 1122" "447 1122 1127" "447 1127 1132"; do
    slides $row
    until_true 60 "smoothness that acts on the way" more_events "$done_before"
    done_before=$(events)
done
# With Shift a tenth of the way: a range that is wider by much leaks, and the alarm pauses it.
sampled_target() { tail -n 1 "$record" | sed -n 's/.*"target":\([0-9.]*\),"target_chosen":true.*/\1/p'; }
tolerance() { tail -n 1 "$record" | sed -n 's/.*"target_chosen":true,"tolerance":\([0-9.]*\).*/\1/p'; }
smoothness() { tail -n 1 "$record" | sed -n 's/.*"smoothness":\([0-9.]*\),"spheres".*/\1/p'; }
t0=$(sampled_target) e0=$(tolerance) smooth=$(smoothness)
holds "three drags of the smoothness" "$smooth > 0.2 && $smooth < 0.5"
xdotool keydown shift
slides 391 1123 1133
until_true 60 "a target that acts on the way" more_events "$done_before"
done_before=$(events)
slides 419 1124 1134
until_true 60 "a range that acts on the way" more_events "$done_before"
done_before=$(events)
xdotool keyup shift
t1=$(sampled_target) e1=$(tolerance)
holds "T is a little higher, ε a little wider" "$t1 > $t0 && $t1 < $t0 + 40 && $e1 > $e0 && $e1 < $e0 + 20"
holds "they leave the smoothness alone" "$(smoothness) == $smooth"
now '"leaks_by":null'
goes "$(axial_x 8)" "$(axial_y 8)"
xdotool click 1
until_true 60 "a sphere added on the way" more_events "$done_before"
done_before=$(events)
xdotool key d
goes "$(axial_x -8)" "$(axial_y 20)"
xdotool click 1
until_true 60 "a sphere cut away on the way" more_events "$done_before"
xdotool key Escape
# It may stand still by itself by now, or begin to move once more for what was cut away.
rests() { now '"running":false' && sleep 1 && now '"running":false'; }
stops() {
    local waited
    rests && return
    xdotool key space
    for waited in 1 2 3 4 5 6; do
        rests && return
        sleep "$waited"
    done
    return 1
}
until_true 60 "a surface at rest" stops
press ctrl+e '"typing":true' "a field for the path"
types "$folder/labels.nii.gz"
until_true 20 "a label map" test -s "$folder/labels.nii.gz"
runs 'export script of this run'
types "$folder/run.json"
until_true 20 "a run script" test -s "$folder/run.json"
"$binary" segment --script "$folder/run.json" --out "$folder/again" --quiet >"$folder/segment.txt"
voxels() { gzip -dc "$1" | tail -c $((176 * 220 * 176)) | sha256sum; }
[[ $(voxels "$folder/labels.nii.gz") == "$(voxels "$folder/again/labels.nii.gz")" ]] || {
    echo "smoke: the script gives other voxels"; cat "$folder/segment.txt"; exit 1; }
now '"errors":\[\]'
press ctrl+2 '"task":"track"' "the task Track"

# Weights of these streamlines by the scan's signal, as a file in their order.
runs 'keep the live result'
until_true 20 "a layer of them" now '"status":"Kept '
press ctrl+5 '"task":"filter"' "the task Filter"
until_true 30 "counted segments" now '"counted":[1-9]'
press space '"weighing":true|"with_weight":[1-9]' "a fit of weights"
until_true 90 "weights" now '"with_weight":[1-9]'
press ctrl+e '"typing":true' "a field for the path"
types "$folder/weights.txt"
until_true 20 "a file of weights" test -s "$folder/weights.txt"
holds "a weight for each streamline" "$(grep -vc '^#' "$folder/weights.txt") == $kept"
now '"errors":\[\]'
press ctrl+2 '"task":"track"' "the task Track"

# The session, and all of it again without a window.
press ctrl+s '"typing":true' "a field for the path"
types "$folder/tracts.arcuate"
until_true 20 "a session file" test -s "$folder/tracts.arcuate"
until_true 10 "nothing unsaved" now '"dirty":false'
"$binary" replay "$folder/tracts.arcuate" --quiet >"$folder/replay.txt"
# Tensors, live and kept streamlines; weights agree within what ended their fit.
[[ $(grep -c 'same bytes' "$folder/replay.txt") -ge 3 ]] && grep -q '^Weights of' "$folder/replay.txt" || {
    cat "$folder/replay.txt"; exit 1; }

# A change, a crash, and what the next window offers.
xdotool key ctrl+z
until_true 10 "something unsaved" now '"dirty":true'
until_true 30 "kept for recovery" now '"autosaved":true'
kill -9 "$window"
wait "$window" 2>/dev/null || true
rm "$record"
PATH= ARCUATE_TRACE=$record "$binary" >>"$folder/window.log" 2>&1 &
window=$!
until_true 20 "a window" gets_keys
until_true 20 "unsaved work of an earlier run" now '"left_behind":1'
gets_keys
# The button appears a frame after the record reports it.
takes() { goes 190 283; xdotool click 1; sleep 0.5; now '"jobs":\["Opening|"document":"Demo head"'; }
until_true 20 "taken over" takes
until_true 60 "recovered, and fitted" now '"fitted":[1-9][0-9]*.*"left_behind":0.*"session":".*tracts.arcuate"'
now '"errors":\[\]'
kill -0 "$window"
printf 'smoke: ok in %d s\n' "$SECONDS"
