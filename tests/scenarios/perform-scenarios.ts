import { readdir } from 'node:fs/promises'
import { basename } from 'node:path'
import { describe, test } from 'node:test'
import { clusterForFile, type ChildCluster, type ChildClusterOptions } from '../clients/cluster.ts'
import { performTranscript, readTranscript } from '../clients/kubectl/perform-transcript.ts'
import { Session, testedKubectls, type TestedKubectl } from '../clients/kubectl/session.ts'

/** The first version with `kubectl wait --for=create`. */
const minorMin = 31

/** That of this tree, and upstream's if it is new enough. */
export const scenarioKubectls: readonly TestedKubectl[] = (await testedKubectls()).filter(
  ({ version }) => version >= minorMin,
)

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
  for (const kubectl of scenarioKubectls) {
    describe(`${basename(folder.pathname)} with ${kubectl.name}`, { concurrency }, async () => {
      const cluster = await start()
      for (const file of await readdir(folder)) {
        const { steps } = await readTranscript(new URL(file, folder), kubectl.version)
        test(`${kubectl.name} prints the output in ${file}`, async () => {
          const namespace = file.replace(/\.txt$/, '')
          await using session = await Session.start({ cluster, namespace, kubectl: kubectl.path })
          // Pods are rejected until the default service account of the namespace exists.
          await session.run('kubectl wait --for=create serviceaccount/default --timeout=10s')
          await performTranscript(session, file, steps)
        })
      }
    })
  }
}
