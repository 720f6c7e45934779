// Runs a protocol on the participants of a BIDS dataset, then on the group. Not run before release.
//   nextflow run main.nf --bids data --out results --protocol protocol.toml [--derivatives folder]
nextflow.enable.dsl = 2

params.bids = null
params.out = 'results'
params.protocol = null
params.derivatives = ''
params.arguments = ''

process PARTICIPANT {
    tag "${label}"
    cpus 4
    memory '8 GB'
    time '4h'
    // Arcuate writes into the shared folder; a participant that fails leaves its sentence there.
    errorStrategy 'ignore'

    input:
    val label

    output:
    val label

    script:
    def sources = params.derivatives ? "--derivatives '${params.derivatives}'" : ''
    """
    arcuate bids '${params.bids}' '${params.out}' participant --protocol '${params.protocol}' ${sources} \\
      --participant-label '${label}' --threads ${task.cpus} --quiet ${params.arguments} || true
    """
}

process GROUP {
    input:
    val labels

    output:
    stdout

    script:
    """
    arcuate bids '${params.bids}' '${params.out}' group --protocol '${params.protocol}'
    """
}

workflow {
    if (!params.bids || !params.protocol) {
        error 'Found no --bids or no --protocol, expected both'
    }
    labels = Channel.fromPath("${params.bids}/sub-*", type: 'dir').map { folder -> folder.name }
    PARTICIPANT(labels)
    GROUP(PARTICIPANT.out.collect()) | view
}
