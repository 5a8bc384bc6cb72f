/** Upgrades a cluster with containers under load, and checks what clients and containers have seen. */
import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Pod } from '#/api/generated/core/v1.ts'
import { pods, services } from '#/api/generated/core/v1-resources.ts'
import { deployments } from '#/api/generated/apps/v1-resources.ts'
import { clientOf, type Client } from '#/client/client.ts'
import { openConnection } from '#/client/connection.ts'
import { loadKubeconfig, settingsOf } from '#/kubeconfig/kubeconfig.ts'
import { connectHttp, nodePlatform } from '#/platform/node.ts'
import { checkHistory, type Verdict } from '#/simulation/history/check-history.ts'
import { RecordedClients } from '#/simulation/recording/recorded-clients.ts'
import { loadImages } from '../../tests/node/container-cluster.ts'
import { K8tsClient } from '../robustness/clients/k8ts-client.ts'
import { readHistory } from '../robustness/history-file.ts'
import { Recorder, type Tally } from '../robustness/recorder.ts'
import { runProgram } from './package.ts'
import { GapProbe } from './gap-probe.ts'

export interface UpgradeRunOptions {
  /** Paths of the programs `k8ts`: the one that starts the cluster, and those that it is upgraded to in turn. */
  readonly from: string
  readonly to: readonly string[]
  /** Of the load before and after each upgrade. */
  readonly seconds: number
  readonly nodes: number
  readonly replicas: number
  readonly clients: number
  /** Average pause of a client between two requests. */
  readonly pauseMs: number
  /** Receives the history. */
  readonly report: string
  readonly print: (line: string) => void
}

export interface UpgradeOutcome {
  readonly upgrades: readonly UpgradeFigures[]
  readonly tally: Tally
  readonly verdict: Verdict
  /** Containers that are not what they were. */
  readonly changedContainers: readonly string[]
  readonly containerCount: number
  /** Requests through the service of the pods that failed. */
  readonly failedServiceRequests: number
}

export interface UpgradeFigures {
  readonly output: string
  readonly tookMs: number
  /** Longest time between two answers of the API server. */
  readonly withoutApiMs: number
}

export async function runUpgrade(options: UpgradeRunOptions): Promise<UpgradeOutcome> {
  const { from, to, nodes, print, report } = options
  await mkdir(report, { recursive: true })
  await using stack = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'k8ts-upgrade-'))
  stack.defer(() => rm(folder, { recursive: true, force: true }))
  const k8ts = (program: string, ...words: readonly string[]): Promise<string> =>
    runProgram(program, [...words, '--data-dir', folder], folder)
  stack.defer(async () => void (await k8ts(to.at(-1)!, 'down')))
  const flags = ['--runtime', 'containerd', '--port', '0', '--nodes', String(nodes)]
  const started = await k8ts(from, 'up', '--detach', ...flags)
  print(/^ready in [^:]*/m.exec(started)?.[0] ?? started)
  await loadImages(folder)
  const kubeconfig = join(folder, 'admin.conf')
  const { client, dispose } = await connect(kubeconfig)
  stack.defer(dispose)
  const address = await createDeployment(client, options)
  const before = await containersOf(client, options.replicas)
  const historyFile = join(report, 'history.jsonl')
  await using recorder = new Recorder(historyFile)
  recorder.write({ type: 'run', target: 'upgrade', seed })
  const upgrades: UpgradeFigures[] = []
  await using service = new GapProbe(async () => {
    await fetch(`http://${address}/`, {
      signal: AbortSignal.timeout(serviceTimeoutMs),
      headers: { connection: 'close' },
    })
  })
  const session = new Session({ kubeconfig, recorder, ...options })
  await session.run(async () => {
    for (const program of to) {
      await sleep(options.seconds * 1_000)
      upgrades.push(
        await upgradeOnce({
          kubeconfig,
          recorder,
          upgrade: () => k8ts(program, 'upgrade', 'apply', '--yes'),
        }),
      )
      print(describeFigures(upgrades.at(-1)!))
    }
    await sleep(options.seconds * 1_000)
  })
  const failedServiceRequests = service.failures
  await recorder[Symbol.asyncDispose]()
  const after = await containersOf(client, options.replicas)
  return {
    upgrades,
    tally: recorder.tally(),
    verdict: checkHistory(await readHistory(historyFile)),
    changedContainers: before.filter(each => !after.includes(each)),
    containerCount: before.length,
    failedServiceRequests,
  }
}

function describeFigures({ tookMs, withoutApiMs }: UpgradeFigures): string {
  return `upgraded in ${(tookMs / 1_000).toFixed(1)} s, without API for ${(withoutApiMs / 1_000).toFixed(1)} s`
}

interface UpgradeOnce {
  readonly kubeconfig: string
  readonly recorder: Recorder
  readonly upgrade: () => Promise<string>
}

async function upgradeOnce({ kubeconfig, recorder, upgrade }: UpgradeOnce): Promise<UpgradeFigures> {
  const { client, dispose } = await connect(kubeconfig)
  const api = new GapProbe(async () => {
    await client.raw({ method: 'GET', path: '/readyz', signal: AbortSignal.timeout(apiTimeoutMs) })
  })
  const startMs = recorder.nowMs()
  const output = await upgrade()
  const endMs = recorder.nowMs()
  recorder.write({ type: 'fault', kind: 'upgrade', startMs, endMs })
  await api[Symbol.asyncDispose]()
  await dispose()
  return { output, tookMs: endMs - startMs, withoutApiMs: api.longestGapMs }
}

interface SessionOptions extends UpgradeRunOptions {
  readonly kubeconfig: string
  readonly recorder: Recorder
}

class Session {
  readonly #options: SessionOptions

  constructor(options: SessionOptions) {
    this.#options = options
  }

  /** Clients read and write while the work goes on. */
  async run(work: () => Promise<void>): Promise<void> {
    const { kubeconfig, recorder, clients, pauseMs } = this.#options
    await using stack = new AsyncDisposableStack()
    const open = async (name: string) => ({
      name,
      client: stack.use(await K8tsClient.open(name, kubeconfig)),
    })
    const workers = await Promise.all(Array.from({ length: clients }, (_, number) => open(`client${number}`)))
    await workers[0]!.client.createNamespace()
    const roles = { workers, watchers: [await open('watcher0')], informers: [await open('informer0')] }
    const { clock } = nodePlatform({ log: { level: 'error', format: 'text' } })
    const recorded = new RecordedClients({
      clients: roles,
      recorder,
      clock,
      seed,
      keyCount: 20,
      pauseMs,
      restMsMax: 90_000,
    })
    const observing = new AbortController()
    const over = new AbortController()
    try {
      await recorded.observe(observing.signal)
      const working = recorded.work(over.signal)
      try {
        await work()
      } finally {
        over.abort()
        await working
      }
      await recorded.comeToRest()
    } finally {
      observing.abort()
      await recorded.ended()
    }
  }
}

const seed = createHash('sha256').update('upgrade').digest('hex').slice(0, 8)
const apiTimeoutMs = 1_000
const serviceTimeoutMs = 2_000
const app = 'upgrade-web'
const namespace = 'default'

async function connect(
  kubeconfig: string,
): Promise<{ readonly client: Client; readonly dispose: () => Promise<void> }> {
  const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
  const sources = { environment: {}, workingFolder: '/', explicitPath: kubeconfig }
  const settings = settingsOf(await loadKubeconfig(platform, sources))!
  const transport = await openConnection({ platform, connect: connectHttp, settings })
  return {
    client: clientOf({ platform, transport, userAgent: 'upgrade' }),
    dispose: async () => transport[Symbol.asyncDispose](),
  }
}

/** Resolves to the address of its service when all pods are ready. */
async function createDeployment(client: Client, { replicas }: UpgradeRunOptions): Promise<string> {
  const labels = { app }
  const metadata = { namespace, name: app }
  await client.create(deployments, {
    metadata,
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          terminationGracePeriodSeconds: 0,
          containers: [{ name: 'web', image: 'nginx:1.7.9', imagePullPolicy: 'IfNotPresent' }],
        },
      },
    },
  })
  const service = await client.create(services, {
    metadata,
    spec: { selector: labels, ports: [{ port: 80 }] },
  })
  await containersOf(client, replicas)
  const address = service.spec!.clusterIP!
  while (!(await answers(address))) await sleep(pollMs)
  return address
}

async function answers(address: string): Promise<boolean> {
  try {
    return (await fetch(`http://${address}/`, { signal: AbortSignal.timeout(pollMs) })).ok
  } catch {
    return false
  }
}

/** Waits until all pods are ready. `NAME CONTAINER-ID RESTART-COUNT` of each container. */
async function containersOf(client: Client, replicas: number): Promise<readonly string[]> {
  for (let attempts = 0; ; attempts++) {
    const { items } = await client.listAll(pods, { namespace, labelSelector: `app=${app}` })
    if (items.length === replicas && items.every(isReady)) return items.flatMap(describeContainers)
    if (attempts > 600)
      throw new Error(`the pods do not become ready: ${items.flatMap(describeContainers).join(', ')}`)
    await sleep(pollMs)
  }
}

const pollMs = 200

function isReady({ status }: Pod): boolean {
  return status?.conditions?.some(({ type, status: state }) => type === 'Ready' && state === 'True') === true
}

function describeContainers({ metadata, status }: Pod): readonly string[] {
  return (status?.containerStatuses ?? []).map(({ name, containerID, restartCount }) => {
    return `${metadata.name}/${name} ${containerID} restarts ${restartCount}`
  })
}
