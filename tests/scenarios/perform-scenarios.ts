import { readdir } from 'node:fs/promises'
import { basename } from 'node:path'
import { describe, test } from 'node:test'
import { clusterForFile, type ChildCluster, type ChildClusterOptions } from '../clients/cluster.ts'
import { performTranscript, stepsOf } from '../clients/kubectl/perform-transcript.ts'
import { kubectlVersion, Session } from '../clients/kubectl/session.ts'

/** Of kubectl 1.x; undefined when there is none. */
export const kubectlMinor: number | undefined = await kubectlVersion()

/** The first that can wait until something is made. */
const minorMin = 31

/** False when kubectl is there, and knows what scenarios ask of it. */
export const whyNoKubectl: string | false =
  kubectlMinor === undefined
    ? 'kubectl is not installed (Debian package kubernetes-client)'
    : kubectlMinor < minorMin && `kubectl is older than 1.${minorMin}`

interface ScenarioOptions extends Pick<ChildClusterOptions, 'simulatedNodes' | 'flags'> {
  readonly concurrency?: number
}

interface TranscriptsOptions {
  readonly concurrency: number
  readonly start: () => Promise<ChildCluster>
}

/** How many scenarios of a file run at once. */
const concurrencyUsual = 3

/** Of the cluster. */
const nodesUsual = 3

/**
 * Performs every transcript of `testdata/THEME` in a namespace of its own, all on one cluster in memory that has a few
 * simulated nodes.
 */
export function performScenarios(
  theme: string,
  { concurrency = concurrencyUsual, simulatedNodes = nodesUsual, flags = [] }: ScenarioOptions = {},
): void {
  performTranscripts(new URL(`testdata/${theme}/`, import.meta.url), {
    concurrency,
    start: () => clusterForFile({ store: 'memory', simulatedNodes, flags }),
  })
}

/** Performs every transcript of a folder in a namespace of its own, all on one cluster. */
export function performTranscripts(folder: URL, { concurrency, start }: TranscriptsOptions): void {
  describe(basename(folder.pathname), { skip: whyNoKubectl, concurrency }, async () => {
    const cluster = await start()
    for (const file of await readdir(folder)) {
      const transcript = new URL(file, folder)
      const steps = await stepsOf(transcript, kubectlMinor!)
      test(`does what ${file} says`, async () => {
        await using session = await Session.start(cluster, file.replace(/\.txt$/, ''))
        // As everywhere, pods are refused until their account is there.
        await session.run('kubectl wait --for=create serviceaccount/default --timeout=10s')
        await performTranscript(session, transcript, steps)
      })
    }
  })
}
