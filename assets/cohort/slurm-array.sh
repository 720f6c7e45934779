#!/bin/bash
# Slurm alone: one array task for each participant, then the group.
#   export BIDS=data OUT=results PROTOCOL=protocol.toml DERIVATIVES="data/derivatives/qsiprep"
#   n=$(ls -d "$BIDS"/sub-* | wc -l)
#   array=$(sbatch --parsable --array=1-"$n"%50 slurm-array.sh)
#   sbatch --dependency=afterany:"$array" --array=0 slurm-array.sh
#SBATCH --job-name=arcuate
#SBATCH --cpus-per-task=4
#SBATCH --mem=8G
#SBATCH --time=04:00:00
#SBATCH --output=arcuate-%A_%a.log
set -euo pipefail
: "${BIDS:?folder of the dataset}" "${OUT:?folder of the results}" "${PROTOCOL:?protocol file}"
arcuate=${ARCUATE:-arcuate}
task=${SLURM_ARRAY_TASK_ID:?run this as an array}

if [ "$task" -eq 0 ]; then
  exec "$arcuate" bids "$BIDS" "$OUT" group --protocol "$PROTOCOL"
fi

mapfile -t folders < <(find "$BIDS" -mindepth 1 -maxdepth 1 -type d -name 'sub-*' | sort)
label=$(basename "${folders[$((task - 1))]}")
derivatives=()
for folder in ${DERIVATIVES:-}; do
  derivatives+=(--derivatives "$folder")
done
# A participant that is done and unchanged ends at once: a job that was requeued goes on where it was.
exec "$arcuate" bids "$BIDS" "$OUT" participant --protocol "$PROTOCOL" \
  ${derivatives[@]+"${derivatives[@]}"} --participant-label "$label" --threads "${SLURM_CPUS_PER_TASK:-4}" --quiet
