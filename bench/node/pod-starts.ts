/**
 * Measures the time from the creation of pods until the API reports them Running, and the part of it that the
 * container runtime takes.
 */
import type { Pod } from '#/api/generated/core/v1.ts'
import { pods } from '#/api/generated/core/v1-resources.ts'
import type { LastingCluster } from '../../tests/node/lasting-cluster.ts'

const namespace = 'default'

export interface PodStart {
  /** From the creation until a watcher sees the pod Running. */
  readonly wholeMs: number
  /** From the start of RunPodSandbox to the end of StartContainer. */
  readonly runtimeMs: number
  /** Sum of the durations of the CRI calls, without the time between them. */
  readonly callsMs: number
}

/** Creates all pods concurrently; resolves when all are Running. */
export async function startPods(
  cluster: LastingCluster,
  names: readonly string[],
): Promise<readonly PodStart[]> {
  const { client } = cluster
  const created = new Map<string, number>()
  const running = new Map<string, number>()
  const stop = new AbortController()
  const { metadata } = await client.list(pods, { namespace, limit: 1 })
  const watching = (async () => {
    const options = { namespace, resourceVersion: metadata.resourceVersion ?? '', signal: stop.signal }
    for await (const event of client.watch(pods, options)) {
      if (event.type === 'BOOKMARK' || event.object.status?.phase !== 'Running') continue
      const { name } = event.object.metadata
      if (names.includes(name) && !running.has(name)) running.set(name, Date.now())
      if (running.size === names.length) return
    }
  })()
  await Promise.all(
    names.map(async name => {
      created.set(name, Date.now())
      await client.create(pods, podOf(name))
    }),
  )
  await watching
  stop.abort()
  // Log output arrives through a pipe, possibly late.
  await new Promise(resolve => setTimeout(resolve, 200))
  return names.map(name => {
    const wholeMs = running.get(name)! - created.get(name)!
    return { wholeMs, ...runtimeTimes(cluster.output, name) }
  })
}

export async function deletePods(cluster: LastingCluster): Promise<void> {
  await cluster.client.deleteCollection(pods, { namespace })
  await cluster.until(all => all.length === 0)
}

function podOf(name: string): Pod {
  const command = ['sh', '-c', 'trap "exit 0" TERM; sleep 1000000 & wait']
  const container = { name: 'main', image: 'busybox', imagePullPolicy: 'IfNotPresent', command }
  return {
    metadata: { namespace, name },
    spec: { terminationGracePeriodSeconds: 5, containers: [container] },
  }
}

/** Parsed from the kubelet's log lines for the pod. */
function runtimeTimes(output: string, name: string): Pick<PodStart, 'runtimeMs' | 'callsMs'> {
  const line = (message: string): { readonly atMs: number; readonly tookMs: number } => {
    const found = new RegExp(`^(\\S+) +INFO +${message} .*\\bpod=${name} .*\\btookMs=(\\d+)`, 'm').exec(
      output,
    )
    if (found === null) throw new Error(`the log does not have: ${message} ${name}`)
    return { atMs: Date.parse(found[1]!), tookMs: Number(found[2]) }
  }
  const sandbox = line('Created PodSandbox for pod')
  const container = line('Container started')
  return {
    runtimeMs: container.atMs - (sandbox.atMs - sandbox.tookMs),
    callsMs: sandbox.tookMs + container.tookMs,
  }
}
