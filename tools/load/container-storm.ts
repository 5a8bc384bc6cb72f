/**
 * Pods that take all they can get, on a node with real containers: a fork bomb, memory and disk hogs, a flood of log
 * lines and a storm of execs, all at once. Meanwhile another client uses the API, and a pod uses DNS and a Service.
 */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pods, services } from '#/api/generated/core/v1-resources.ts'
import type { Container, Pod, PodSpec } from '#/api/generated/core/v1.ts'
import { messageOf } from '#/base/message-of.ts'
import { readTarget } from '../../bench/api/processes.ts'
import { LastingCluster } from '../../tests/node/lasting-cluster.ts'
import { longestBlock, PeakMemory, startOtherClient, type AttackResult } from './run-attack.ts'

export interface ContainerStormResult extends AttackResult {
  /** How often a pod looked up a Service and got an answer from it. */
  readonly rounds: number
  readonly failedRounds: number
  readonly execs: number
  /** Execs that got 429. */
  readonly refusedExecs: number
  /** Execs that failed for another reason. */
  readonly failedExecs: number
  /** What the API says about each guilty pod. */
  readonly outcomes: Readonly<Record<string, string>>
}

export interface ContainerStormOptions {
  readonly durationMs: number
  /** As for the other attacks. */
  readonly settleMs: number
}

const namespace = 'default'
const execClients = 80

const guilty: Readonly<Record<string, PodSpec>> = {
  'fork-bomb': podSpec({ command: shell('bomb() { bomb | bomb & }; bomb; sleep 100000') }),
  'memory-hog': podSpec({ command: shell('tail /dev/zero'), resources: { limits: { memory: '64Mi' } } }),
  'volume-hog': {
    ...podSpec({
      command: shell('dd if=/dev/zero of=/data/file bs=1M count=200; sleep 100000'),
      volumeMounts: [{ name: 'data', mountPath: '/data' }],
    }),
    volumes: [{ name: 'data', emptyDir: { sizeLimit: '50Mi' } }],
  },
  'disk-hog': podSpec({
    command: shell('dd if=/dev/zero of=/file bs=1M count=200; sleep 100000'),
    resources: { limits: { 'ephemeral-storage': '50Mi' } },
  }),
  'log-flood': podSpec({ command: shell('yes a line that is written again and again') }),
  'exec-target': podSpec({ command: shell('sleep 100000') }),
}

export async function runContainerStorm({
  durationMs,
  settleMs,
}: ContainerStormOptions): Promise<ContainerStormResult> {
  await using stack = new AsyncDisposableStack()
  const cluster = await LastingCluster.start({ after: end => stack.defer(end as () => Promise<void>) })
  const kubeconfig = join(cluster.folder, 'admin.conf')
  await startHealthyPods(cluster)
  await sleep(settleMs)
  using memory = new PeakMemory(cluster.processId)
  const other = startOtherClient(kubeconfig)
  for (const [name, spec] of Object.entries(guilty)) {
    await cluster.client.create(pods, { metadata: { namespace, name }, spec })
  }
  await cluster.until(all => all.some(isRunning('exec-target')))
  const execs = await stormOfExecs(cluster, durationMs)
  await cluster.until(all => ['volume-hog', 'disk-hog'].every(name => all.some(isEvicted(name))))
  const report = await other.stop()
  const block = await longestBlock(readTarget(kubeconfig))
  const outcomes = await outcomesOf(cluster)
  for (const name of Object.keys(guilty)) await cluster.client.delete(pods, { namespace, name })
  await cluster.until(all => !all.some(isGuilty))
  const lines = (await cluster.log('client')).split('\n')
  const [rounds, failedRounds] = ['round', 'failed'].map(word => lines.filter(line => line === word).length)
  await sleep(settleMs)
  const counts = { rounds: rounds!, failedRounds: failedRounds!, ...execs }
  const outcome = [...Object.entries(counts), ...Object.entries(outcomes)]
  return {
    ...report,
    ...block,
    ...counts,
    outcomes,
    isAlive: memory.nowMb() !== undefined,
    memory: memory.report(settleMs > 0),
    outcome: outcome.map(([name, value]) => `${name}: ${value}`).join('; '),
  }
}

/** A web server with a Service, and a pod that looks up its name and reads its page. */
async function startHealthyPods(cluster: LastingCluster): Promise<void> {
  const { client } = cluster
  const labels = { app: 'web' }
  const web: Container = { name: 'main', image: 'nginx:1.7.9' }
  await client.create(pods, { metadata: { namespace, name: 'web', labels }, spec: { containers: [web] } })
  const service = await client.create(services, {
    metadata: { namespace, name: 'web' },
    spec: { selector: labels, ports: [{ port: 80 }] },
  })
  await cluster.until(all => all.some(isRunning('web')))
  // A static busybox looks up names only with nslookup.
  const lookup = `nslookup -type=a web.${namespace}.svc.cluster.local >/dev/null 2>&1`
  const round = `${lookup} && timeout 5 wget -q -O /dev/null http://${service.spec?.clusterIP}/ 2>/dev/null`
  const command = shell(`while true; do if ${round}; then echo round; else echo failed; fi; sleep 0.2; done`)
  await client.create(pods, { metadata: { namespace, name: 'client' }, spec: podSpec({ command }) })
  await cluster.until(all => all.some(isRunning('client')))
}

/**
 * Clients that run a command in one pod again and again. The command takes so long that more sessions than the limit
 * of the pod are wanted also where a container runtime starts few commands per second.
 */
async function stormOfExecs(
  cluster: LastingCluster,
  durationMs: number,
): Promise<Pick<ContainerStormResult, 'execs' | 'refusedExecs' | 'failedExecs'>> {
  const end = AbortSignal.timeout(durationMs)
  const counts = { execs: 0, refusedExecs: 0, failedExecs: 0 }
  const repeat = async (): Promise<void> => {
    while (!end.aborted) {
      try {
        await cluster.exec('exec-target', shell('echo here; sleep 10'))
        counts.execs++
      } catch (error) {
        if (messageOf(error).includes('429')) counts.refusedExecs++
        else counts.failedExecs++
        await sleep(200)
      }
    }
  }
  await Promise.all(Array.from({ length: execClients }, repeat))
  return counts
}

/** Reason and message of the pod or of its container. */
async function outcomesOf(cluster: LastingCluster): Promise<ContainerStormResult['outcomes']> {
  const found = (await cluster.pods()).filter(isGuilty)
  return Object.fromEntries(found.map(pod => [pod.metadata.name ?? '', describe(pod)]))
}

function describe({ status }: Pod): string {
  const [container] = status?.containerStatuses ?? []
  const last = container?.state?.terminated ?? container?.lastState?.terminated
  const parts = [
    status?.phase,
    status?.reason,
    status?.message,
    container && `${container.restartCount} restarts`,
    last && `${last.reason} ${last.exitCode}`,
  ]
  return parts.filter(part => part !== undefined && part !== '').join(', ')
}

function isGuilty({ metadata }: Pod): boolean {
  return (metadata.name ?? '') in guilty
}

function isRunning(name: string): (pod: Pod) => boolean {
  return ({ metadata, status }) => metadata.name === name && status?.phase === 'Running'
}

function isEvicted(name: string): (pod: Pod) => boolean {
  return ({ metadata, status }) => metadata.name === name && status?.reason === 'Evicted'
}

function podSpec(container: Omit<Container, 'name' | 'image'>): PodSpec {
  const image = { name: 'main', image: 'busybox', imagePullPolicy: 'IfNotPresent' }
  return { terminationGracePeriodSeconds: 1, containers: [{ ...image, ...container }] }
}

function shell(script: string): string[] {
  return ['sh', '-c', script]
}
