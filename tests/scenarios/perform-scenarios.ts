import { readdir } from 'node:fs/promises'
import { basename } from 'node:path'
import { describe, test } from 'node:test'
import { clusterForFile, type ChildCluster, type ChildClusterOptions } from '../clients/cluster.ts'
import { performTranscript, stepsOf } from '../clients/kubectl/perform-transcript.ts'
import { kubectlVersion, Session } from '../clients/kubectl/session.ts'

/** The minor version of kubectl 1.x; undefined when it is not installed. */
export const kubectlMinor: number | undefined = await kubectlVersion()

/** The first version with `kubectl wait --for=create`. */
const minorMin = 31

/** False when a suitable kubectl is installed. */
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

/** Number of concurrent scenarios of a file. */
const concurrencyUsual = 3

/** Number of nodes of the cluster. */
const nodesUsual = 3

/**
 * Runs every transcript of `testdata/THEME` in its own namespace, all on one in-memory cluster with simulated
 * nodes.
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

/** Runs every transcript of a folder in its own namespace, all on one cluster. */
export function performTranscripts(folder: URL, { concurrency, start }: TranscriptsOptions): void {
  describe(basename(folder.pathname), { skip: whyNoKubectl, concurrency }, async () => {
    const cluster = await start()
    for (const file of await readdir(folder)) {
      const transcript = new URL(file, folder)
      const steps = await stepsOf(transcript, kubectlMinor!)
      test(`the output of kubectl is as in ${file}`, async () => {
        await using session = await Session.start(cluster, file.replace(/\.txt$/, ''))
        // Pods are rejected until the default service account of the namespace exists.
        await session.run('kubectl wait --for=create serviceaccount/default --timeout=10s')
        await performTranscript(session, transcript, steps)
      })
    }
  })
}
