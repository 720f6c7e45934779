#!/bin/bash
# Makes the small pictures that the window shows when the pointer rests on a control: three values of each, on the demo
# head, drawn by the program itself. It needs ImageMagick. Usage: assets/make_help_pictures.sh [PROGRAM] [NAME ...]
# Without names it makes all. HELP_DATA names a folder that keeps the head and the fit between runs. Look at the pictures
# before you commit them; src/ui/help_pictures.rs has their captions.
set -euo pipefail
cd "$(dirname "$0")/.."
program=$(realpath "${1:-target/release/arcuate}")
shift || true
folder=$(realpath assets/help)
data=${HELP_DATA:-$(mktemp -d)}
mkdir -p "$data"
cd "$data"
[ -d head ] || "$program" phantom --quiet --out head
[ -d fit ] || "$program" fit head/dwi.nii.gz --mask head/brain_mask.nii.gz --quiet --out fit

run() { "$program" "$@" --quiet --force >/dev/null 2>>log; }
dwi=head/dwi.nii.gz
fa=fit/fa.nii.gz
t1=head/t1.nii.gz
# The corticospinal tract, and the crosshair outside the part of the slice that is shown.
cst=sphere:-24,-18,8,6
far=75,-18,-70

# draw PANEL CROP ARGUMENTS...: one panel of 120 × 120 pixels from a view of 480 × 480.
draw() {
    run render "${@:3}" --size 480x480 --out whole.png
    convert whole.png -crop "$2" +repage -resize 120x120^ -gravity center -extent 120x120 "panel$1.png"
}
# join NAME: the three panels side by side.
join() { convert panel1.png panel2.png panel3.png +append -colors 128 "PNG8:$folder/$1.png"; }
wanted() { [ ${#names[@]} -eq 0 ] || [[ " ${names[*]} " == *" $1 "* ]]; }
names=("$@")

tract=210x240+250+90
callosum=280x200+100+80
# tracked NAME CROP ARGUMENTS: three files of streamlines in the coronal slice; VALUE stands for each value in turn.
tracked() {
    local name=$1 crop=$2 panel=0 value
    shift 2
    wanted "$name" || return 0
    for value in "${values[@]}"; do
        panel=$((panel + 1))
        run track "$dwi" "${@//VALUE/$value}" --out tracks.tck
        draw $panel "$crop" "$fa" tracks.tck --view coronal --at "$far"
    done
    join "$name"
}
values=(20 200 2000)
tracked streamlines $tract --seed $cst --seeds random:VALUE
values=(0.5 4 10)
tracked step $callosum --seed sphere:0,-18,24,3 --seeds random:12 --angle off --fa 0.1 --step VALUE
# whole NAME ARGUMENTS: the same for the whole brain, in the 3-D view.
whole() {
    local name=$1 panel=0 value
    shift
    wanted "$name" || return 0
    for value in "${values[@]}"; do
        panel=$((panel + 1))
        run track "$dwi" --seeds random:1500 "${@//VALUE/$value}" --out tracks.tck
        draw $panel 340x340+70+70 tracks.tck --view 3d
    done
    join "$name"
}
values=(6 15 60)
whole angle --step 2 --fa 0.1 --angle VALUE
values=(0.1 0.3 0.6)
whole fa --min-length 10 --fa VALUE
values=(10 60 120)
whole length --fa 0.15 --min-length VALUE

# rays NAME ARGUMENTS: rays from the tract, all of them.
rays() {
    local name=$1 panel=0 value
    shift
    wanted "$name" || return 0
    for value in "${values[@]}"; do
        panel=$((panel + 1))
        run geodesic "$dwi" --seed sphere:-24,-18,8,1 --seeds random:4 --max-length 60 --min-length 0 --cut all "${@//VALUE/$value}" --out rays.tck
        draw $panel $tract "$fa" rays.tck --view coronal --at "$far"
    done
    join "$name"
}
values=(principal cone:40,45 sphere:80)
rays directions --directions VALUE
values=(10 30 80)
rays opening --directions cone:40,VALUE

# costs NAME WIDTH ARGUMENTS: a pathway of this width, on the FA.
costs() {
    local name=$1 width=$2 panel=0 value
    shift 2
    wanted "$name" || return 0
    for value in "${values[@]}"; do
        panel=$((panel + 1))
        rm -rf pathway
        run pathway "$dwi" --from sphere:-24,-18,8,5 --to sphere:-30,-22,58,9 --null 0 "${@//VALUE/$value}" --epsilon "${width/VALUE/$value}" --out pathway
        draw $panel $tract "$fa" --seed mask:pathway/pathway.nii.gz --view coronal --at "$far"
    done
    join "$name"
}
values=(0.05 0.2 0.6)
costs epsilon VALUE
values=(sharpened inverse isotropic)
costs metric 0.2 --metric VALUE
values=(1 3 6)
costs alpha 0.2 --alpha VALUE
values=(0.1 0.3 0.5)
costs domain 0.6 --metric isotropic --min-fa VALUE

# Around the tumour, in the axial slice through its core.
tumour=head/t1_tumour.nii.gz
core=28,23,28
place=(--view axial --at 80,80,28)
around=130x130+118+104
# surface NAME ARGUMENTS: a part of the tumour as the level set finds it.
surface() {
    local name=$1 panel=0 value
    shift
    wanted "$name" || return 0
    for value in "${values[@]}"; do
        panel=$((panel + 1))
        rm -rf surface
        run segment "$tumour" --ignore-leaks "${@//VALUE/$value}" --out surface
        draw $panel $around "$tumour" --seed mask:surface/labels.nii.gz "${place[@]}"
    done
    join "$name"
}
values=(40 350 1100)
surface tolerance --add sphere:$core,4 --target 420 --steps 300 --tolerance VALUE
values=(0.02 0.3 0.9)
surface smoothness --add sphere:$core,4 --target 420 --tolerance 1100 --steps 300 --smoothness VALUE
values=(420 1440 780)
surface target --add sphere:$core,14 --tolerance 150 --steps 300 --target VALUE

# changed NAME OPTION VALUES: the border of a tumour, moved or smoothed.
changed() {
    local panel=0 value
    wanted "$1" || return 0
    for value in "${@:3}"; do
        panel=$((panel + 1))
        run region --image "$t1" --union mask:head/tumour_core.nii.gz "$2=$value" --out region.nii.gz
        draw $panel $around "$tumour" --seed mask:region.nii.gz "${place[@]}"
    done
    join "$1"
}
changed grow --grow -4 0 4
changed smooth --smooth 0 5 10

if wanted voxel; then
    run track "$dwi" --seed $cst --seeds random:3000 --fa 0.15 --out many.tck
    panel=0
    for value in 0.5 2 4; do
        panel=$((panel + 1))
        run density many.tck --template "$fa" --voxel $value --out density.nii.gz
        draw $panel $tract density.nii.gz --view coronal --at "$far"
    done
    join voxel
fi

if wanted threshold; then
    panel=0
    for value in 6 15 40; do
        panel=$((panel + 1))
        run bundles head/fibres.tck --threshold $value --out clusters.trx
        draw $panel 330x330+60+75 clusters.trx --view 3d --line-colour group
    done
    join threshold
fi

if wanted spacing; then
    panel=0
    for value in 30 16 9; do
        panel=$((panel + 1))
        draw $panel 480x480+0+0 "$t1" --view axial --mosaic $value --at 0,0,10
    done
    join spacing
fi

if wanted turn; then
    panel=0
    for value in 0 15 30; do
        panel=$((panel + 1))
        draw $panel 400x400+40+40 "$t1" --view axial --turn $value,0,0
    done
    join turn
fi
